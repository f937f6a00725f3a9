// Rings and names over the points: the chosen node, those that are spoken of, the one under the pointer.

import { short } from "./words.js";

export function drawMarks(canvas, camera, { chosen, others, hovered, aim }, place, nameOf) {
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
