// Which part of the picture is seen: the place in the middle of the canvas, and how many pixels its side has.

export class Camera {
  constructor() {
    Object.assign(this, { x: 0.5, y: 0.5, scale: 500, width: 1, height: 1, ratio: 1, fitted: 500 });
    this.bounds = [0, 0, 1, 1];
  }

  resize(width, height) {
    const first = this.width === 1;
    Object.assign(this, { width, height, ratio: Math.min(2, devicePixelRatio || 1) });
    const before = this.fitted;
    this.fitted = this.fitting();
    if (first || this.scale === before) this.showAll();
  }

  // The bounds of the points: nobody wants to see the empty rest of the square.
  frame(places) {
    let [left, bottom, right, top] = [1, 1, 0, 0];
    for (let i = 0; i < places.length; i += 2) {
      const [x, y] = [places[i] / 65535, places[i + 1] / 65535];
      left = Math.min(left, x);
      right = Math.max(right, x);
      bottom = Math.min(bottom, y);
      top = Math.max(top, y);
    }
    this.bounds = [left, bottom, right, top];
    this.fitted = this.fitting();
    this.showAll();
  }

  fitting() {
    const [left, bottom, right, top] = this.bounds;
    return 0.94 * Math.min(this.width / Math.max(right - left, 0.01), this.height / Math.max(top - bottom, 0.01));
  }

  showAll() {
    const [left, bottom, right, top] = this.bounds;
    Object.assign(this, { x: (left + right) / 2, y: (bottom + top) / 2, scale: this.fitted });
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toPicture(px, py) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  pan(dx, dy) {
    this.x = Math.min(1.1, Math.max(-0.1, this.x - dx / this.scale));
    this.y = Math.min(1.1, Math.max(-0.1, this.y + dy / this.scale));
  }

  // Closer by a factor, with the place under the pointer staying where it is.
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toPicture(px, py);
    this.scale = Math.min(400 * this.fitted, Math.max(0.5 * this.fitted, this.scale * factor));
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y + (py - this.height / 2) / this.scale;
  }

  // Bring a point into view without jumping where it is in view already.
  reveal(x, y) {
    const [px, py] = this.toScreen(x, y);
    const margin = 40;
    if (px > margin && py > margin && px < this.width - margin && py < this.height - margin) return;
    Object.assign(this, { x, y });
  }

  pointSize(n) {
    const first = n > 50000 ? 2.5 : n > 8000 ? 3.5 : n > 1000 ? 5 : 8;
    return Math.min(14, first * Math.sqrt(Math.max(1, this.scale / this.fitted)) ** 0.8);
  }
}
