// A committee: many students of one orthonormal teacher, where they end, and what a split neuron does.
tutelage.explorations.committee = {
  title: "A committee",
  lead:
    "k neurons learn a sum of k orthonormal neurons, from random starts. Drop students and play: most find the teacher, some " +
    "end in a trap, a minimum that computes something else. Split a neuron of a trapped student: the trap becomes a saddle, and the run goes down.",
  speed: 5,
  defaults: { neurons: 8, students: 8, activation: "relu", runs: 10, seed: 0, step: 1, run: 0, split: -1, start: [] },

  mount(body, lab) {
    const { Committee, Run, Plot, axes, xavier, blocks, symmetry, smallestEigenvalue, split, element, shown, code } = tutelage;
    const controls = element("div", "", "controls");
    body.append(controls);
    const [left, right] = lab.bench(body);
    // Steps in units of the usual one: 5/k is the mild over-parameterization paper's.
    const USUAL = { relu: 5, leaky_relu: 5, abs: 2.5, erf: 5 };
    const stepFor = (students) => (lab.get("step") * USUAL[lab.get("activation")]) / Math.max(lab.get("neurons"), students, 6);
    // Random starts, and nothing split.
    const anew = { run: 0, split: -1, start: [] };
    const drops = element("div", "", "buttons");
    controls.append(drops);
    for (const count of [1, 10, 100]) {
      lab.button(drops, `Drop ${count}`, () => {
        lab.set({ ...anew, runs: count });
        lab.play();
      });
    }
    const neurons = (value) => lab.set({ ...anew, neurons: value, students: value });
    lab.slider(controls, "neurons", "Teacher neurons k", { min: 1, max: 12, step: 1, set: neurons });
    lab.slider(controls, "students", "Student neurons", { min: 1, max: 13, step: 1, set: (value) => lab.set({ ...anew, students: value }) });
    lab.activations(controls);
    lab.slider(controls, "step", "Step", { min: 0.1, max: 4, log: true, format: (value) => shown(stepFor(lab.get("students")), 3) });
    lab.slider(controls, "seed", "Seed", { min: 0, max: 20, step: 1, set: (value) => lab.set({ ...anew, seed: value }) });
    const curves = new Plot(
      lab.figure(left, "Loss of every run against steps", "Loss of every run; the thick line is the run whose matrix is shown."),
      { x: [0, 100], y: [1e-12, 10], xLabel: "steps", yLabel: "loss", logY: true, ratio: 0.5 });
    const products = new Plot(
      lab.figure(right, "Inner products of the shown student's neurons with the teacher's", "Inner products of the student's neurons (rows) with the teacher's (columns)."),
      { x: [0, 8], y: [0, 8], ratio: 0.62 });
    const show = lab.facts(right, { loss: "loss of the shown run", steps: "steps", least: "smallest eigenvalue", symmetry: "symmetry" });
    const splits = element("div", "", "buttons");
    right.append(element("h2", "Split this neuron"), splits);
    left.append(element("h2", "Where the runs end"));
    const table = element("table", "", "ends");
    table.innerHTML =
      '<thead><tr><th>symmetry</th><th class="number">loss</th><th class="number">smallest eigenvalue</th><th class="number">runs</th><th></th><th></th></tr></thead><tbody></tbody>';
    left.append(table);

    let form, runs, classes, base, down, tableText, splitText;

    const options = (students) => ({ tolerance: 1e-10, limit: 20000, goal: students > lab.get("neurons") ? 1e-10 : 0 });
    const even = () => lab.get("activation") === "abs";
    // One student may be given: the rows of `start`, in a space that is as large as the teacher's or larger.
    const dimension = () => (lab.get("start").length ? lab.get("start").length / lab.get("students") : lab.get("neurons"));
    const start = (i) => (lab.get("start").length ? lab.get("start") : xavier(lab.get("students"), lab.get("neurons"), lab.get("seed"), i));
    const follow = (on, from) => new Run(on, from, stepFor(on.students), options(on.students));

    function begin() {
      if (!Number.isInteger(dimension()) || dimension() < lab.get("neurons")) lab.settings.start = [];
      form = new Committee(axes(lab.get("neurons"), dimension()), dimension(), lab.get("students"), lab.get("activation"));
      classes = new Map();
      [tableText, splitText, base, down] = ["", "", null, null];
      if (lab.get("split") < 0) {
        runs = Array.from({ length: lab.get("start").length ? 1 : lab.get("runs") }, (_, i) => follow(form, start(i)));
        lab.settings.run = Math.min(lab.get("run"), runs.length - 1);
        return;
      }
      // The trap is reached first; then its neuron is split, and a small step is made where the halves part.
      base = follow(form, start(lab.get("run")));
      base.advance(20000);
      down = split(form, base.point, Math.min(lab.get("split"), form.students - 1));
      down.least = smallestEigenvalue(down.form, down.point);
      runs = [follow(down.form, down.point.map((entry, i) => entry + 0.01 * down.direction[i]))];
    }

    const chosen = () => (down ? runs[0] : runs[lab.get("run")]);

    function advance(steps, deadline) {
      let moving = false;
      for (let i = 0; i < steps; i += 1) {
        moving = false;
        for (const run of runs) moving = run.advance(1) || moving;
        if (!moving || performance.now() > deadline) break;
      }
      return moving;
    }

    // What is known of an end, computed once; eigenvalues take a while and are computed one by one.
    function classify() {
      const found = new Map();
      let patience = 1;
      runs.forEach((run, i) => {
        let key = run.status;
        if (run.status === "converged") {
          const taught = run.loss < 1e-7;
          run.symmetry ??= symmetry(run.point, run.form.students, run.form.dimension, even());
          key = taught ? "teacher" : `${run.symmetry} at ${run.loss.toFixed(6)}`;
          if (!classes.has(key)) classes.set(key, { run: i, least: null });
          const known = classes.get(key);
          if (known.least === null && patience > 0) {
            known.least = smallestEigenvalue(run.form, runs[known.run].point);
            patience -= 1;
          }
        }
        const entry = found.get(key) ?? { key, count: 0, first: i, loss: run.loss, status: run.status, symmetry: run.symmetry };
        entry.count += 1;
        found.set(key, entry);
      });
      return [...found.values()].sort((a, b) => (a.status === "running") - (b.status === "running") || a.loss - b.loss);
    }

    function showClasses(found) {
      const text = JSON.stringify([found.map(({ key, count }) => [key, count, classes.get(key)?.least]), lab.get("run"), Boolean(down)]);
      if (text === tableText) return;
      tableText = text;
      const words = { running: "still running", diverged: "diverged: take a smaller step", step_limit: "not settled after 20,000 steps" };
      table.tBodies[0].replaceChildren(
        ...found.map((entry) => {
          const row = document.createElement("tr");
          const least = classes.get(entry.key)?.least;
          const named = words[entry.key] ?? (entry.key === "teacher" ? `the teacher (${entry.symmetry})` : entry.symmetry);
          row.dataset.class = entry.key;
          row.append(element("td", named));
          row.append(element("td", entry.status === "converged" ? shown(Math.abs(entry.loss) < 1e-9 ? 0 : entry.loss) : "", "number"));
          row.append(element("td", least == null ? "" : shown(Math.abs(least) < 1e-7 ? 0 : least, 3), "number"));
          row.append(element("td", String(entry.count), "number"));
          const bar = element("span", "", `count ${entry.key === "teacher" ? "teacher" : entry.status}`);
          bar.style.width = `${(100 * entry.count) / runs.length}%`;
          const cell = document.createElement("td");
          cell.append(bar);
          row.append(cell);
          const last = document.createElement("td");
          if (!down) lab.button(last, "show", () => lab.set({ run: entry.first }, { again: false })).setAttribute("aria-label", `show a run of class ${named}`);
          row.append(last);
          return row;
        }),
      );
    }

    function showSplits() {
      const run = chosen();
      const trapped = !down && run.status === "converged" && run.loss > 1e-7;
      const text = JSON.stringify([trapped, Boolean(down), run.form.students, lab.get("activation"), order(run), runs.filter(({ status }) => status === "converged").length]);
      if (text === splitText) return;
      splitText = text;
      splits.replaceChildren();
      if (down) {
        lab.button(splits, "Undo the split", () => lab.set({ split: -1 }));
      } else if (lab.get("activation") === "erf") {
        splits.append(element("span", "Halves of an erf neuron do not add up to it."));
      } else if (!trapped) {
        const others = runs.some((other) => other.status === "converged" && other.loss > 1e-7);
        splits.append(element("span", others ? "Press “show” beside a class of trapped runs." : "Play until runs are trapped, and show one of them."));
      } else {
        order(run).forEach((neuron, place) => {
          const button = lab.button(splits, String(place + 1), () => {
            lab.set({ split: neuron });
            lab.play();
          });
          button.dataset.neuron = neuron;
          button.setAttribute("aria-label", `Split neuron ${place + 1}`);
        });
      }
    }

    // Rows in the order of the teachers that they see most, those of the largest block first.
    function order(run) {
      const [n, d] = [run.form.students, run.form.dimension];
      const { rows } = blocks(run.point, n, d, even());
      const sizes = rows.map((colour) => rows.filter((other) => other === colour).length);
      const best = (i) => Array.from(run.point.subarray(i * d, (i + 1) * d), Math.abs).reduce((at, entry, j, all) => (entry > all[at] ? j : at), 0);
      const settled = run.status === "converged";
      return Array.from({ length: n }, (_, i) => i).sort((a, b) => (settled ? sizes[b] - sizes[a] : 0) || best(a) - best(b) || a - b);
    }

    function drawProducts(run) {
      const [n, d] = [run.form.students, run.form.dimension];
      const rows = order(run);
      products.x = [0, d];
      products.y = [0, n];
      products.xTicks = [];
      const c = products.begin().colours;
      const used = [];
      for (const i of rows) {
        const entries = Array.from(run.point.subarray(i * d, (i + 1) * d), Math.abs);
        const best = entries.map((_, j) => j).filter((j) => !used.includes(j)).sort((a, b) => entries[b] - entries[a])[0];
        if (best !== undefined) used.push(best);
      }
      const columns = [...used, ...Array.from({ length: d }, (_, j) => j).filter((j) => !used.includes(j))];
      products.inside((context) => {
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.font = `${n > 9 ? 9 : 11}px system-ui, 'DejaVu Sans', sans-serif`;
        rows.forEach((i, r) =>
          columns.forEach((j, column) => {
            const value = run.point[i * d + j];
            const [x0, x1, y0, y1] = [products.px(column), products.px(column + 1), products.py(n - r), products.py(n - r - 1)];
            context.globalAlpha = Math.min(Math.abs(value), 1);
            context.fillStyle = value > 0 ? c.blue : c.orange;
            context.fillRect(x0, y0, x1 - x0 - 1, y1 - y0 - 1);
            context.globalAlpha = 1;
            context.fillStyle = Math.abs(value) > 0.6 ? c.paper : c.ink;
            context.fillText((Math.abs(value) < 0.005 ? 0 : value).toFixed(2).replace("-", "−"), (x0 + x1) / 2, (y0 + y1) / 2);
          }),
        );
      });
      products.context.fillStyle = c.soft;
      products.context.textAlign = "right";
      products.context.textBaseline = "middle";
      rows.forEach((_, r) => products.context.fillText(String(r + 1), products.frame.left - 6, products.py(n - r - 0.5)));
    }

    function draw() {
      const run = chosen();
      const longest = Math.max(...runs.map(({ steps }) => steps), 50);
      const before = down ? base : null;
      const highest = Math.max(...runs.map(({ history }) => history.entries[0]), before ? before.loss : 0);
      curves.x = [0, longest];
      curves.y = [1e-12, Math.max(10 ** Math.ceil(Math.log10(highest)), 1e-3)];
      const c = curves.begin().axes().colours;
      curves.inside((context) => {
        context.lineWidth = 1;
        for (const stuck of [false, true]) {
          context.strokeStyle = stuck ? c.orange : c.blue;
          context.globalAlpha = runs.length > 20 ? 0.35 : 0.6;
          context.beginPath();
          for (const { status, loss, history } of runs) {
            if ((status !== "running" && loss > 1e-7) !== stuck) continue;
            const every = Math.max(1, Math.floor(history.steps.length / 120));
            for (let i = 0; i < history.steps.length; i += every) {
              const [x, y] = [curves.px(history.steps[i]), curves.py(Math.max(history.entries[i], 1e-13))];
              if (i === 0) context.moveTo(x, y);
              else context.lineTo(x, y);
            }
          }
          context.stroke();
        }
      });
      if (before) curves.line([0, longest], [before.loss, before.loss], c.orange, { dash: [5, 4] });
      curves.line(run.history.steps, run.history.entries, run.status !== "running" && run.loss > 1e-7 ? c.orange : c.blue, { width: 2.5 });
      if (before) curves.legend([["the trap", c.orange, [5, 4]], ["after the split", c.blue]]);
      else curves.legend([["finds the teacher, or runs", c.blue], ["trapped", c.orange]]);
      const found = classify();
      showClasses(found);
      showSplits();
      drawProducts(run);
      const key = run.loss < 1e-7 ? "teacher" : `${run.symmetry} at ${run.loss.toFixed(6)}`;
      const least = classes.get(key)?.least;
      show({
        loss: shown(Math.max(run.loss, 0)),
        steps: String(run.steps),
        least: run.status === "converged" && least != null ? shown(Math.abs(least) < 1e-7 ? 0 : least) : "once it has converged",
        symmetry: run.status === "converged" ? run.symmetry : "once it has converged",
      });
    }

    function say() {
      const k = lab.get("neurons");
      if (down) {
        const verb = down.least < -1e-9 ? "a saddle" : "still a minimum";
        const place = order(base).indexOf(Math.min(lab.get("split"), form.students - 1)) + 1;
        const end = runs[0].status === "running" ? `now at ${shown(runs[0].loss)}` : runs[0].loss < 1e-7 ? "and the run found the teacher" : `and the run ended at ${shown(runs[0].loss)}, another trap`;
        return { bad: runs[0].status !== "running" && runs[0].loss > 1e-7, words: `Neuron ${place} of the trap (loss ${shown(base.loss)}) is split: with ${form.students + 1} neurons it is ${verb}, smallest eigenvalue ${shown(down.least)}; ${end}.` };
      }
      const ended = runs.filter(({ status }) => status !== "running");
      const taught = ended.filter(({ loss }) => loss < 1e-7).length;
      const lost = ended.filter(({ status }) => status === "diverged").length;
      if (!ended.length) return { words: runs[0].steps ? `${runs.length} running, ${runs[0].steps} steps.` : `${runs.length} student${runs.length > 1 ? "s" : ""} dropped for k = ${k}${runs.length > 1 ? "" : `, loss ${shown(runs[0].loss)}`}. Press Play.` };
      const trapped = ended.length - taught - lost;
      const parts = [`${taught} found the teacher`, ...(trapped ? [`${trapped} trapped`] : []), ...(lost ? [`${lost} diverged`] : []), ...(ended.length < runs.length ? [`${runs.length - ended.length} still running`] : [])];
      return { bad: trapped + lost > 0, words: `Of ${runs.length}: ${parts.join(", ")}.` };
    }

    const students = () => chosen().form.students;
    const teacher = () => `np.eye(${lab.get("neurons")}${dimension() === lab.get("neurons") ? "" : `, ${dimension()}`})`;
    const given = () => code.matrix(down ? Array.from(down.point, (entry, i) => entry + 0.01 * down.direction[i]) : lab.get("start"), form.dimension);

    return {
      begin,
      advance,
      draw,
      say,
      // Eigenvalues that are still to be computed.
      idle: () => runs.some((run) => run.status === "converged") && [...classes.values()].some(({ least }) => least === null),
      result: () => ({ losses: runs.map(({ loss }) => loss), steps: runs.map((run) => run.steps) }),
      python: () =>
        `${code.header}problem = tl.problems.committee(${teacher()}, students=${students()}, activation="${lab.get("activation")}")\n` +
        "objective = tl.population(problem)\n" +
        (down
          ? `# A trap of ${form.students} neurons, one of them split in two halves that part a little.\nstarts = np.array([${given()}])\n`
          : lab.get("start").length
            ? `starts = np.array([${given()}])\n`
            : `starts = tl.starts.xavier(problem, runs=${runs.length}, seed=${lab.get("seed")})\n`) +
        `stop = ${code.stop(options(students()))}\n` +
        `runs = tl.descend(objective, starts, tl.GradientDescent(${code.float(stepFor(students()))}), stop, tl.record("loss"))\n` +
        "for entry in tl.atlas(objective, runs):\n    print(entry.symmetry, entry.count, entry.loss, entry.smallest_eigenvalue)\n",
      toml: () =>
        `runs = ${runs.length}\nseed = ${lab.get("seed")}\nsuccess = 1e-7\nkeep_points = true\n\n[problem]\nfamily = "committee"\nstudents = ${students()}\n` +
        `activation = "${lab.get("activation")}"\nteacher = { generator = "orthonormal", neurons = ${lab.get("neurons")}, dimension = ${dimension()} }\n\n` +
        code.procedure({
          ...options(students()),
          starts: down || lab.get("start").length ? `law = "given"\npoints = [${given()}]` : 'law = "xavier"',
          step: stepFor(students()),
          quantities: ["loss"],
        }),
    };
  },
};
