// Sharing: the wave with one vector for all patches, or one per patch.
tutelage.explorations.sharing = {
  title: "Sharing",
  lead:
    "A linear function of the first of k patches, plus a cosine of all of them. With shared weights the linear part pulls the one vector " +
    "to the teacher. Without, it moves the first patch only: the others feel a wave that dies out like exp(−½ distance²). Drag the teacher " +
    "and the start apart: in d dimensions random starts are √d away.",
  speed: 10,
  defaults: { patches: 3, teacher: [1.2, 0.4], start: [0.2, -0.6], step: 0.5, slope: "usual", entry: 0.5, dimensions: 14, seed: 0 },

  mount(body, lab) {
    const { Wave, Run, Plot, Handle, onGrid, levelsOf, startNormals, element, shown, code } = tutelage;
    const [left, right] = lab.bench(body);
    const plane = new Plot(
      lab.figure(left, "The plane of the patches' vectors, with the paths of shared and unshared descent",
        "Level lines: the loss with sharing. Blue, dashed: the shared vector. Orange: the vectors of the patches without sharing, of which the first (thick) feels the linear part."),
      { x: [-3, 3], y: [-2.4, 2.4], ratio: 0.8 });
    const controls = element("div", "", "controls");
    right.append(controls);
    lab.slider(controls, "patches", "Patches k", { min: 2, max: 6, step: 1 });
    lab.slider(controls, "step", "Step, times 1/(9k)", { min: 0.05, max: 3, log: true });
    const show = lab.facts(right, { shared: "loss with sharing", unshared: "loss without", steps: "steps", pull: "gradient of the other patches" });
    const losses = new Plot(lab.figure(left, "Loss against steps, with and without sharing"), { x: [0, 1], y: [1e-8, 100], xLabel: "steps", yLabel: "loss", logY: true, ratio: 0.42 });
    const times = new Plot(
      lab.figure(right, "Steps until the loss is below 0.001, against the dimension",
        "Steps until the loss is at most 0.001, from Gaussian starts whose entries are as large as the teacher's. Open dots: not within 200,000."),
      { x: [0, 15], y: [1, 300000], xLabel: "dimension d", yLabel: "steps", logY: true, ratio: 0.5 });
    const scan = element("div", "", "controls");
    right.append(scan);
    lab.slider(scan, "entry", "Size of an entry", { min: 0.2, max: 1, step: 0.05 });
    lab.slider(scan, "dimensions", "Dimensions up to", { min: 4, max: 24, step: 1 });
    lab.slider(scan, "seed", "Seed of the starts", { min: 0, max: 20, step: 1 });
    const measure = lab.button(scan, "Measure times", () => {
      measured = [];
      queue = Array.from({ length: lab.get("dimensions") }, (_, i) => i + 1);
      begun = null;
    });
    const LIMIT = 200000;
    const GOAL = 1e-3;
    const options = { tolerance: 1e-8, limit: 20000 };
    let shared, unshared, grid, known, scanned;
    let measured = [];
    let queue = [];
    let begun = null;

    const step = () => lab.get("step") / (9 * lab.get("patches"));
    // The linear part has the slope 3√k, as in the paper, unless another one is given.
    const slope = () => (Number.isFinite(Number(lab.get("slope"))) ? Number(lab.get("slope")) : 3 * Math.sqrt(lab.get("patches")));
    const forms = (target) => [true, false].map((sharing) => new Wave(target, lab.get("patches"), sharing, slope()));
    const copies = (start) => Float64Array.from({ length: start.length * lab.get("patches") }, (_, i) => start[i % start.length]);

    function begin() {
      const [one, many] = forms(lab.get("teacher"));
      const remember = (run) => ({ loss: run.loss, at: Array.from(run.point) });
      shared = new Run(one, lab.get("start"), step(), { ...options, remember });
      unshared = new Run(many, copies(lab.get("start")), step(), { ...options, remember });
      const key = JSON.stringify([lab.get("teacher"), lab.get("patches"), slope()]);
      if (key !== known) grid = onGrid(plane, 61, (point) => Math.log(one.loss(point) + 0.05));
      known = key;
      const times = JSON.stringify(["patches", "step", "slope", "entry", "dimensions", "seed"].map((name) => lab.get(name)));
      if (times !== scanned) [measured, queue, begun] = [[], [], null];
      scanned = times;
    }

    // A few hundred steps of the dimension that is measured; whether there was one left.
    function measureSome() {
      if (queue.length === 0) return false;
      const dimension = queue[0];
      begun ??= forms(new Float64Array(dimension).fill(lab.get("entry"))).map((form, i) => {
        const count = i ? dimension * lab.get("patches") : dimension;
        const start = startNormals(lab.get("seed"), 0, count).map((entry) => lab.get("entry") * entry);
        return new Run(form, start, step(), { tolerance: 0, limit: LIMIT, goal: GOAL, remember: () => 0 });
      });
      if (begun.map((run) => run.advance(500)).some(Boolean)) return true;
      measured.push({ dimension, runs: begun.map(({ steps, loss }) => ({ steps, learned: loss <= GOAL })) });
      [begun, queue] = [null, queue.slice(1)];
      return true;
    }

    function draw() {
      const c = plane.begin().axes().colours;
      plane.contours(grid, levelsOf(grid, 16), c.soft);
      const k = lab.get("patches");
      for (let patch = k - 1; patch >= 0; patch -= 1) {
        const of = unshared.history.entries.map(({ at }) => at.slice(2 * patch, 2 * patch + 2));
        plane.line(of.map((p) => p[0]), of.map((p) => p[1]), c.orange, { width: patch ? 1.5 : 4, alpha: patch ? 1 : 0.5 });
        plane.dot(unshared.point[2 * patch], unshared.point[2 * patch + 1], c.orange, { size: patch ? 4 : 6 });
      }
      // Dashed, above the others: both paths are seen where they agree.
      plane.line(shared.history.entries.map(({ at }) => at[0]), shared.history.entries.map(({ at }) => at[1]), c.blue, { width: 2.5, dash: [7, 6] });
      plane.dot(shared.point[0], shared.point[1], c.blue, { size: 5 });
      for (const handle of handles) handle.place();
      losses.x = [0, Math.max(shared.steps, unshared.steps, 50)];
      losses.y = [1e-8, Math.max(10 ** Math.ceil(Math.log10(shared.history.entries[0].loss)), 1)];
      losses.begin().axes();
      losses.line(shared.history.steps, shared.history.entries.map(({ loss }) => loss), c.blue, { width: 2 });
      losses.line(unshared.history.steps, unshared.history.entries.map(({ loss }) => loss), c.orange, { width: 2 });
      losses.legend([["shared", c.blue], ["not shared", c.orange]]);
      drawTimes(c);
      const others = unshared.slope.subarray(2);
      show({ shared: shown(Math.max(shared.loss, 0)), unshared: shown(Math.max(unshared.loss, 0)), steps: String(Math.max(shared.steps, unshared.steps)), pull: shown(Math.hypot(...others)) });
    }

    function drawTimes(c) {
      times.x = [0, lab.get("dimensions") + 1];
      times.begin().axes();
      if (!measured.length && !queue.length) times.note("Press “Measure times”.", 10, 24);
      [c.blue, c.orange].forEach((colour, i) => {
        const seen = measured.filter(({ runs }) => runs[i].learned);
        times.line(seen.map(({ dimension }) => dimension), seen.map(({ runs }) => Math.max(runs[i].steps, 1)), colour);
        for (const { dimension, runs } of measured) times.dot(dimension, Math.max(runs[i].steps, 1), colour, { size: 4, fill: runs[i].learned });
      });
      if (measured.length) times.legend([["shared", c.blue], ["not shared", c.orange]]);
      measure.disabled = queue.length > 0;
      measure.textContent = queue.length ? `Measuring d = ${queue[0]} …` : "Measure times";
    }

    function say() {
      const words = (run, name) => (run.status === "running" ? `${name} at ${shown(run.loss)}` : run.status === "diverged" ? `${name} diverged` : run.loss < 1e-6 ? `${name} learned in ${run.steps} steps` : `${name} stuck at ${shown(run.loss)}`);
      const bad = [shared, unshared].some((run) => run.status === "diverged") || (unshared.status !== "running" && unshared.loss > 1e-6);
      return { bad, words: `Step ${Math.max(shared.steps, unshared.steps)}: with sharing ${words(shared, "the loss").replace("the loss learned", "it learned")}; without, ${words(unshared, "the loss").replace("the loss learned", "it learned")}.` };
    }

    const handles = [
      ["Teacher", "teacher"],
      ["Start", "start"],
    ].map(([name, key]) => new Handle(plane, { name, className: key, get: () => lab.get(key), set: (point) => lab.set({ [key]: point }) }));

    // What is written of a slope that is not the usual one.
    const other = (before, after = "") => (lab.get("slope") === "usual" ? "" : `${before}${code.float(slope())}${after}`);

    const times_ = () =>
      measured.length
        ? `\n# Time to learn against the dimension.\nfor dimension in range(1, ${lab.get("dimensions")} + 1):\n    for sharing in (True, False):\n` +
          `        problem = tl.problems.wave(np.full(dimension, ${code.float(lab.get("entry"))}), patches=${lab.get("patches")}, sharing=sharing${other(", slope=")})\n` +
          `        starts = tl.starts.gaussian(problem, runs=1, scale=${code.float(lab.get("entry"))}, seed=${lab.get("seed")})\n` +
          `        times = tl.descend(tl.population(problem), starts, tl.GradientDescent(${code.float(step())}), tl.loss_below(${GOAL}) | tl.step_limit(${LIMIT}))\n` +
          "        print(dimension, sharing, times.steps[0], times.statuses[0])\n"
        : "";

    return {
      begin,
      draw,
      say,
      idle: () => tutelage.inSlices(measureSome),
      advance: (steps) => [shared, unshared].map((run) => run.advance(steps)).some(Boolean),
      result: () => ({ losses: [shared.loss, unshared.loss], steps: [shared.steps, unshared.steps], measured }),
      python: () =>
        `${code.header}results = []\nfor sharing in (True, False):\n` +
        `    problem = tl.problems.wave(np.array(${code.list(lab.get("teacher"))}), patches=${lab.get("patches")}, sharing=sharing${other(", slope=")})\n` +
        `    start = np.array(${code.list(lab.get("start"))})\n    starts = start[None] if sharing else np.tile(start, (1, ${lab.get("patches")}, 1))\n` +
        `    stop = ${code.stop(options)}\n` +
        `    runs = tl.descend(tl.population(problem), starts, tl.GradientDescent(${code.float(step())}), stop, tl.record("loss"))\n` +
        `    results.append(runs)\n    print(sharing, runs.statuses[0], runs.steps[0], runs.losses[0])\n${times_()}`,
      toml: () =>
        `# Without sharing; for shared weights set sharing = true and points = [${code.list(lab.get("start"))}].\n` +
        `runs = 1\nseed = 0\nsuccess = 1e-6\nkeep_points = true\n\n[problem]\nfamily = "wave"\npatches = ${lab.get("patches")}\nsharing = false\n${other("slope = ", "\n")}` +
        `target = ${code.list(lab.get("teacher"))}\n\n` +
        code.procedure({ ...options, starts: `law = "given"\npoints = [${code.matrix(copies(lab.get("start")), 2)}]`, step: step(), quantities: ["loss"] }),
    };
  },
};
