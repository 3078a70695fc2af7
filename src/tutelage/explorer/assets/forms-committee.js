// The population loss of a sum of neurons, its gradient and its Hessian.
{
  const { ACTIVATIONS, Form, halves } = tutelage;

  // Rows of a matrix by norm and direction.
  function polar(point, rows, dimension, norms, units) {
    for (let i = 0; i < rows; i += 1) {
      let square = 0;
      for (let c = i * dimension; c < (i + 1) * dimension; c += 1) square += point[c] * point[c];
      norms[i] = Math.sqrt(square);
      const inverse = square > 0 ? 1 / norms[i] : 0;
      for (let c = i * dimension; c < (i + 1) * dimension; c += 1) units[c] = point[c] * inverse;
    }
  }

  // A sum of neurons that learns another, Σ_i σ(w_i·x) and Σ_j σ(v_j·x), under standard Gaussian inputs.
  //
  // With two slopes, angle θ and R = p² + q²(1 − 2θ/π): K = |w||v|(p² cos θ + q²·2/π (sin θ + (π/2 − θ) cos θ)) and
  // ∇K = R v + q²·2/π |v| sin θ ŵ. With the error function, K = 1 − 2φ/π for the angle φ of (w, 1/√2, 0), (v, 0, 1/√2).
  // Sine and angle are taken from half angles, so that nothing cancels for parallel vectors.
  class Committee extends Form {
    constructor(teacher, dimension, students, activation) {
      super();
      Object.assign(this, { teacher, dimension, students, activation });
      this.shape = ACTIVATIONS[activation];
      this.teachers = teacher.length / dimension;
      const space = () => ({ norms: new Float64Array(64), units: new Float64Array(64 * dimension) });
      [this._own, this._others] = [space(), space()];
      this._scratch = new Float64Array(students * dimension);
      this._polar(teacher, this.teachers, this._others);
      this.constant = this._within(this._others, this.teachers, null);
    }

    _polar(point, rows, side) {
      if (!this.shape.smooth) return polar(point, rows, this.dimension, side.norms, side.units);
      // The deviation √(|w|² + ½) in place of the norm.
      for (let i = 0; i < rows; i += 1) {
        let square = 0.5;
        for (let c = i * this.dimension; c < (i + 1) * this.dimension; c += 1) square += point[c] * point[c];
        side.norms[i] = Math.sqrt(square);
        for (let c = i * this.dimension; c < (i + 1) * this.dimension; c += 1) side.units[c] = point[c] / side.norms[i];
      }
    }

    // The dual of two rows; adds `sign` times its gradient in the first one to `out`, and in the second one if it is to
    // be counted in both orders.
    _pair(one, i, other, j, sign, out, both = false) {
      const d = this.dimension;
      const { odd, even, smooth, kink } = this.shape;
      const [a, b] = [one.units, other.units];
      const [ai, bj] = [i * d, j * d];
      let minus = 0;
      let plus = 0;
      for (let c = 0; c < d; c += 1) {
        const difference = a[ai + c] - b[bj + c];
        const sum = a[ai + c] + b[bj + c];
        minus += difference * difference;
        plus += sum * sum;
      }
      const s = one.norms[i];
      const t = other.norms[j];
      if (smooth) {
        const extra = 0.5 / (s * s) + 0.5 / (t * t);
        minus += extra;
        plus += extra;
      }
      const angle = 2 * Math.atan2(Math.sqrt(minus), Math.sqrt(plus));
      const sine = 0.5 * Math.sqrt(minus * plus);
      const cosine = 0.25 * (plus - minus);
      if (smooth) {
        if (out !== null) {
          const factor = (sign * 2) / (Math.PI * sine);
          for (let c = 0; c < d; c += 1) {
            out[ai + c] += (factor / s) * (b[bj + c] - cosine * a[ai + c]);
            if (both) out[bj + c] += (factor / t) * (a[ai + c] - cosine * b[bj + c]);
          }
        }
        return 1 - (2 * angle) / Math.PI;
      }
      if (out !== null) {
        // Where a row is zero, the slope of the kink is the chosen one.
        const slope = odd * odd + even * even * (1 - (2 * angle) / Math.PI);
        const bent = sign * even * even * (2 / Math.PI) * sine;
        const alongB = sign * t * (s > 0 ? slope : kink * odd);
        const alongA = sign * s * (t > 0 ? slope : kink * odd);
        const [radialA, radialB] = [bent * t, bent * s];
        for (let c = 0; c < d; c += 1) {
          out[ai + c] += alongB * b[bj + c] + radialA * a[ai + c];
          if (both) out[bj + c] += alongA * a[ai + c] + radialB * b[bj + c];
        }
      }
      const folded = (2 / Math.PI) * (sine + (Math.PI / 2 - angle) * cosine);
      return s * t * (odd * odd * cosine + even * even * folded);
    }

    // Half the dual of a row with itself; adds its gradient to `out`.
    _alone(side, i, out) {
      if (this.shape.smooth) return 0.5 * this._pair(side, i, side, i, 1, out);
      const d = this.dimension;
      const square = this.shape.odd ** 2 + this.shape.even ** 2;
      const s = side.norms[i];
      if (out !== null) for (let c = i * d; c < (i + 1) * d; c += 1) out[c] += square * s * side.units[c];
      return 0.5 * square * s * s;
    }

    // Half the sum over all pairs of rows of one side.
    _within(side, rows, out) {
      let sum = 0;
      for (let i = 0; i < rows; i += 1) {
        sum += this._alone(side, i, out);
        for (let l = 0; l < i; l += 1) sum += this._pair(side, i, side, l, 1, out, true);
      }
      return sum;
    }

    // The loss; `out` is overwritten with the gradient.
    evaluate(point, out = this._scratch) {
      out.fill(0);
      this._polar(point, this.students, this._own);
      let loss = this._within(this._own, this.students, out) + this.constant;
      for (let i = 0; i < this.students; i += 1) {
        for (let j = 0; j < this.teachers; j += 1) loss -= this._pair(this._own, i, this._others, j, -1, out);
      }
      return loss;
    }

    // The Hessian as an array of rows: in closed form with two slopes, by differences of the gradient otherwise.
    hessian(point) {
      const d = this.dimension;
      const size = point.length;
      const rows = Array.from({ length: size }, () => new Float64Array(size));
      if (this.shape.smooth) {
        const width = 1e-5;
        for (let c = 0; c < size; c += 1) {
          const moved = [1, -1].map((sign) => {
            const there = Float64Array.from(point);
            there[c] += sign * width;
            return this.gradient(there);
          });
          for (let r = 0; r < size; r += 1) rows[r][c] = (moved[0][r] - moved[1][r]) / (2 * width);
        }
        for (let r = 0; r < size; r += 1) {
          for (let c = 0; c < r; c += 1) rows[r][c] = rows[c][r] = 0.5 * (rows[r][c] + rows[c][r]);
        }
        return rows;
      }
      const { odd, even } = this.shape;
      this._polar(point, this.students, this._own);
      for (let i = 0; i < this.students; i += 1) {
        this._curve(i).forEach((row, a) => rows[i * d + a].set(row, i * d));
        for (let c = 0; c < d; c += 1) rows[i * d + c][i * d + c] += odd * odd + even * even;
        for (let l = 0; l < this.students; l += 1) if (l !== i) this._mixed(i, l, rows);
      }
      return rows;
    }

    // The part of the Hessian of neuron i that a residual bends, E[r ∇²σ(w_i·x)]; its smallest eigenvalue decides
    // what a split of the neuron does.
    curvature(point, i) {
      this._polar(point, this.students, this._own);
      return this._curve(i);
    }

    // q²·2/π |v|/|w| sin θ (I − ŵŵᵀ + nnᵀ), summed over the other students and, with a minus, over the teacher.
    _curve(i) {
      const d = this.dimension;
      const factor = (2 / Math.PI) * this.shape.even ** 2;
      const block = Array.from({ length: d }, () => new Float64Array(d));
      const w = this._own.units.subarray(i * d, (i + 1) * d);
      const add = (side, j, sign) => {
        const v = side.units.subarray(j * d, (j + 1) * d);
        const { sine, cosine } = halves(w, v);
        if (sine < 1e-15) return;
        const scale = (sign * factor * side.norms[j] * sine) / this._own.norms[i];
        const normal = Float64Array.from(v, (entry, c) => (entry - cosine * w[c]) / sine);
        for (let a = 0; a < d; a += 1) {
          block[a][a] += scale;
          for (let b = 0; b < d; b += 1) block[a][b] += scale * (normal[a] * normal[b] - w[a] * w[b]);
        }
      };
      for (let l = 0; l < this.students; l += 1) if (l !== i) add(this._own, l, 1);
      for (let j = 0; j < this.teachers; j += 1) add(this._others, j, -1);
      return block;
    }

    // R I + q²·2/π sin θ (bbᵀ − eeᵀ), b and e the bisectors; bbᵀ − eeᵀ is finite, and its factor vanishes, when parallel.
    _mixed(i, l, rows) {
      const d = this.dimension;
      const { odd, even } = this.shape;
      const w = this._own.units.subarray(i * d, (i + 1) * d);
      const v = this._own.units.subarray(l * d, (l + 1) * d);
      const { minus, plus, sine, angle } = halves(w, v);
      const slope = odd * odd + even * even * (1 - (2 * angle) / Math.PI);
      const factor = even * even * (2 / Math.PI) * sine;
      for (let a = 0; a < d; a += 1) {
        for (let b = 0; b < d; b += 1) {
          const bisector = plus > 0 ? ((w[a] + v[a]) * (w[b] + v[b])) / plus : 0;
          const other = minus > 0 ? ((w[a] - v[a]) * (w[b] - v[b])) / minus : 0;
          rows[i * d + a][l * d + b] = (a === b ? slope : 0) + factor * (bisector - other);
        }
      }
    }
  }

  Object.assign(tutelage, { Committee });
}
