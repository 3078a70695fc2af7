// Pictures on canvases: axes, lines, level lines, cells; and points to drag, which are buttons above the canvas.
{
  const COLOURS = [
    "ink", "soft", "line", "paper", "wash", "accent", "blue", "orange", "green", "purple", "blue-wash", "orange-wash",
  ];
  let known = null;
  addEventListener("themechange", () => (known = null));

  // The colours of the page as it is shown now.
  function colours() {
    if (known) return known;
    const probe = document.createElement("i");
    document.body.append(probe);
    known = {};
    for (const name of COLOURS) {
      probe.style.color = `var(--${name})`;
      known[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return known;
  }

  // About `count` round numbers between two.
  function ticks(low, high, count = 5) {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(i * step);
    return found;
  }

  const minus = (text) => text.replace("-", "−");
  const tickText = (value) => minus(String(Number(value.toPrecision(6))));

  // A picture with axes. `ratio` is height over width; `x` and `y` are ranges, which may be changed before `begin`.
  class Plot {
    constructor(canvas, { x, y, xLabel = "", yLabel = "", logX = false, logY = false, ratio = 0.6, xTicks = null }) {
      Object.assign(this, { canvas, x, y, xLabel, yLabel, logX, logY, ratio, xTicks });
      this.context = canvas.getContext("2d");
    }

    begin() {
      const width = this.canvas.clientWidth || 300;
      const height = Math.round(width * this.ratio);
      const scale = globalThis.devicePixelRatio || 1;
      if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.height = `${height}px`;
      }
      const c = this.context;
      c.setTransform(scale, 0, 0, scale, 0, 0);
      c.clearRect(0, 0, width, height);
      c.font = "12px system-ui, 'DejaVu Sans', sans-serif";
      const left = this.yLabel ? 66 : 34;
      this.frame = { left, top: 8, right: width - 8, bottom: height - (this.xLabel ? 36 : 22) };
      this.colours = colours();
      return this;
    }

    px(value) {
      const { left, right } = this.frame;
      const at = this.logX ? Math.log(value / this.x[0]) / Math.log(this.x[1] / this.x[0]) : (value - this.x[0]) / (this.x[1] - this.x[0]);
      return left + (right - left) * at;
    }

    py(value) {
      const { top, bottom } = this.frame;
      const at = this.logY ? Math.log(value / this.y[0]) / Math.log(this.y[1] / this.y[0]) : (value - this.y[0]) / (this.y[1] - this.y[0]);
      return bottom - (bottom - top) * at;
    }

    // The inverse, for dragging.
    at(px, py) {
      const { left, right, top, bottom } = this.frame;
      return [
        this.x[0] + ((px - left) / (right - left)) * (this.x[1] - this.x[0]),
        this.y[0] + ((bottom - py) / (bottom - top)) * (this.y[1] - this.y[0]),
      ];
    }

    axes() {
      const c = this.context;
      const { left, top, right, bottom } = this.frame;
      c.strokeStyle = this.colours.line;
      c.fillStyle = this.colours.soft;
      c.lineWidth = 1;
      c.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
      c.textAlign = "center";
      c.textBaseline = "top";
      for (const [value, text] of this._marks(this.x, this.logX, this.xTicks)) {
        const at = this.px(value);
        c.fillText(text, Math.min(Math.max(at, left + 8), right - 12), bottom + 4);
        this._grid(at, top, at, bottom);
      }
      c.textAlign = "right";
      c.textBaseline = "middle";
      for (const [value, text] of this._marks(this.y, this.logY)) {
        const at = this.py(value);
        c.fillText(text, left - 5, at);
        this._grid(left, at, right, at);
      }
      c.textAlign = "center";
      c.textBaseline = "bottom";
      if (this.xLabel) c.fillText(this.xLabel, (left + right) / 2, this.frame.bottom + 34);
      if (this.yLabel) {
        c.save();
        c.translate(13, (top + bottom) / 2);
        c.rotate(-Math.PI / 2);
        c.fillText(this.yLabel, 0, 4);
        c.restore();
      }
      return this;
    }

    _grid(...ends) {
      const c = this.context;
      c.save();
      c.globalAlpha = 0.5;
      c.beginPath();
      c.moveTo(ends[0], ends[1]);
      c.lineTo(ends[2], ends[3]);
      c.stroke();
      c.restore();
    }

    _marks([low, high], logarithmic, given = null) {
      if (given) return given;
      if (!logarithmic) return ticks(low, high).map((value) => [value, tickText(value)]);
      const powers = [];
      const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
      const every = Math.max(1, Math.ceil((last - first + 1) / 6));
      for (let power = first; power <= last; power += every) powers.push([10 ** power, power >= 0 && power < 5 ? String(10 ** power) : minus(`1e${power}`)]);
      return powers;
    }

    // Draws inside the frame only.
    inside(draw) {
      const { left, top, right, bottom } = this.frame;
      this.context.save();
      this.context.beginPath();
      this.context.rect(left, top, right - left, bottom - top);
      this.context.clip();
      draw(this.context);
      this.context.restore();
      return this;
    }

    line(xs, ys, colour, { width = 1.5, alpha = 1, dash = [] } = {}) {
      return this.inside((c) => {
        c.globalAlpha = alpha;
        c.strokeStyle = colour;
        c.lineWidth = width;
        c.lineJoin = "round";
        c.setLineDash(dash);
        c.beginPath();
        for (let i = 0; i < xs.length; i += 1) {
          const y = this.logY ? Math.max(ys[i], this.y[0]) : ys[i];
          c.lineTo(this.px(xs[i]), Math.min(Math.max(this.py(y), -1e4), 1e4));
        }
        c.stroke();
      });
    }

    dot(x, y, colour, { size = 5, shape = "circle", fill = true } = {}) {
      return this.inside((c) => {
        const [px, py] = [this.px(x), this.py(y)];
        c.beginPath();
        if (shape === "circle") c.arc(px, py, size, 0, 2 * Math.PI);
        else if (shape === "square") c.rect(px - size, py - size, 2 * size, 2 * size);
        else {
          c.moveTo(px - size, py - size);
          c.lineTo(px + size, py + size);
          c.moveTo(px - size, py + size);
          c.lineTo(px + size, py - size);
        }
        [c.fillStyle, c.strokeStyle, c.lineWidth] = [colour, fill ? this.colours.paper : colour, shape === "cross" ? 3 : 1.5];
        if (shape === "cross") c.strokeStyle = colour;
        else if (fill) c.fill();
        c.stroke();
      });
    }

    // Level lines of values on a grid, `[row of y][column of x]`, by marching squares.
    contours(values, levels, colour) {
      const rows = values.length;
      const columns = values[0].length;
      const x = (i) => this.x[0] + ((this.x[1] - this.x[0]) * i) / (columns - 1);
      const y = (j) => this.y[0] + ((this.y[1] - this.y[0]) * j) / (rows - 1);
      return this.inside((c) => {
        c.strokeStyle = colour;
        c.lineWidth = 1;
        levels.forEach((level, number) => {
          c.globalAlpha = 0.25 + (0.5 * (levels.length - number)) / levels.length;
          c.beginPath();
          for (let j = 0; j < rows - 1; j += 1) {
            for (let i = 0; i < columns - 1; i += 1) {
              const corners = [values[j][i], values[j][i + 1], values[j + 1][i + 1], values[j + 1][i]];
              const places = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
              const crossings = [];
              for (let e = 0; e < 4; e += 1) {
                const [a, b] = [corners[e], corners[(e + 1) % 4]];
                if (a < level === b < level) continue;
                const part = (level - a) / (b - a);
                const [from, to] = [places[e], places[(e + 1) % 4]];
                crossings.push([from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])]);
              }
              for (let e = 0; e + 1 < crossings.length; e += 2) {
                c.moveTo(this.px(x(crossings[e][0])), this.py(y(crossings[e][1])));
                c.lineTo(this.px(x(crossings[e + 1][0])), this.py(y(crossings[e + 1][1])));
              }
            }
          }
          c.stroke();
        });
      });
    }

    // Text within the frame, in pixels from its left top corner.
    note(text, right = 6, down = 16, colour = this.colours.soft) {
      this.context.fillStyle = colour;
      this.context.textAlign = "left";
      this.context.textBaseline = "alphabetic";
      this.context.fillText(text, this.frame.left + right, this.frame.top + down);
      return this;
    }

    // Lines and words that say what the lines are, in the upper or lower right corner.
    legend(entries, { low = false } = {}) {
      const c = this.context;
      c.textBaseline = "middle";
      c.textAlign = "left";
      const width = Math.max(...entries.map(([words]) => c.measureText(words).width));
      entries.forEach(([words, colour, dash = []], i) => {
        const top = low ? this.frame.bottom - 17 * entries.length - 6 : this.frame.top;
        const [x, y] = [this.frame.right - width - 40, top + 14 + 17 * i];
        c.save();
        c.globalAlpha = 0.8;
        c.fillStyle = this.colours.paper;
        c.fillRect(x - 4, y - 8, width + 42, 17);
        c.restore();
        [c.strokeStyle, c.lineWidth] = [colour, 2];
        c.setLineDash(dash);
        c.beginPath();
        c.moveTo(x, y);
        c.lineTo(x + 22, y);
        c.stroke();
        c.setLineDash([]);
        c.fillStyle = this.colours.ink;
        c.fillText(words, x + 28, y);
      });
      return this;
    }
  }

  // A point to drag above a plot, by pointer or arrow keys: a button, so that keyboards and screen readers reach it.
  class Handle {
    constructor(plot, { name, className, get, set, places = 2, step = 0.05 }) {
      Object.assign(this, { plot, name, get, set, places, step });
      this.element = document.createElement("button");
      this.element.type = "button";
      this.element.className = `handle ${className}`;
      this.element.dataset.handle = name;
      this.element.setAttribute("aria-roledescription", "point to drag");
      plot.canvas.parentElement.append(this.element);
      this.element.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.element.focus();
        this.element.setPointerCapture(event.pointerId);
      });
      this.element.addEventListener("pointermove", (event) => {
        if (!this.element.hasPointerCapture(event.pointerId)) return;
        const box = plot.canvas.getBoundingClientRect();
        this._move(...plot.at(event.clientX - box.left, event.clientY - box.top));
      });
      this.element.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
        if (!(event.key in moves)) return;
        event.preventDefault();
        const size = this.step * (event.shiftKey ? 5 : 1);
        const [x, y] = this.get();
        this._move(x + size * moves[event.key][0], y + size * moves[event.key][1]);
      });
    }

    _move(x, y) {
      const within = (value, [low, high]) => Math.min(Math.max(value, low), high);
      const round = (value) => Number(value.toFixed(this.places)) + 0;
      this.set([round(within(x, this.plot.x)), round(within(y, this.plot.y))]);
    }

    place() {
      const [x, y] = this.get();
      const { canvas } = this.plot;
      this.element.style.left = `${canvas.offsetLeft + this.plot.px(x)}px`;
      this.element.style.top = `${canvas.offsetTop + this.plot.py(y)}px`;
      this.element.setAttribute("aria-label", `${this.name} at ${x}, ${y}; arrow keys move it, with Shift further`);
      this.element.title = `${this.name}: drag, or use the arrow keys`;
    }
  }

  // Values of a function on a grid over the ranges of a plot.
  function onGrid(plot, size, value) {
    const point = new Float64Array(2);
    return Array.from({ length: size }, (_, j) => {
      point[1] = plot.y[0] + ((plot.y[1] - plot.y[0]) * j) / (size - 1);
      return Array.from({ length: size }, (_, i) => {
        point[0] = plot.x[0] + ((plot.x[1] - plot.x[0]) * i) / (size - 1);
        return value(point);
      });
    });
  }

  // Levels that are dense near the least value.
  function levelsOf(values, count = 14) {
    const all = values.flat();
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return Array.from({ length: count }, (_, i) => least + (most - least) * ((i + 0.5) / count) ** 2.5);
  }

  Object.assign(tutelage, { Plot, Handle, onGrid, levelsOf, colours });
}
