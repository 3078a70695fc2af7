// Gradient descent, run by run, and what is said of where runs end.
{
  const { Committee, eigen, startNormals, dot } = tutelage;

  // A curve that stays short: all of the first steps, and when it is full, every second of the later ones from then on.
  const BEGINNING = 100;

  class History {
    constructor(most = 500) {
      Object.assign(this, { most, every: 1, steps: [], entries: [] });
    }

    add(step, entry) {
      if (!this._kept(step)) return;
      this.steps.push(step);
      this.entries.push(entry);
      if (this.steps.length < this.most) return;
      this.every *= 2;
      const kept = this.steps.map((_, i) => i).filter((i) => this._kept(this.steps[i]));
      this.steps = kept.map((i) => this.steps[i]);
      this.entries = kept.map((i) => this.entries[i]);
    }

    _kept(step) {
      return step <= BEGINNING || step % this.every === 0;
    }
  }

  // One run of plain gradient descent on a form, until the gradient's norm is at most `tolerance`, the loss at most `goal`
  // (if there is one), or there were `limit` steps. Its status is `running`, `converged`, `diverged` or `step_limit`.
  class Run {
    constructor(form, start, step, { tolerance = 1e-10, limit = 100000, goal = 0, largest = 1e8, remember = null } = {}) {
      Object.assign(this, { form, step, tolerance, limit, goal, largest, remember });
      this.point = Float64Array.from(start);
      this.slope = new Float64Array(start.length);
      this.steps = 0;
      this.status = "running";
      this.history = new History();
      this._look();
    }

    _look() {
      this.loss = this.form.evaluate(this.point, this.slope);
      let square = 0;
      for (let i = 0; i < this.slope.length; i += 1) square += this.slope[i] * this.slope[i];
      this.slopeNorm = Math.sqrt(square);
      if (!(this.loss <= this.largest)) this.status = "diverged";
      else if (this.slopeNorm <= this.tolerance || (this.goal > 0 && this.loss <= this.goal)) this.status = "converged";
      else if (this.steps >= this.limit) this.status = "step_limit";
      this.history.add(this.steps, this.remember ? this.remember(this) : this.loss);
    }

    advance(steps) {
      for (let i = 0; i < steps && this.status === "running"; i += 1) {
        for (let c = 0; c < this.point.length; c += 1) this.point[c] -= this.step * this.slope[c];
        this.steps += 1;
        this._look();
      }
      return this.status === "running";
    }
  }

  // The students that `tutelage.starts.xavier` draws: variance 2/(students + dimension).
  function xavier(students, dimension, seed, run) {
    const scale = Math.sqrt(2 / (students + dimension));
    return startNormals(seed, run, students * dimension).map((entry) => scale * entry);
  }

  const axes = (k, dimension = k) => Float64Array.from({ length: k * dimension }, (_, i) => (i % (dimension + 1) === 0 ? 1 : 0));

  // Numbers by gaps in their sorted list: entries that differ by less than the tolerance get one code.
  function codesOf(entries, tolerance) {
    const order = Array.from(entries.keys()).sort((i, j) => entries[i] - entries[j]);
    const codes = new Array(entries.length);
    let code = 0;
    order.forEach((place, i) => {
      if (i > 0 && entries[place] - entries[order[i - 1]] > tolerance) code += 1;
      codes[place] = code;
    });
    return codes;
  }

  function numbered(signatures) {
    const known = [...new Set(signatures)].sort();
    return signatures.map((signature) => known.indexOf(signature));
  }

  // Which students and which teachers play the same part, for an orthonormal teacher: by refinement of colours, as for
  // graphs, from the inner products of students with teachers and with each other.
  function blocks(point, students, dimension, even, tolerance = 1e-5) {
    const size = (entry) => (even ? Math.abs(entry) : entry);
    const row = (i) => point.subarray(i * dimension, (i + 1) * dimension);
    const cross = codesOf(Array.from(point, size), tolerance);
    const products = [];
    for (let i = 0; i < students; i += 1) for (let l = 0; l < students; l += 1) products.push(size(dot(row(i), row(l))));
    const own = codesOf(products, tolerance);
    let rows = new Array(students).fill(0);
    let columns = new Array(dimension).fill(0);
    for (let round = 0; round <= students + dimension; round += 1) {
      const signature = (colour, others, code) => `${colour}|${others.map((other, i) => `${code(i)},${other}`).sort()}`;
      const moreRows = numbered(
        rows.map(
          (colour, i) =>
            signature(colour, columns, (j) => cross[i * dimension + j]) +
            `|${own[i * students + i]}|` +
            signature(colour, rows, (l) => own[i * students + l]),
        ),
      );
      const moreColumns = numbered(
        columns.map((colour, j) => signature(colour, rows, (i) => cross[i * dimension + j])),
      );
      const settled = new Set(moreRows).size === new Set(rows).size && new Set(moreColumns).size === new Set(columns).size;
      [rows, columns] = [moreRows, moreColumns];
      if (settled) break;
    }
    return { rows, columns };
  }

  function sizesOf(colours) {
    const counts = new Map();
    for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
    return [...counts.values()].sort((a, b) => b - a).join(" + ");
  }

  // The sizes of the blocks, such as `7 + 1`; of students × teachers where they differ.
  function symmetry(point, students, dimension, even) {
    const { rows, columns } = blocks(point, students, dimension, even);
    const [one, other] = [sizesOf(rows), sizesOf(columns)];
    return one === other ? one : `${one} × ${other}`;
  }

  const smallestEigenvalue = (form, point) => eigen(form.hessian(point)).values[0];

  // Split neuron i in two halves that compute the same, for a student with one neuron more; the direction in which the
  // halves part and the loss falls, if the neuron has a negative curvature; and the curvature along it.
  function split(form, point, i) {
    const d = form.dimension;
    const wide = new Committee(form.teacher, d, form.students + 1, form.activation);
    const halves = new Float64Array(point.length + d);
    halves.set(point.subarray(0, (i + 1) * d));
    halves.set(point.subarray(i * d), (i + 1) * d);
    for (let c = i * d; c < (i + 2) * d; c += 1) halves[c] *= 0.5;
    const { values, vectors } = eigen(form.curvature(point, i), true);
    const direction = new Float64Array(halves.length);
    for (let c = 0; c < d; c += 1) {
      direction[i * d + c] = vectors[0][c] * Math.SQRT1_2;
      direction[(i + 1) * d + c] = -vectors[0][c] * Math.SQRT1_2;
    }
    // uᵀH'u/(f(1 − f)) along (u, −u), per unit length.
    return { form: wide, point: halves, direction, curvature: 2 * values[0] };
  }

  Object.assign(tutelage, { History, Run, xavier, axes, blocks, symmetry, smallestEigenvalue, split });
}
