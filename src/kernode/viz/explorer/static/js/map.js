// The map: points by WebGL, marks above them, a legend that colours and selects classes; pointer, wheel and keys.

import { Camera, Grid } from "./camera.js";
import { colourOf, count, el, isDark, rgb, shapeOf, short, swatch } from "./dom.js";
import { Scatter, stepsBack } from "./scatter.js";

const STEP = 60; // pixels that an arrow key moves the map
const TOUCH = { mouse: 9, pen: 12, touch: 22 }; // pixels around a point that still mean it

function gestures(canvas, camera, on) {
  const down = new Map(); // pointers that touch, by id
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const radius = (event) => TOUCH[event.pointerType] ?? 12;

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, at(event));
    moved = down.size > 1 ? Infinity : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!down.has(event.pointerId)) {
      on.hover(x, y, radius(event));
      return;
    }
    const [fromX, fromY] = down.get(event.pointerId);
    moved += Math.abs(x - fromX) + Math.abs(y - fromY);
    if (down.size === 2) {
      const [other] = [...down.entries()].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const before = Math.hypot(fromX - other[0], fromY - other[1]);
      camera.zoom(Math.hypot(x - other[0], y - other[1]) / Math.max(1, before), (x + other[0]) / 2, (y + other[1]) / 2);
    } else {
      camera.pan(x - fromX, y - fromY);
    }
    down.set(event.pointerId, [x, y]);
    canvas.classList.toggle("dragging", moved > 4);
    on.change();
  });
  const up = (event) => {
    const was = down.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (was && moved <= 6 && event.type === "pointerup") on.choose(...at(event), radius(event), event.shiftKey);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => on.leave());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      camera.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event));
      on.change();
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => camera.pan(STEP, 0),
      ArrowRight: () => camera.pan(-STEP, 0),
      ArrowUp: () => camera.pan(0, STEP),
      ArrowDown: () => camera.pan(0, -STEP),
      "+": () => camera.zoom(1.4),
      "=": () => camera.zoom(1.4),
      "-": () => camera.zoom(1 / 1.4),
      0: () => camera.showAll(),
      Enter: () => on.choose(camera.width / 2, camera.height / 2, Infinity, event.shiftKey),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
    on.change();
  });
}

// Rings and names over the points: the chosen node, related ones, the one under the pointer.

function drawMarks(canvas, camera, { chosen, others, hovered, aim }, place, nameOf) {
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const ink = style.color;
  const paper = getComputedStyle(document.body).backgroundColor;
  pen.setTransform(camera.ratio, 0, 0, camera.ratio, 0, 0);
  pen.clearRect(0, 0, camera.width, camera.height);
  pen.font = "600 12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const taken = []; // labels that are there already: one must not cover another

  const ring = (index, radius, width) => {
    const [x, y] = camera.toScreen(...place(index));
    for (const [colour, more] of [[paper, 2], [ink, 0]]) {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.lineWidth = width + more;
      pen.strokeStyle = colour;
      pen.stroke();
    }
    return [x, y];
  };
  const label = (index, [x, y], gap, must) => {
    const name = nameOf(index);
    if (!name) return;
    const text = short(name, 28);
    const width = pen.measureText(text).width;
    const left = x + gap + width + 8 > camera.width ? x - gap - width : x + gap;
    const box = [left - 3, y - 9, left + width + 3, y + 9];
    if (!must && taken.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1])) return;
    taken.push(box);
    pen.fillStyle = paper;
    pen.globalAlpha = 0.86;
    pen.fillRect(box[0], box[1], box[2] - box[0], 18);
    pen.globalAlpha = 1;
    pen.fillStyle = ink;
    pen.fillText(text, left, y + 0.5);
  };

  const size = camera.pointSize(1e4);
  // All rings, then all names: no ring crosses a name out.
  const small = others.map((index) => [index, ring(index, size / 2 + 3, 1.5)]);
  const large = chosen.map((index) => [index, ring(index, size + 6, 2.5)]);
  for (const [index, at] of large) label(index, at, size + 11, true);
  for (const [index, at] of small) label(index, at, size + 6, false);
  if (hovered >= 0 && !chosen.includes(hovered)) label(hovered, ring(hovered, size / 2 + 4, 2), size + 8, true);
  if (aim) {
    const [x, y] = [camera.width / 2, camera.height / 2];
    pen.strokeStyle = ink;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [0, 1]]) {
      pen.moveTo(x - 9 * dx, y - 9 * dy);
      pen.lineTo(x + 9 * dx, y + 9 * dy);
    }
    pen.stroke();
  }
}

