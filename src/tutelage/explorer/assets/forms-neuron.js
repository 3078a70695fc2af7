// The population loss of one neuron under Gaussian inputs with a mean, and its gradient.
{
  const { ACTIVATIONS, Form, dot, norm, halves, normalDensity, foldedSign, foldedMean, orthant } = tutelage;

  // One neuron that learns another under Gaussian inputs with a mean m and covariance the identity.
  class Neuron extends Form {
    constructor(teacher, mean, activation) {
      super();
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

  Object.assign(tutelage, { Neuron });
}
