// The map: points by WebGL, marks above them, a legend that colours and picks out classes.

import { Camera } from "./camera.js";
import { colourOf, isDark, rgb, shapeOf, swatch } from "./colours.js";
import { el } from "./dom.js";
import { gestures } from "./gestures.js";
import { Grid } from "./grid.js";
import { drawMarks } from "./marks.js";
import { Scatter, stepsBack } from "./scatter.js";
import { count } from "./words.js";

export class NodeMap {
  // choose(index, whether to compare): what happens when a point is clicked.
  constructor(classes, choose) {
    const find = (id) => document.getElementById(id);
    [this.canvas, this.above, this.legend, this.said] = ["points", "marks", "legend", "map-said"].map(find);
    Object.assign(this, { classes, choose, by: "predicted", only: -1, names: null });
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
    this.legend.replaceChildren(el("div", { class: "head" }, el("label", { for: "colour-by" }, "Class"), by), el("ul", {}, rows));
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
