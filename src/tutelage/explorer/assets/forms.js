// Closed forms of the population loss and its gradient, as tutelage has them: loss = ½ E[(student − teacher)²].
//
// A form has `loss(point)` and `gradient(point)`; a point is a flat Float64Array.
{
  const { normalDensity, foldedSign, foldedMean, orthant } = tutelage;

  // σ(z) = odd·z + even·|z|, with `kink` for σ'(0); the error function has no such parts.
  const ACTIVATIONS = {
    relu: { odd: 0.5, even: 0.5, kink: 0, words: "ReLU" },
    leaky_relu: { odd: 0.505, even: 0.495, kink: 0.01, words: "leaky ReLU" },
    abs: { odd: 0, even: 1, kink: 0, words: "absolute value" },
    erf: { smooth: true, words: "erf" },
  };

  const dot = (a, b) => a.reduce((sum, entry, i) => sum + entry * b[i], 0);
  const norm = (a) => Math.hypot(...a);

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
  class Committee {
    constructor(teacher, dimension, students, activation) {
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

    loss(point) {
      return this.evaluate(point);
    }

    gradient(point) {
      const out = new Float64Array(point.length);
      this.evaluate(point, out);
      return out;
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

  // The angle between unit vectors, from the squared norms of their difference and sum.
  function halves(w, v) {
    let minus = 0;
    let plus = 0;
    for (let c = 0; c < w.length; c += 1) {
      minus += (w[c] - v[c]) ** 2;
      plus += (w[c] + v[c]) ** 2;
    }
    const angle = 2 * Math.atan2(Math.sqrt(minus), Math.sqrt(plus));
    return { minus, plus, angle, sine: 0.5 * Math.sqrt(minus * plus), cosine: 0.25 * (plus - minus) };
  }

  // One neuron that learns another under Gaussian inputs with a mean m and covariance the identity.
  class Neuron {
    constructor(teacher, mean, activation) {
      Object.assign(this, { teacher: Float64Array.from(teacher), mean: Float64Array.from(mean), activation });
      this.shape = ACTIVATIONS[activation];
      this.constant = 0.5 * this._own(this.teacher).value;
    }

    evaluate(point, out = null) {
      const own = this._own(point);
      const cross = this._cross(point);
      if (out !== null) for (let c = 0; c < point.length; c += 1) out[c] = own.half[c] - cross.gradient[c];
      return 0.5 * own.value - cross.value + this.constant;
    }

    loss(point) {
      return this.evaluate(point);
    }

    gradient(point) {
      const out = new Float64Array(point.length);
      this.evaluate(point, out);
      return out;
    }

    // E[σ(w·x)²], and half its gradient.
    _own(w) {
      if (this.shape.smooth) {
        const { value, gradient } = this._signs(w, w);
        return { value, half: gradient };
      }
      const { odd, even } = this.shape;
      const m = this.mean;
      const s = norm(w);
      if (s === 0) return { value: 0, half: new Float64Array(w.length) };
      const mu = dot(w, m);
      const h = mu / s;
      const square = mu * mu + s * s;
      const sign = foldedSign(h, 1);
      const density = normalDensity(h);
      // E[u|u|] = (μ² + s²) E sgn u + 2μs φ(h), with half its gradient E|u| m + E[sgn u] w.
      const signed = square * sign + 2 * mu * s * density;
      const absolute = foldedMean(mu, s);
      const squares = odd * odd + even * even;
      return {
        value: squares * square + 2 * odd * even * signed,
        half: w.map((entry, c) => squares * (mu * m[c] + entry) + 2 * odd * even * (absolute * m[c] + sign * entry)),
      };
    }

    // E[σ(w·x) σ(v·x)], and its gradient in w.
    _cross(w) {
      const v = this.teacher;
      if (this.shape.smooth) return this._signs(w, v);
      const { odd, even, kink } = this.shape;
      const m = this.mean;
      const [s, t] = [norm(w), norm(v)];
      const [mu, nu] = [dot(w, m), dot(v, m)];
      const k = nu / t;
      const [absoluteV, signV] = [foldedMean(nu, t), foldedSign(k, 1)];
      if (s === 0) {
        // E[σ(v·x) x] times the slope of the kink.
        return {
          value: 0,
          gradient: v.map((entry, c) => kink * (odd * (nu * m[c] + entry) + even * (absoluteV * m[c] + signV * entry))),
        };
      }
      const unit = w.map((entry) => entry / s);
      const h = mu / s;
      const pair = standardPair(unit, v.map((entry) => entry / t), m, h, k);
      const c = s * t * pair.cosine;
      const [densityH, signU] = [normalDensity(h), foldedSign(h, 1)];
      const absoluteU = foldedMean(mu, s);
      const given = t * foldedMean(pair.zeta, pair.sine);
      // E[sgn u |v|] and E|u||v|, of the pair of signs.
      const signAbsolute =
        nu * pair.both +
        2 * t * (densityH * foldedSign(pair.zeta, pair.sine) * pair.cosine +
          normalDensity(k) * foldedSign(pair.otherZeta, pair.sine));
      const absolutes = mu * signAbsolute + 2 * s * densityH * given + c * pair.both;
      const value =
        odd * odd * (mu * nu + c) +
        odd * even * (mu * absoluteV + c * signV + nu * absoluteU + c * signU) +
        even * even * absolutes;
      // Terms along m, v and the direction of w.
      const byMean =
        odd * odd * nu +
        odd * even * (absoluteV + nu * signU + (2 * c * densityH) / s) +
        even * even * signAbsolute;
      const byTeacher = odd * odd + odd * even * (signV + signU) + even * even * pair.both;
      const byUnit = 2 * densityH * (odd * even * (nu - (c * h) / s) + even * even * given);
      return {
        value,
        gradient: w.map((_, i) => byMean * m[i] + byTeacher * v[i] + byUnit * unit[i]),
      };
    }

    // E[erf(w·x) erf(v·x)]: the mean product of the signs of w·x + X/√2 and v·x + Y/√2 with normal X, Y.
    _signs(w, v) {
      const m = this.mean;
      const half = Math.SQRT1_2;
      const [s, t] = [Math.sqrt(dot(w, w) + 0.5), Math.sqrt(dot(v, v) + 0.5)];
      const p = [...w, half, 0].map((entry) => entry / s);
      const q = [...v, 0, half].map((entry) => entry / t);
      const mean = [...m, 0, 0];
      const h = dot(w, m) / s;
      const pair = standardPair(p, q, mean, h, dot(v, m) / t);
      const sign = foldedSign(pair.zeta, pair.sine);
      const turn = (2 * normalDensity(pair.zeta / pair.sine)) / pair.sine;
      const factor = (2 * normalDensity(h)) / s;
      return {
        value: pair.both,
        gradient: Float64Array.from(w, (_, c) =>
          factor * (sign * (mean[c] - h * p[c]) + turn * (q[c] - pair.cosine * p[c]))),
      };
    }
  }

  // Two standard normal numbers with means h and k along unit vectors p and q, and E[sgn sgn].
  function standardPair(p, q, mean, h, k) {
    const { minus, plus, cosine, sine } = halves(p, q);
    const [halfSine, halfCosine] = [0.5 * Math.sqrt(minus), 0.5 * Math.sqrt(plus)];
    const opposed = cosine < 0;
    // From differences of vectors: those of the means have fewer digits for almost parallel ones.
    let difference = 0;
    for (let c = 0; c < p.length; c += 1) difference += mean[c] * (opposed ? q[c] + p[c] : q[c] - p[c]);
    const versed = opposed ? -2 * halfCosine * halfCosine : 2 * halfSine * halfSine;
    const positive = orthant(h, k, difference, halfSine, halfCosine);
    // 4P(+, +) − 2P(u > 0) − 2P(v > 0) + 1.
    const both = 4 * positive - foldedSign(h, 1) - foldedSign(k, 1) - 1;
    return {
      cosine,
      sine,
      zeta: difference + versed * h,
      otherZeta: (opposed ? difference : -difference) + versed * k,
      both,
    };
  }

  // One filter with output weights, a_j σ(v·Z_j)/|v|, that learns a*_j σ(w*·Z_j): ReLU, independent Gaussian patches.
  //
  // A point is the filter, then the output weights.
  class Filter {
    constructor(filter, output) {
      Object.assign(this, { filter: Float64Array.from(filter), output: Float64Array.from(output) });
      this.dimension = filter.length;
      this.scale = norm(filter);
      this.sum = output.reduce((a, b) => a + b, 0);
      this.constant = 0.5 * this.scale ** 2 * this._own(this.output);
    }

    _own(a) {
      const sum = a.reduce((x, y) => x + y, 0);
      return dot(a, a) * (0.5 - 0.5 / Math.PI) + (sum * sum) / (2 * Math.PI);
    }

    // The angle φ of a student's filter.
    angle(point) {
      const size = norm(point.subarray(0, this.dimension));
      const unit = point.subarray(0, this.dimension).map((entry) => entry / size);
      return halves(unit, this.filter.map((entry) => entry / this.scale)).angle;
    }

    evaluate(point, out = null) {
      const d = this.dimension;
      let [square, along] = [0, 0];
      for (let c = 0; c < d; c += 1) {
        square += point[c] * point[c];
        along += point[c] * this.filter[c];
      }
      const size = Math.sqrt(square);
      if (size === 0) {
        // A zero filter computes the zero function.
        if (out !== null) out.fill(0);
        return this.constant;
      }
      along /= size;
      let [minus, plus] = [0, 0];
      for (let c = 0; c < d; c += 1) {
        minus += (point[c] / size - this.filter[c] / this.scale) ** 2;
        plus += (point[c] / size + this.filter[c] / this.scale) ** 2;
      }
      const angle = 2 * Math.atan2(Math.sqrt(minus), Math.sqrt(plus));
      const [sine, cosine] = [0.5 * Math.sqrt(minus * plus), 0.25 * (plus - minus)];
      const both = (this.scale * (sine + (Math.PI - angle) * cosine)) / (2 * Math.PI);
      const means = this.scale / (2 * Math.PI);
      const variance = 0.5 - 0.5 / Math.PI;
      let [sum, squares, signal] = [0, 0, 0];
      for (let j = 0; j < this.output.length; j += 1) {
        sum += point[d + j];
        squares += point[d + j] * point[d + j];
        signal += point[d + j] * this.output[j];
      }
      if (out !== null) {
        const turn = (-signal * (Math.PI - angle)) / (2 * Math.PI * size);
        for (let c = 0; c < d; c += 1) out[c] = turn * (this.filter[c] - (along * point[c]) / size);
        for (let j = 0; j < this.output.length; j += 1) {
          const own = point[d + j] * variance + sum / (2 * Math.PI);
          out[d + j] = own - this.output[j] * (both - means) - this.sum * means;
        }
      }
      const own = 0.5 * (squares * variance + (sum * sum) / (2 * Math.PI));
      return own - signal * (both - means) - sum * this.sum * means + this.constant;
    }

    loss(point) {
      return this.evaluate(point);
    }

    gradient(point) {
      const out = new Float64Array(point.length);
      this.evaluate(point, out);
      return out;
    }
  }

  // The wave c w_1·x_1 + cos(Σ_i w_i·x_i) of patches that all have the teacher u, with or without shared weights.
  class Wave {
    constructor(target, patches, sharing, slope = 3 * Math.sqrt(patches)) {
      Object.assign(this, { target: Float64Array.from(target), patches, sharing, slope });
      this.dimension = target.length;
      this.constant = 0.5 + 0.25 * Math.exp(-2 * patches * dot(this.target, this.target));
    }

    evaluate(point, out = null) {
      const d = this.dimension;
      const u = this.target;
      // A shared row stands for all patches.
      const copies = this.sharing ? this.patches : 1;
      let [own, minus, plus, linear] = [0, 0, 0, 0];
      for (let c = 0; c < point.length; c += 1) {
        const difference = point[c] - u[c % d];
        const sum = point[c] + u[c % d];
        own += copies * point[c] * point[c];
        minus += copies * difference * difference;
        plus += copies * sum * sum;
        if (c < d) linear += difference * difference;
      }
      const [waveOwn, waveMinus, wavePlus] = [Math.exp(-2 * own), Math.exp(-0.5 * minus), Math.exp(-0.5 * plus)];
      const square = this.slope * this.slope;
      if (out !== null) {
        for (let c = 0; c < point.length; c += 1) {
          const difference = point[c] - u[c % d];
          const wave = -waveOwn * point[c] + 0.5 * (waveMinus * difference + wavePlus * (point[c] + u[c % d]));
          out[c] = copies * wave + (c < d ? square * difference : 0);
        }
      }
      return 0.5 * square * linear + 0.25 * waveOwn - 0.5 * (waveMinus + wavePlus) + this.constant;
    }

    loss(point) {
      return this.evaluate(point);
    }

    gradient(point) {
      const out = new Float64Array(point.length);
      this.evaluate(point, out);
      return out;
    }
  }

  // Lemma 6.3: the norm (for a unit teacher) up to which the norm of a ReLU neuron grows, as printed and as it is.
  const printedThreshold = (angle) =>
    Math.max((Math.sin(angle) + Math.cos(angle)) / 2, (Math.sin(angle) * (1 + Math.cos(angle))) / 2);
  const trueThreshold = (angle) => (Math.sin(angle) + (Math.PI - angle) * Math.cos(angle)) / Math.PI;

  Object.assign(tutelage, {
    ACTIVATIONS,
    Committee,
    Neuron,
    Filter,
    Wave,
    dot,
    norm,
    halves,
    printedThreshold,
    trueThreshold,
  });
}