export class NodeMap {
  // legend: what the colours are. choose(index, whether to compare): what happens when a point is clicked.
  constructor(classes, legend, choose) {
    const find = (id) => document.getElementById(id);
    [this.canvas, this.above, this.legend, this.said] = ["points", "marks", "legend", "map-said"].map(find);
    Object.assign(this, { classes, title: legend, choose, by: "predicted", only: -1, names: null });
    this.marked = { chosen: [], others: [], hovered: -1, aim: false };
    this.camera = new Camera();
    this.scatter = new Scatter(this.canvas);
    this.scatter.again = () => this.draw();
    if (!this.scatter.gl) this.said.textContent = "This browser has no WebGL: search and answers work, the picture does not.";
    gestures(this.canvas, this.camera, {
      change: () => this.draw(),
      hover: (x, y, radius) => this.hover(this.pick(x, y, radius)),
      leave: () => this.hover(-1),
      choose: (x, y, radius, compare) => {
        const index = this.pick(x, y, radius);
        if (index >= 0) this.choose(index, compare);
      },
    });
    for (const [id, act] of Object.entries({ closer: () => this.camera.zoom(1.5), further: () => this.camera.zoom(1 / 1.5), all: () => this.camera.showAll() })) {
      find(id).addEventListener("click", () => {
        act();
        this.draw();
      });
    }
    const aim = () => {
      this.marked.aim = this.canvas.matches(":focus-visible");
      this.draw();
    };
    this.canvas.addEventListener("focus", aim);
    this.canvas.addEventListener("blur", aim);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.drawLegend();
  }

  show(picture) {
    this.picture = picture;
    this.grid = new Grid(picture.places);
    this.scatter.points(picture.places);
    this.resize();
    this.camera.frame(picture.places);
    this.recolour();
  }

  place(index) {
    return [this.picture.places[2 * index] / 65535, this.picture.places[2 * index + 1] / 65535];
  }

  pick(px, py, radius) {
    if (!this.grid) return -1;
    const [x, y] = this.camera.toPicture(px, py);
    return this.grid.nearest(x, y, Math.min(2, radius / this.camera.scale));
  }

  hover(index) {
    if (index === this.marked.hovered) return;
    this.marked.hovered = index;
    this.canvas.classList.toggle("near", index >= 0);
    this.draw();
  }

  // The chosen nodes, and others that are spoken of; both by index.
  mark(chosen, others = []) {
    Object.assign(this.marked, { chosen, others });
    if (this.picture && chosen.length) this.camera.reveal(...this.place(chosen[0]));
    this.draw();
  }

  numberOf(index) {
    return this.by === "predicted" ? this.picture.predicted[index] : this.picture.known[index] - 1;
  }

  recolour() {
    this.drawLegend();
    if (!this.picture) return;
    const dark = isDark();
    const looks = new Uint8Array(4 * this.picture.n);
    const colours = new Map();
    for (let i = 0; i < this.picture.n; i += 1) {
      const number = this.numberOf(i);
      if (!colours.has(number)) colours.set(number, rgb(colourOf(number, dark)));
      const shape = shapeOf(number);
      const back = (this.only >= 0 && number !== this.only) || number < 0;
      looks.set(colours.get(number), 4 * i);
      looks[4 * i + 3] = back ? stepsBack(shape) : shape;
    }
    this.scatter.looks(looks);
    this.draw();
  }

  drawLegend() {
    const by = el("select", { id: "colour-by", onchange: (event) => { this.by = event.target.value; this.only = -1; this.recolour(); document.getElementById("colour-by").focus(); } },
      el("option", { value: "predicted", selected: this.by === "predicted" }, "predicted"),
      el("option", { value: "known", selected: this.by === "known" }, "known"));
    const rows = this.classes.map((one, number) =>
      el("li", {}, el("button", {
        type: "button", "aria-pressed": String(this.only === number),
        onclick: () => {
          this.only = this.only === number ? -1 : number;
          this.recolour();
          this.legend.querySelectorAll("li button")[number].focus();
        },
      }, swatch(number), el("span", {}, one.name), el("small", {}, count(one[this.by])))));
    const scrolled = this.legend.scrollTop;
    this.legend.replaceChildren(el("div", { class: "head" }, el("label", { for: "colour-by" }, this.title), by), el("ul", {}, rows));
    this.legend.scrollTop = scrolled;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.camera.resize(width, height);
    for (const canvas of [this.canvas, this.above]) {
      canvas.width = Math.round(width * this.camera.ratio);
      canvas.height = Math.round(height * this.camera.ratio);
    }
    this.draw();
  }

  // At most once a frame, however often it is asked for.
  draw() {
    if (this.waiting || !this.picture) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.scatter.draw(this.camera, isDark() ? [21, 24, 27] : [255, 255, 255]);
      drawMarks(this.above, this.camera, this.marked, (index) => this.place(index), (index) => this.names?.[index]);
    });
  }
}
