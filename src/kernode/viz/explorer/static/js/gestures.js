// Pointer, wheel and keys on the map: move, zoom, look at a point, choose it.

const STEP = 60; // pixels that an arrow key moves the map
const TOUCH = { mouse: 9, pen: 12, touch: 22 }; // pixels around a point that still mean it

export function gestures(canvas, camera, on) {
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
