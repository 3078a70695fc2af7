// Tabs, the toolbar, the address, and the loop that plays.
//
// An exploration has a `title`, a `lead`, `defaults` (its settings: numbers, words or lists of numbers), a usual `speed`
// and `mount(panel, lab)`, which returns: `begin()` (after a change of settings), `advance(steps, deadline)` (whether
// something still moves), `idle()` if there is work besides (does a little in every frame, and says whether there was some),
// `draw()`, `say()` (a sentence on what is seen), `python()` and `toml()`. A default that is an empty list holds any number
// of numbers.
{
  const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100];
  // Milliseconds of a frame for computing; the rest of sixteen is for drawing.
  const BUDGET = 9;
  const names = Object.keys(tutelage.explorations);
  const byId = (id) => document.getElementById(id);
  const mounted = {};
  let current = null;
  let playing = false;
  let due = 0;
  let ours = location.hash; // the address that was read or written last
  const clock = { frames: 0, since: 0, rate: 0 };

  const written = (value) => (Array.isArray(value) ? value.join(",") : String(value));

  function read(text, like) {
    if (Array.isArray(like)) {
      const numbers = text.split(",").map(Number);
      return text !== "" && (like.length === 0 || numbers.length === like.length) && numbers.every(Number.isFinite) ? numbers : like;
    }
    if (typeof like === "number") return text !== "" && Number.isFinite(Number(text)) ? Number(text) : like;
    return text;
  }

  class Lab {
    constructor(name, settings) {
      Object.assign(this, { name, exploration: tutelage.explorations[name] });
      this.settings = settings;
      this.controls = [];
    }

    get(key) {
      return this.settings[key];
    }

    // Change settings, and begin again unless told otherwise.
    set(changes, { again = true } = {}) {
      Object.assign(this.settings, changes);
      for (const update of this.controls) update();
      if (again) this.parts.begin();
      refresh();
    }

    play(on = true) {
      setPlaying(on);
    }

    // A slider for a setting; `steps` are its values, or it goes from `min` to `max`, by factors if `log`.
    slider(parent, key, label, { min, max, step = 0.01, log = false, format = (value) => String(value), set = null }) {
      const box = control(parent, label);
      const input = document.createElement("input");
      const output = document.createElement("output");
      const to = log ? (value) => Math.log10(value) : (value) => value;
      const from = log ? (value) => Number((10 ** value).toPrecision(3)) : Number;
      Object.assign(input, { type: "range", min: to(min), max: to(max), step: log ? 0.01 : step, id: `${this.name}-${key}` });
      box.htmlFor = input.id; // else the output, which comes first, would have the label
      box.caption.append(output);
      box.append(input);
      const update = () => {
        input.value = to(this.get(key));
        output.textContent = format(this.get(key));
        input.setAttribute("aria-valuetext", output.textContent);
      };
      input.addEventListener("input", () => (set ?? ((value) => this.set({ [key]: value })))(from(Number(input.value))));
      this.controls.push(update);
      update();
      return input;
    }

    choice(parent, key, label, options) {
      const box = control(parent, label);
      const select = document.createElement("select");
      select.id = `${this.name}-${key}`;
      for (const [value, words] of Object.entries(options)) select.add(new Option(words, value));
      box.append(select);
      const update = () => (select.value = this.get(key));
      select.addEventListener("input", () => this.set({ [key]: select.value }));
      this.controls.push(update);
      update();
    }

    activations(parent) {
      const words = Object.entries(tutelage.ACTIVATIONS).map(([key, shape]) => [key, shape.words]);
      this.choice(parent, "activation", "Activation", Object.fromEntries(words));
    }

    // Two columns, of pictures and of numbers.
    bench(parent) {
      const bench = element("div", "", "bench");
      const columns = [document.createElement("div"), document.createElement("div")];
      bench.append(...columns);
      parent.append(bench);
      return columns;
    }

    // A canvas with a caption, as a figure.
    figure(parent, label, caption) {
      const figure = document.createElement("figure");
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", label);
      figure.append(canvas);
      if (caption) figure.append(element("figcaption", caption));
      parent.append(figure);
      return canvas;
    }

    button(parent, words, action) {
      const button = element("button", words);
      button.type = "button";
      button.addEventListener("click", action);
      parent.append(button);
      return button;
    }

    // Named numbers, shown as text; returns a function that shows others.
    facts(parent, names) {
      const list = element("dl", "", "facts");
      const places = {};
      for (const [key, words] of Object.entries(names)) {
        const entry = document.createElement("div");
        places[key] = element("dd", "");
        places[key].dataset.fact = key;
        entry.append(element("dt", words), places[key]);
        list.append(entry);
      }
      parent.append(list);
      return (values) => {
        for (const [key, value] of Object.entries(values)) {
          if (places[key].textContent !== value) places[key].textContent = value;
        }
      };
    }
  }

  function control(parent, label) {
    const box = element("label", "", "control");
    box.caption = element("span", label);
    box.append(box.caption);
    parent.append(box);
    return box;
  }

  function element(tag, text, className = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Four digits, and a true minus sign.
  function shown(value, digits = 4) {
    if (!Number.isFinite(value)) return "∞";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
    return text.replaceAll("-", "−");
  }

  // The address of what is shown: the tab, and what differs from its defaults.
  function address(lab) {
    const query = Object.entries(lab.settings)
      .filter(([key, value]) => written(value) !== written(lab.exploration.defaults[key]))
      .map(([key, value]) => `${key}=${written(value)}`);
    return `#${lab.name}${query.length ? `?${query.join("&")}` : ""}`;
  }

  function parsed(text) {
    const [, name, query = ""] = /^#?([a-z]*)\??(.*)$/.exec(decodeURIComponent(text)) ?? [];
    const known = names.includes(name) ? name : names[0];
    const { defaults } = tutelage.explorations[known];
    const settings = structuredClone(defaults);
    for (const part of query.split("&")) {
      const [key, text = ""] = part.split("=");
      if (key in defaults) settings[key] = read(text, defaults[key]);
    }
    return [known, settings];
  }

  // The refuted statements whose witnesses this exploration shows, each by its address.
  function witnessesOf(lab) {
    return tutelage.witnesses
      .map(({ claim, address: text, finding }) => ({ claim, finding, at: parsed(text) }))
      .filter(({ at }) => at[0] === lab.name)
      .map(({ claim, finding, at: [, settings] }) => ({ claim, finding, settings, address: address({ ...lab, settings }) }));
  }

  // A choice among them, and what is wrong with the statement whose witness is shown.
  function showWitnesses(lab, panel) {
    const row = element("div", "", "witness");
    const box = control(row, "Refuted statements");
    const select = document.createElement("select");
    select.id = `${lab.name}-witness`;
    select.add(new Option("open at a witness …", ""));
    for (const { claim } of lab.witnesses) select.add(new Option(claim.replace("_", " ").replace(".", ": "), claim));
    box.append(select);
    select.addEventListener("input", () => {
      const chosen = lab.witnesses.find(({ claim }) => claim === select.value);
      if (chosen) lab.set(structuredClone(chosen.settings));
    });
    lab.finding = element("p", "", "finding");
    row.append(lab.finding);
    panel.querySelector(".lead").after(row);
    lab.showFinding = (now) => {
      const seen = lab.witnesses.find(({ claim, address: there }) => there === now && (!select.value || claim === select.value))
        ?? lab.witnesses.find(({ address: there }) => there === now);
      select.value = seen?.claim ?? "";
      lab.finding.textContent = seen ? `Witness: ${seen.finding}` : "";
    };
  }

  function mount(name) {
    if (mounted[name]) return mounted[name];
    const lab = new Lab(name, structuredClone(tutelage.explorations[name].defaults));
    const panel = byId(`panel-${name}`);
    panel.append(element("p", lab.exploration.lead, "lead"));
    const body = document.createElement("div");
    panel.append(body);
    lab.parts = lab.exploration.mount(body, lab);
    lab.words = element("p", "", "say");
    body.prepend(lab.words);
    lab.witnesses = witnessesOf(lab);
    if (lab.witnesses.length) showWitnesses(lab, panel);
    const details = element("details", "", "code");
    details.append(element("summary", "Code that reproduces this picture"));
    const pair = element("div", "", "pair");
    [lab.python, lab.toml] = ["Python", "TOML, for tutelage train"].map((title) => {
      const part = document.createElement("div");
      const text = document.createElement("pre");
      text.tabIndex = 0;
      part.append(element("h2", title), text);
      pair.append(part);
      return text;
    });
    details.append(pair);
    details.addEventListener("toggle", refresh);
    panel.append(details);
    lab.details = details;
    mounted[name] = lab;
    lab.parts.begin();
    return lab;
  }

  function open(name, settings = null) {
    setPlaying(false);
    for (const other of names) {
      const tab = byId(`tab-${other}`);
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      byId(`panel-${other}`).hidden = other !== name;
    }
    const known = mounted[name];
    current = mount(name);
    if (!known) byId("speed").value = current.speed = SPEEDS.indexOf(current.exploration.speed);
    byId("speed").value = current.speed;
    showSpeed();
    if (settings) current.set(settings);
    else refresh();
  }

  function showSpeed() {
    current.speed = Number(byId("speed").value);
    const speed = SPEEDS[current.speed];
    document.querySelector(".speed output").textContent = speed < 1 ? `1 step in ${1 / speed}` : `${speed} per frame`;
    byId("speed").setAttribute("aria-valuetext", `${speed} steps per frame`);
  }

  function setPlaying(on) {
    playing = on;
    byId("play").textContent = on ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", String(on));
    if (on) Object.assign(clock, { frames: 0, since: performance.now() });
  }

  // Draw, and bring words, code and address up to date.
  function refresh() {
    if (!current) return;
    current.parts.draw();
    const { words, bad } = current.parts.say();
    if (current.words.textContent !== words) current.words.textContent = words;
    current.words.classList.toggle("bad", Boolean(bad));
    if (current.details.open && !playing) {
      current.python.textContent = current.parts.python();
      current.toml.textContent = current.parts.toml();
    }
    const wanted = address(current);
    current.showFinding?.(wanted);
    // An address that somebody else has just written is not ours to replace: it is opened in a moment.
    if (!playing && location.hash === ours && ours !== wanted) {
      history.replaceState(null, "", wanted);
      ours = location.hash;
    }
  }

  // Do small pieces of work for a while, as long as there are some; whether there were.
  function inSlices(work) {
    const deadline = performance.now() + BUDGET;
    if (!work()) return false;
    while (performance.now() < deadline) if (!work()) break;
    return true;
  }

  function frame() {
    const busy = current?.parts.idle?.() ?? false;
    const active = playing || busy;
    if (playing && current) {
      due += SPEEDS[current.speed];
      const steps = Math.floor(due);
      due -= steps;
      const begun = performance.now();
      const moving = steps === 0 || current.parts.advance(steps, begun + BUDGET);
      clock.frames += 1;
      clock.rate = (1000 * clock.frames) / (performance.now() - clock.since);
      if (!moving) {
        setPlaying(false);
        byId("status").textContent = current.parts.say().words;
      }
    }
    if (active) refresh();
    requestAnimationFrame(frame);
  }

  for (const name of names) {
    const tab = element("button", tutelage.explorations[name].title);
    Object.assign(tab, { type: "button", id: `tab-${name}` });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", `panel-${name}`);
    tab.addEventListener("click", () => open(name));
    tab.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = names[(names.indexOf(name) + move + names.length) % names.length];
      open(next);
      byId(`tab-${next}`).focus();
    });
    document.querySelector(".tabs").append(tab);
    const panel = document.createElement("section");
    panel.id = `panel-${name}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.hidden = true;
    document.querySelector("main").append(panel);
  }

  byId("play").addEventListener("click", () => {
    setPlaying(!playing);
    refresh();
  });
  byId("once").addEventListener("click", () => {
    setPlaying(false);
    current.parts.advance(1, Infinity);
    refresh();
  });
  byId("reset").addEventListener("click", () => {
    setPlaying(false);
    current.parts.begin();
    refresh();
  });
  byId("defaults").addEventListener("click", () => {
    setPlaying(false);
    current.set(structuredClone(current.exploration.defaults));
  });
  byId("speed").addEventListener("input", showSpeed);
  byId("copy-python").addEventListener("click", (event) => tutelageTheme.copyFrom(event.target, current.parts.python()));
  byId("copy-toml").addEventListener("click", (event) => tutelageTheme.copyFrom(event.target, current.parts.toml()));
  byId("copy-link").addEventListener("click", (event) => {
    tutelageTheme.copyFrom(event.target, location.href.split("#")[0] + address(current));
  });
  addEventListener("keydown", (event) => {
    // A button that has the focus takes the space bar for itself.
    if (event.key !== " " || ["BUTTON", "INPUT", "SELECT", "SUMMARY"].includes(event.target.tagName)) return;
    event.preventDefault();
    byId("play").click();
  });
  addEventListener("hashchange", () => {
    ours = location.hash;
    if (location.hash !== address(current)) open(...parsed(location.hash));
  });
  addEventListener("resize", refresh);
  addEventListener("themechange", refresh);
  Object.assign(tutelage, { element, shown, clock, inSlices });
  open(...parsed(location.hash));
  requestAnimationFrame(frame);
}
