// Closed forms of the population loss and its gradient, as tutelage has them: loss = ½ E[(student − teacher)²].
//
{
  // σ(z) = odd·z + even·|z|, with `kink` for σ'(0); the error function has no such parts.
  const ACTIVATIONS = {
    relu: { odd: 0.5, even: 0.5, kink: 0, words: "ReLU" },
    leaky_relu: { odd: 0.505, even: 0.495, kink: 0.01, words: "leaky ReLU" },
    abs: { odd: 0, even: 1, kink: 0, words: "absolute value" },
    erf: { smooth: true, words: "erf" },
  };

  const dot = (a, b) => a.reduce((sum, entry, i) => sum + entry * b[i], 0);
  const norm = (a) => Math.hypot(...a);

  // A problem in closed form, at points that are flat Float64Arrays. Each has `evaluate(point, out)`, which returns the loss
  // and, where there is an `out`, overwrites it with the gradient.
  class Form {
    loss(point) {
      return this.evaluate(point);
    }

    gradient(point) {
      const out = new Float64Array(point.length);
      this.evaluate(point, out);
      return out;
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

  // One filter with output weights, a_j σ(v·Z_j)/|v|, that learns a*_j σ(w*·Z_j): ReLU, independent Gaussian patches.
  //
  // A point is the filter, then the output weights.
  class Filter extends Form {
    constructor(filter, output) {
      super();
      Object.assign(this, { filter: Float64Array.from(filter), output: Float64Array.from(output) });
      this.dimension = filter.length;
      this.scale = norm(filter);
      this.unit = this.filter.map((entry) => entry / this.scale);
      this._unit = new Float64Array(this.dimension);
      this.sum = output.reduce((a, b) => a + b, 0);
      this.constant = 0.5 * this.scale ** 2 * this._own(this.output);
    }

    _own(a) {
      const sum = a.reduce((x, y) => x + y, 0);
      return dot(a, a) * (0.5 - 0.5 / Math.PI) + (sum * sum) / (2 * Math.PI);
    }

    // The angle φ of a student's filter.
    angle(point) {
      return this._turn(point, norm(point.subarray(0, this.dimension))).angle;
    }

    _turn(point, size) {
      for (let c = 0; c < this.dimension; c += 1) this._unit[c] = point[c] / size;
      return halves(this._unit, this.unit);
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
      const { angle, sine, cosine } = this._turn(point, size);
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
  }

  // The wave c w_1·x_1 + cos(Σ_i w_i·x_i) of patches that all have the teacher u, with or without shared weights.
  class Wave extends Form {
    constructor(target, patches, sharing, slope = 3 * Math.sqrt(patches)) {
      super();
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
  }

  // Lemma 6.3: the norm (for a unit teacher) up to which the norm of a ReLU neuron grows, as printed and as it is.
  const printedThreshold = (angle) =>
    Math.max((Math.sin(angle) + Math.cos(angle)) / 2, (Math.sin(angle) * (1 + Math.cos(angle))) / 2);
  const trueThreshold = (angle) => (Math.sin(angle) + (Math.PI - angle) * Math.cos(angle)) / Math.PI;

  Object.assign(tutelage, {
    ACTIVATIONS,
    Form,
    Filter,
    Wave,
    dot,
    norm,
    halves,
    printedThreshold,
    trueThreshold,
  });
}
