// One neuron in the plane: teacher, mean of the inputs and start are dragged.
tutelage.explorations = {};
tutelage.explorations.neuron = {
  title: "One neuron",
  lead:
    "A neuron σ(w·x) learns another, σ(v·x), from Gaussian inputs whose mean you choose. Drag the teacher (orange), the mean " +
    "of the inputs (green) and the start (blue); the faint line is where gradient descent will go.",
  speed: 0.25,
  defaults: { activation: "relu", teacher: [1, 0], mean: [0, 0], start: [-1.2, 1.6], step: 0.2, thresholds: "yes" },

  mount(body, lab) {
    const { Neuron, Run, Plot, Handle, onGrid, levelsOf, code, dot, norm, halves, element, shown } = tutelage;
    const [left, right] = lab.bench(body);
    const plane = new Plot(
      lab.figure(left, "Level lines of the loss in the plane of the student, with the path of gradient descent",
        "Level lines: the loss. Dashed: the norm up to which Lemma 6.3 says that the norm grows (orange), and up to which it does (green)."),
      { x: [-3, 3], y: [-2.4, 2.4], ratio: 0.8 });
    const small = (parent, label, yLabel, logY) => new Plot(lab.figure(parent, label), { x: [0, 1], y: [0, 1], xLabel: "steps", yLabel, logY, ratio: 0.3 });
    const losses = small(left, "Loss against steps", "loss", true);
    const controls = element("div", "", "controls");
    right.append(controls);
    lab.activations(controls);
    lab.slider(controls, "step", "Step", { min: 0.01, max: 10, log: true, format: (value) => String(value) });
    lab.choice(controls, "thresholds", "Lemma 6.3's thresholds", { yes: "show", no: "hide" });
    const row = element("div", "", "buttons");
    controls.append(row);
    lab.button(row, "Witness against Lemma 6.3", () =>
      lab.set({ activation: "relu", teacher: [1, 0], mean: [0, 0], start: [0, 0.45], step: 0.05, thresholds: "yes" }));
    lab.button(row, "A step too large", () =>
      lab.set({ activation: "relu", teacher: [1, 0], mean: [0, 0], start: [0.6, 1], step: 6 }));
    const show = lab.facts(right, { loss: "loss", steps: "steps", angle: "angle to the teacher", norm: "norm", slope: "norm of the gradient", threshold: "norm grows below: printed, true" });
    const angles = small(right, "Angle to the teacher against steps", "angle", false);
    const norms = small(right, "Norm of the student against steps", "norm", false);

    const options = { tolerance: 1e-10, limit: 2000, largest: 1e12 };
    const angleOf = (w, v) => (norm(w) > 0 ? halves(Array.from(w, (e) => e / norm(w)), v.map((e) => e / norm(v))).angle : 0);
    const remember = (run) => ({ loss: run.loss, w: Array.from(run.point), angle: angleOf(run.point, lab.get("teacher")), norm: norm(run.point) });
    let form, run, whole, grid, known;

    function begin() {
      // A teacher or student that is zero teaches and learns nothing.
      for (const key of ["teacher", "start"]) if (norm(lab.get(key)) === 0) lab.settings[key] = [0.01, 0];
      form = new Neuron(lab.get("teacher"), lab.get("mean"), lab.get("activation"));
      run = new Run(form, lab.get("start"), lab.get("step"), { ...options, remember });
      whole = new Run(form, lab.get("start"), lab.get("step"), { ...options, remember });
      whole.advance(options.limit);
      const key = JSON.stringify([lab.get("teacher"), lab.get("mean"), lab.get("activation")]);
      if (key !== known) grid = onGrid(plane, 61, (point) => form.loss(point));
      known = key;
    }

    // The curve of a threshold on the norm as a function of the angle, around the teacher.
    function threshold(function_, colour) {
      const v = lab.get("teacher");
      const [xs, ys] = [[], []];
      for (let i = -180; i <= 180; i += 2) {
        const angle = (Math.PI * i) / 180;
        const size = norm(v) * Math.max(function_(Math.abs(angle)), 0);
        const turn = Math.atan2(v[1], v[0]) + angle;
        xs.push(size * Math.cos(turn));
        ys.push(size * Math.sin(turn));
      }
      plane.line(xs, ys, colour, { dash: [5, 4], width: 1.8 });
    }

    const lemma = () => lab.get("activation") === "relu" && norm(lab.get("mean")) === 0;

    function curve(plot, key, range) {
      const steps = whole.history.steps;
      plot.x = [0, Math.max(steps.at(-1), 10)];
      plot.y = range;
      const c = plot.begin().axes().colours;
      plot.line(steps, whole.history.entries.map((entry) => entry[key]), c.blue, { alpha: 0.3 });
      plot.line(run.history.steps, run.history.entries.map((entry) => entry[key]), c.blue, { width: 2 });
    }

    function draw() {
      const c = plane.begin().axes().colours;
      plane.contours(grid, levelsOf(grid), c.soft);
      if (lab.get("thresholds") === "yes" && lemma()) {
        threshold(tutelage.printedThreshold, c.orange);
        threshold(tutelage.trueThreshold, c.green);
      }
      const path = (of, how) => plane.line(of.history.entries.map((e) => e.w[0]), of.history.entries.map((e) => e.w[1]), c.blue, how);
      path(whole, { alpha: 0.35 });
      path(run, { width: 2.5 });
      plane.dot(0, 0, c.ink, { size: 2 });
      plane.dot(run.point[0], run.point[1], c.blue, { size: 5 });
      for (const handle of handles) handle.place();
      const finite = whole.history.entries.filter((entry) => Number.isFinite(entry.loss));
      const all = finite.map((entry) => entry.loss);
      curve(losses, "loss", [Math.max(Math.min(...all) / 2, 1e-16), Math.max(...all) * 2]);
      curve(angles, "angle", [0, Math.PI]);
      curve(norms, "norm", [0, Math.min(1.1 * Math.max(...finite.map((entry) => entry.norm), norm(lab.get("teacher"))), 20)]);
      const angle = angleOf(run.point, lab.get("teacher"));
      const size = norm(lab.get("teacher"));
      show({
        loss: shown(Math.max(run.loss, 0)),
        steps: String(run.steps),
        angle: `${shown(angle)} (${shown((180 * angle) / Math.PI, 3)}°)`,
        norm: shown(norm(run.point)),
        slope: shown(run.slopeNorm),
        threshold: lemma() ? `${shown(size * tutelage.printedThreshold(angle))}, ${shown(size * tutelage.trueThreshold(angle))}` : "ReLU without a mean only",
      });
    }

    function say() {
      if (whole.status === "diverged") {
        return { bad: true, words: `With this step descent diverges: the loss is ${shown(whole.loss)} after ${whole.steps} steps. Take a smaller step.` };
      }
      const size = norm(run.point);
      if (lemma() && run.status === "running") {
        const angle = angleOf(run.point, lab.get("teacher"));
        const scale = norm(lab.get("teacher"));
        const shrinks = dot(run.point, run.slope) > 0;
        if (shrinks && size <= scale * tutelage.printedThreshold(angle)) {
          return { bad: true, words: "Here the norm shrinks, although it is below Lemma 6.3's printed threshold: a witness against the print." };
        }
      }
      if (run.status === "running") {
        const end = { converged: `converges in ${whole.steps} steps to loss ${shown(Math.max(whole.loss, 0))}`, step_limit: `is at loss ${shown(whole.loss)} after ${whole.steps} steps` }[whole.status];
        return { words: `Step ${run.steps}, loss ${shown(run.loss)}. From this start descent ${end}.` };
      }
      const stuck = run.loss > 1e-6;
      return { bad: stuck, words: `${run.status === "converged" ? "Converged" : "Stopped"} after ${run.steps} steps at loss ${shown(Math.max(run.loss, 0))}: ${stuck ? "not the teacher" : "the teacher is found"}.` };
    }

    const handles = [
      ["Teacher", "teacher"],
      ["Mean of the inputs", "mean"],
      ["Start", "start"],
    ].map(([name, key]) => new Handle(plane, { name, className: key, get: () => lab.get(key), set: (point) => lab.set({ [key]: point }) }));

    return {
      begin,
      draw,
      say,
      advance: (steps) => run.advance(steps),
      result: () => ({ loss: whole.loss, point: Array.from(whole.point), status: whole.status, steps: whole.steps }),
      python: () =>
        `${code.header}inputs = tl.inputs.gaussian(2, mean=np.array(${code.list(lab.get("mean"))}))\n` +
        `problem = tl.problems.neuron(np.array(${code.list(lab.get("teacher"))}), activation="${lab.get("activation")}", inputs=inputs)\n` +
        `objective = tl.population(problem)\nstarts = np.array([${code.list(lab.get("start"))}])\n` +
        `stop = ${code.stop(options)}\n` +
        `runs = tl.descend(objective, starts, tl.GradientDescent(${code.float(lab.get("step"))}), stop, tl.record("loss", "angle"))\n` +
        "print(runs.statuses[0], runs.steps[0], runs.losses[0], runs.points[0])\n",
      toml: () =>
        `runs = 1\nseed = 0\nsuccess = 1e-6\nkeep_points = true\n\n[problem]\nfamily = "neuron"\nactivation = "${lab.get("activation")}"\n` +
        `target = ${code.list(lab.get("teacher"))}\ninputs = { law = "gaussian", mean = ${code.list(lab.get("mean"))} }\n\n` +
        code.procedure({ ...options, starts: `law = "given"\npoints = [${code.list(lab.get("start"))}]`, step: lab.get("step"), quantities: ["loss", "angle"] }),
    };
  },
};
