// The filter: the plane of angle and signal, its two basins, and the ratio that turns a minimum into a saddle.
tutelage.explorations.filter = {
  title: "The filter",
  lead:
    "One filter v with output weights a learns a teacher (w*, a*). Seen through the angle φ between the filters and the signal a·a* there " +
    "are two stationary points: the teacher, and one with the filter turned around. Drag the start; move the ratio (1·a*)²/‖a*‖² beyond " +
    "(k + π − 1)/π, and the second minimum turns into a saddle.",
  speed: 1,
  defaults: { patches: 4, ratio: 1, start: [2.2, -0.6], across: "settled", step: 0.2 },

  mount(body, lab) {
    const { Filter, Run, Plot, Handle, dot, element, shown, code } = tutelage;
    const [left, right] = lab.bench(body);
    const COLUMNS = 48;
    const ROWS = 40;
    const portrait = new Plot(
      lab.figure(left, "Phase portrait in the plane of angle and signal, with the basins of the two stationary points",
        "Blue region: starts from which descent finds the teacher (dot); orange region: starts from which it ends at the second stationary point (square; a cross where it is a saddle). Arrows: gradient flow."),
      { x: [0, Math.PI], y: [-1, 1.5], xLabel: "angle φ", yLabel: "signal a·a*", ratio: 0.75, xTicks: [[0, "0"], [Math.PI / 2, "π/2"], [Math.PI, "π"]] });
    const controls = element("div", "", "controls");
    right.append(controls);
    lab.slider(controls, "ratio", "(1·a*)²/‖a*‖²", { min: 0, max: 8, step: 0.05, set: (value) => lab.set({ ratio: Math.min(value, lab.get("patches")) }), format: (value) => value.toFixed(2) });
    lab.slider(controls, "patches", "Patches k", { min: 2, max: 8, step: 1, set: (value) => lab.set({ patches: value, ratio: Math.min(lab.get("ratio"), value) }) });
    lab.slider(controls, "step", "Step", { min: 0.02, max: 4, log: true });
    const row = element("div", "", "buttons");
    controls.append(row);
    const threshold = () => (lab.get("patches") + Math.PI - 1) / Math.PI;
    lab.button(row, "Just a minimum", () => lab.set({ ratio: Number((threshold() - 0.1).toFixed(2)) }));
    lab.button(row, "Just a saddle", () => lab.set({ ratio: Number(Math.min(threshold() + 0.1, lab.get("patches")).toFixed(2)) }));
    const show = lab.facts(right, { loss: "loss", steps: "steps", angle: "angle φ", signal: "signal a·a*", threshold: "(k + π − 1)/π", second: "loss of the second point", basin: "starts that find the teacher" });
    const losses = new Plot(lab.figure(right, "Loss against steps"), { x: [0, 1], y: [1e-10, 1], xLabel: "steps", yLabel: "loss", logY: true, ratio: 0.42 });
    const options = { tolerance: 1e-8, limit: 3000, largest: 1e8 };
    let form, output, across, run, whole, second, basins, cell, known;

    // Unit output weights with a given (1·a)², as the study of the phase portrait has them.
    function weights(k, ratio) {
      const cosine = Math.sqrt(ratio / k);
      const sine = Math.sqrt(Math.max(1 - cosine * cosine, 0));
      return Float64Array.from({ length: k }, (_, i) => cosine / Math.sqrt(k) + (i < 2 ? ((i ? -1 : 1) * sine) / Math.SQRT2 : 0));
    }

    // The student with an angle and a signal; its weight across the teacher's is in equilibrium, or as given.
    function onSlice(phi, signal, given = NaN) {
      const make = (amount) => Float64Array.from([Math.cos(phi), Math.sin(phi), ...output.map((entry, i) => signal * entry + amount * across[i])]);
      if (Number.isFinite(given)) return make(given);
      const pull = (amount) => dot(form.gradient(make(amount)).subarray(2), across);
      const [zero, one] = [pull(0), pull(1)];
      return make(Math.abs(one - zero) > 1e-12 ? -zero / (one - zero) : 0);
    }

    const student = () => onSlice(...lab.get("start"), Number(lab.get("across")));

    function begin() {
      const k = lab.get("patches");
      output = weights(k, lab.get("ratio"));
      form = new Filter([1, 0], output);
      const sum = output.reduce((a, b) => a + b, 0);
      const rest = output.map((entry) => 1 - sum * entry);
      const size = Math.sqrt(dot(rest, rest));
      across = rest.map((entry) => (size > 1e-9 ? entry / size : 0));
      const mean = sum / k;
      const turned = output.map((entry) => (mean * (k - 1)) / (k + Math.PI - 1) - (entry - mean) / (Math.PI - 1));
      const point = Float64Array.from([-1, 0, ...turned]);
      second = { signal: dot(turned, output), loss: form.loss(point), saddle: lab.get("ratio") > threshold() };
      const remember = (one) => ({ loss: one.loss, phi: form.angle(one.point), signal: dot(one.point.subarray(2), output) });
      const start = student();
      run = new Run(form, start, lab.get("step"), { ...options, remember });
      whole = new Run(form, start, lab.get("step"), { ...options, remember });
      whole.advance(options.limit);
      const key = JSON.stringify([k, lab.get("ratio")]);
      if (key !== known) [basins, cell] = [new Int8Array(COLUMNS * ROWS).fill(-1), 0];
      known = key;
    }

    const place = (number) => [
      (((number % COLUMNS) + 0.5) / COLUMNS) * Math.PI,
      portrait.y[0] + ((Math.floor(number / COLUMNS) + 0.5) / ROWS) * (portrait.y[1] - portrait.y[0]),
    ];

    // Whether descent finds the teacher. The loss falls: once it is below that of the second point, it cannot end there.
    // Where the output weights have settled to a signal that turns the filter around, it turns ever further.
    function findsTeacher(start, step) {
      const from = new Run(form, start, step, { tolerance: 1e-6, limit: 20000, remember: () => 0 });
      while (from.status === "running") {
        from.advance(10);
        if (from.loss < second.loss - 1e-9) return true;
        const signal = dot(from.point.subarray(2), output);
        const settled = from.slopeNorm < 0.1 * Math.abs(signal);
        if (signal < 0 && settled && form.angle(from.point) > Math.PI - 0.5) return false;
      }
      return from.loss < 1e-4;
    }

    // One start of the basins, in an order that fills the picture evenly; whether there was one left.
    function judgeStart() {
      const total = COLUMNS * ROWS;
      if (cell >= total) return false;
      const number = (cell * 997) % total;
      basins[number] = findsTeacher(onSlice(...place(number)), Math.min(0.5, 0.9 / threshold())) ? 1 : 0;
      cell += 1;
      return true;
    }

    function drawBasins(c) {
      portrait.inside((context) => {
        const [w, h] = [(portrait.frame.right - portrait.frame.left) / COLUMNS, (portrait.frame.bottom - portrait.frame.top) / ROWS];
        basins.forEach((taught, number) => {
          if (taught < 0) return;
          const [phi, signal] = place(number);
          context.fillStyle = taught ? c["blue-wash"] : c["orange-wash"];
          context.fillRect(portrait.px(phi) - w / 2, portrait.py(signal) - h / 2, w + 0.6, h + 0.6);
        });
      });
    }

    function drawArrows(c) {
      portrait.inside((context) => {
        context.strokeStyle = c.soft;
        context.lineWidth = 1;
        context.globalAlpha = 0.7;
        for (let i = 0; i < 16; i += 1) {
          for (let j = 0; j < 12; j += 1) {
            const [phi, signal] = [((i + 0.5) / 16) * Math.PI, portrait.y[0] + ((j + 0.5) / 12) * (portrait.y[1] - portrait.y[0])];
            const slope = form.gradient(onSlice(phi, signal));
            const turning = slope[0] * Math.sin(phi) - slope[1] * Math.cos(phi);
            const growth = -dot(slope.subarray(2), output);
            const [x, y] = [portrait.px(phi), portrait.py(signal)];
            const [dx, dy] = [portrait.px(phi + turning) - x, portrait.py(signal + growth) - y];
            const size = Math.hypot(dx, dy);
            if (size < 1e-9) continue;
            const [ux, uy] = [(9 * dx) / size, (9 * dy) / size];
            context.beginPath();
            context.moveTo(x - ux, y - uy);
            context.lineTo(x + ux, y + uy);
            context.lineTo(x + ux - 0.45 * ux + 0.3 * uy, y + uy - 0.45 * uy - 0.3 * ux);
            context.moveTo(x + ux, y + uy);
            context.lineTo(x + ux - 0.45 * ux - 0.3 * uy, y + uy - 0.45 * uy + 0.3 * ux);
            context.stroke();
          }
        }
      });
    }

    function draw() {
      const c = portrait.begin().colours;
      drawBasins(c);
      portrait.axes();
      drawArrows(c);
      const colour = whole.loss < 1e-6 ? c.blue : c.orange;
      const path = (of, how) => portrait.line(of.history.entries.map((e) => e.phi), of.history.entries.map((e) => e.signal), colour, how);
      path(whole, { alpha: 0.5 });
      path(run, { width: 3 });
      portrait.dot(0, 1, c.blue, { size: 9 });
      portrait.dot(Math.PI, second.signal, second.saddle ? c.ink : c.orange, { size: 8, shape: second.saddle ? "cross" : "square" });
      portrait.dot(form.angle(run.point), dot(run.point.subarray(2), output), colour, { size: 5 });
      handle.place();
      losses.x = [0, Math.max(whole.steps, 10)];
      losses.y = [whole.loss < 1e-6 ? 1e-10 : 10 ** (Math.floor(Math.log10(second.loss)) - 1), Math.max(10 ** Math.ceil(Math.log10(whole.history.entries[0].loss)), 1e-2)];
      losses.begin().axes();
      losses.line([0, losses.x[1]], [second.loss, second.loss], c.orange, { dash: [5, 4] });
      losses.line(whole.history.steps, whole.history.entries.map((e) => e.loss), colour, { alpha: 0.35 });
      losses.line(run.history.steps, run.history.entries.map((e) => e.loss), colour, { width: 2 });
      losses.legend([["second stationary point", c.orange, [5, 4]]], { low: true });
      const judged = basins.filter((taught) => taught >= 0).length;
      show({
        loss: shown(Math.max(run.loss, 0)),
        steps: String(run.steps),
        angle: shown(form.angle(run.point)),
        signal: shown(dot(run.point.subarray(2), output)),
        threshold: shown(threshold()),
        second: `${shown(second.loss)}, ${second.saddle ? "a saddle" : "a minimum"}`,
        basin: judged === basins.length ? `${shown((100 * basins.filter((taught) => taught === 1).length) / judged, 3)} %` : "…",
      });
    }

    function say() {
      const kind = second.saddle ? "a saddle, which no start shown here ends at" : "a spurious minimum, with a basin of its own";
      if (whole.status === "diverged") return { bad: true, words: "With this step descent diverges. Take a smaller one." };
      const end = whole.loss < 1e-6 ? "finds the teacher" : `ends at loss ${shown(whole.loss)}, where the filter is turned around`;
      return { bad: whole.loss >= 1e-6, words: `The second stationary point is ${kind}. From this start descent ${end}, after ${whole.steps} steps.` };
    }

    const handle = new Handle(portrait, {
      name: "Start",
      className: "start",
      get: () => lab.get("start"),
      set: ([phi, signal]) => lab.set({ across: "settled", start: [Math.min(Math.max(phi, 0.02), 3.12), signal] }),
    });

    return {
      begin,
      draw,
      say,
      idle: () => tutelage.inSlices(judgeStart),
      advance: (steps) => run.advance(steps),
      result: () => ({ loss: whole.loss, steps: whole.steps, point: Array.from(whole.point) }),
      python: () =>
        `${code.header}problem = tl.problems.convolution(np.array([1.0, 0.0]), np.array(${code.list(output)}))\n` +
        `objective = tl.population(problem)\n# The filter, and output weights in equilibrium across the teacher's.\n` +
        `starts = tl.models.FilterAndOutput(np.array([${code.list(student().subarray(0, 2))}]), np.array([${code.list(student().subarray(2))}]))\n` +
        `stop = ${code.stop(options)}\n` +
        `runs = tl.descend(objective, starts, tl.GradientDescent(${code.float(lab.get("step"))}), stop, tl.record("loss", "angle"))\n` +
        "print(runs.statuses[0], runs.steps[0], runs.losses[0])\n",
      toml: () =>
        `runs = 1\nseed = 0\nsuccess = 1e-6\nkeep_points = true\n\n[problem]\nfamily = "convolution"\nfilter = [1.0, 0.0]\n` +
        `output_weights = ${code.list(output)}\n\n` +
        code.procedure({
          ...options,
          starts: `law = "given"\npoints = { parts = [[${code.list(student().subarray(0, 2))}], [${code.list(student().subarray(2))}]] }`,
          step: lab.get("step"),
          quantities: ["loss", "angle"],
        }),
    };
  },
};
