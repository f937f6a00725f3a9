// Which point is nearest to a place: points sorted into cells, of which only those around are looked at.

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
