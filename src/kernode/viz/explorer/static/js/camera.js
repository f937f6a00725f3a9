// The visible part of the layout, as its centre and the width of the unit square in pixels; and the nearest point.

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

  // The bounds of the points, without the empty rest of the square.
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

// Nearest point to a place: points sorted into cells, of which only the surrounding ones are searched.

export class Grid {
  constructor(places) {
    const n = places.length / 2;
    this.places = places;
    this.side = Math.max(1, Math.ceil(Math.sqrt(n / 4)));
    this.starts = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i += 1) {
      cells[i] = this.cell(places[2 * i] / 65535) + this.side * this.cell(places[2 * i + 1] / 65535);
      this.starts[cells[i] + 1] += 1;
    }
    for (let c = 0; c < this.side * this.side; c += 1) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    this.order = new Uint32Array(n);
    for (let i = 0; i < n; i += 1) this.order[next[cells[i]]++] = i;
  }

  cell(x) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(x * this.side)));
  }

  // x, y and radius in the unit square of the picture; -1 where no point is within the radius.
  nearest(x, y, radius) {
    let best = -1;
    let least = radius * radius;
    for (let row = this.cell(y - radius); row <= this.cell(y + radius); row += 1) {
      for (let column = this.cell(x - radius); column <= this.cell(x + radius); column += 1) {
        const cell = column + this.side * row;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at += 1) {
          const i = this.order[at];
          const far = (this.places[2 * i] / 65535 - x) ** 2 + (this.places[2 * i + 1] / 65535 - y) ** 2;
          if (far <= least) [best, least] = [i, far];
        }
      }
    }
    return best;
  }
}
