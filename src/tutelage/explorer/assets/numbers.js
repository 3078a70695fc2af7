// Special functions, eigenvalues and random numbers, in plain JavaScript.
//
// All files here are classic scripts that share one object, `tutelage`: a browser refuses module scripts from file://.
globalThis.tutelage = {};
{
  const SQRT_PI = Math.sqrt(Math.PI);
  const SQRT_2PI = Math.sqrt(2 * Math.PI);
  // Beyond it the continued fraction has all digits; below it the series is quicker.
  const FAR = 2.5;

  // erf(x) = 2x/√π e^(−x²) Σ (2x²)ⁿ/(2n+1)!!: all terms are positive, so that nothing cancels.
  function erfBySeries(x) {
    let term = 1;
    let sum = 1;
    for (let n = 1; term > 1e-17 * sum; n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return ((2 * x) / SQRT_PI) * Math.exp(-x * x) * sum;
  }

  // erfc(x) = e^(−x²)/√π · 1/(x + ½/(x + 1/(x + ³⁄₂/(x + …)))), from the inside out.
  function erfcByFraction(x) {
    let tail = x;
    for (let n = Math.ceil(12 + 400 / (x * x)); n > 0; n -= 1) tail = x + n / 2 / tail;
    return Math.exp(-x * x) / (SQRT_PI * tail);
  }

  function erf(x) {
    if (Math.abs(x) <= FAR) return erfBySeries(x);
    return x > 0 ? 1 - erfcByFraction(x) : erfcByFraction(-x) - 1;
  }

  function erfc(x) {
    // Already from one on, since little is left of 1 − erf.
    if (x > 1) return erfcByFraction(x);
    return 1 - erf(x);
  }

  // Two steps of Halley's method from Winitzki's approximation, which has three digits.
  function inverseErf(u) {
    if (u === 0) return 0;
    const size = Math.abs(u);
    const logarithm = Math.log1p(-size * size);
    const half = 2 / (Math.PI * 0.147) + logarithm / 2;
    let x = Math.sqrt(Math.sqrt(half * half - logarithm / 0.147) - half);
    for (let i = 0; i < 3; i += 1) {
      const miss = size < 0.5 ? erf(x) - size : 1 - size - erfc(x);
      const newton = miss / ((2 / SQRT_PI) * Math.exp(-x * x));
      x -= newton / (1 + x * newton);
    }
    return u > 0 ? x : -x;
  }

  const normalDensity = (x) => Math.exp(-0.5 * x * x) / SQRT_2PI;
  const normalDistribution = (x) => 0.5 * erfc(-x / Math.SQRT2);

  // Nodes and weights of Gauss and Legendre on [−1, 1], by Newton's method.
  function legendre(count) {
    const nodes = [];
    const weights = [];
    for (let i = 0; i < count; i += 1) {
      let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
      let slope = 1;
      for (let round = 0; round < 10; round += 1) {
        let before = 1;
        let value = x;
        for (let n = 2; n <= count; n += 1) [before, value] = [value, ((2 * n - 1) * x * value - (n - 1) * before) / n];
        slope = (count * (x * value - before)) / (x * x - 1);
        x -= value / slope;
      }
      nodes.push(x);
      weights.push(2 / ((1 - x * x) * slope * slope));
    }
    return { nodes, weights };
  }
  const GAUSS = legendre(20);

  // The mean sign and the mean size of a normal number; zero deviation is allowed.
  const foldedSign = (mean, deviation) => (deviation > 0 ? erf(mean / deviation / Math.SQRT2) : Math.sign(mean));
  const foldedMean = (mean, deviation) =>
    deviation > 0
      ? 2 * deviation * normalDensity(mean / deviation) + mean * foldedSign(mean, deviation)
      : Math.abs(mean);

  // P(h + X > 0, k + Y > 0) for standard normal X and Y at an angle, given by the sine and cosine of its half.
  //
  // `difference` is k − h, or k + h where the angle is obtuse. A. Genz, Statistics and Computing 14, 2004.
  function orthant(h, k, difference, halfSine, halfCosine) {
    const cosine = (halfCosine - halfSine) * (halfCosine + halfSine);
    const value =
      Math.abs(cosine) < 0.925
        ? moderateOrthant(-h, -k, cosine)
        : extremeOrthant(-h, -k, difference, 2 * halfSine * halfCosine, cosine < 0);
    return Math.min(Math.max(value, 0), 1);
  }

  function moderateOrthant(h, k, correlation) {
    const halfSum = 0.5 * (h * h + k * k);
    const arc = Math.asin(correlation);
    let sum = 0;
    for (let i = 0; i < GAUSS.nodes.length; i += 1) {
      const sine = Math.sin(0.5 * arc * (1 + GAUSS.nodes[i]));
      sum += GAUSS.weights[i] * Math.exp((sine * h * k - halfSum) / (1 - sine * sine));
    }
    return (sum * arc) / (4 * Math.PI) + normalDistribution(-h) * normalDistribution(-k);
  }

  // The integral from the degenerate law inwards, its singular part in closed form.
  function extremeOrthant(h, other, difference, width, negative) {
    const k = negative ? -other : other;
    const product = h * k;
    const gap = difference * difference;
    const c = (4 - product) / 8;
    const d = (12 - product) / 16;
    const exponentAt = (square) => (square > 0 ? -0.5 * (gap / square + product) : -Infinity);
    const tail = width * width;
    let sum = 0;
    if (exponentAt(tail) > -100) {
      const series = 1 - (c * (gap - tail) * (1 - (d * gap) / 5)) / 3 + (c * d * tail * tail) / 5;
      sum += width * Math.exp(exponentAt(tail)) * series;
    }
    const distance = Math.abs(difference);
    if (product > -100 && width > 0) {
      const series = 1 - (c * gap * (1 - (d * gap) / 5)) / 3;
      sum -= Math.exp(-0.5 * product) * SQRT_2PI * normalDistribution(-distance / width) * distance * series;
    }
    for (let i = 0; i < GAUSS.nodes.length; i += 1) {
      const square = (0.5 * width * (1 + GAUSS.nodes[i])) ** 2;
      const exponent = exponentAt(square);
      if (exponent <= -100) continue;
      const rest = Math.sqrt(1 - square);
      const exact = Math.exp((-0.5 * product * square) / (1 + rest) ** 2) / rest;
      const series = 1 + c * square * (1 + d * square);
      sum += 0.5 * width * GAUSS.weights[i] * Math.exp(exponent) * (exact - series);
    }
    const integral = -sum / (2 * Math.PI);
    if (!negative) return integral + normalDistribution(-Math.max(h, k));
    return -integral + Math.max(0, normalDistribution(-h) - normalDistribution(-k));
  }

  // Eigenvalues of a symmetric matrix (an array of rows, which is overwritten) in ascending order, by Jacobi's rotations.
  // Rows of `vectors` are the eigenvectors, if they are wanted.
  function eigen(matrix, wanted = false) {
    const n = matrix.length;
    const vectors = wanted ? matrix.map((_, i) => Float64Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))) : [];
    for (let sweep = 0; sweep < 50; sweep += 1) {
      let rest = 0;
      let all = 0;
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j < n; j += 1) (all += matrix[i][j] ** 2), (rest += i === j ? 0 : matrix[i][j] ** 2);
      }
      if (rest <= 1e-30 * all) break;
      for (let p = 0; p < n - 1; p += 1) {
        for (let q = p + 1; q < n; q += 1) if (matrix[p][q] !== 0) rotate(matrix, vectors, p, q);
      }
    }
    const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => matrix[i][i] - matrix[j][j]);
    return { values: order.map((i) => matrix[i][i]), vectors: wanted ? order.map((i) => vectors[i]) : [] };
  }

  function rotate(matrix, vectors, p, q) {
    const rowP = matrix[p];
    const rowQ = matrix[q];
    const ratio = (rowQ[q] - rowP[p]) / (2 * rowP[q]);
    const tangent = (ratio >= 0 ? 1 : -1) / (Math.abs(ratio) + Math.sqrt(1 + ratio * ratio));
    const cosine = 1 / Math.sqrt(1 + tangent * tangent);
    const sine = tangent * cosine;
    const change = tangent * rowP[q];
    for (let i = 0; i < matrix.length; i += 1) {
      if (i === p || i === q) continue;
      const a = rowP[i];
      const b = rowQ[i];
      matrix[i][p] = rowP[i] = cosine * a - sine * b;
      matrix[i][q] = rowQ[i] = sine * a + cosine * b;
    }
    rowP[p] -= change;
    rowQ[q] += change;
    rowP[q] = rowQ[p] = 0;
    if (vectors.length === 0) return;
    for (let i = 0; i < matrix.length; i += 1) {
      const a = vectors[p][i];
      const b = vectors[q][i];
      vectors[p][i] = cosine * a - sine * b;
      vectors[q][i] = sine * a + cosine * b;
    }
  }

  // Threefry-2x32, the generator of JAX: two words of 32 bits under a key of two.
  const ROTATIONS = [
    [13, 15, 26, 6],
    [17, 29, 16, 24],
  ];

  function threefry([key0, key1], word0, word1) {
    const keys = [key0, key1, key0 ^ key1 ^ 0x1bd11bda];
    let a = (word0 + key0) | 0;
    let b = (word1 + key1) | 0;
    for (let block = 0; block < 5; block += 1) {
      for (const places of ROTATIONS[block % 2]) {
        a = (a + b) | 0;
        b = ((b << places) | (b >>> (32 - places))) ^ a;
      }
      a = (a + keys[(block + 1) % 3]) | 0;
      b = (b + keys[(block + 2) % 3] + block + 1) | 0;
    }
    return [a >>> 0, b >>> 0];
  }

  // Standard normal numbers as `tutelage.starts` draws them for a run of a seed (below 2³²): the same, but for rounding.
  function startNormals(seed, run, count) {
    const key = threefry(threefry([0, seed >>> 0], 0, run), 0, 0);
    return Float64Array.from({ length: count }, (_, i) => {
      const [high, low] = threefry(key, 0, i);
      const uniform = (high * 2 ** 20 + (low >>> 12)) / 2 ** 52;
      const least = -1 + 2 ** -53;
      return Math.SQRT2 * inverseErf(Math.max(least, uniform * (1 - least) + least));
    });
  }

  Object.assign(tutelage, {
    erf,
    erfc,
    inverseErf,
    normalDensity,
    foldedSign,
    foldedMean,
    orthant,
    eigen,
    startNormals,
  });
}
