// Wheel and drag on a chart that is wider than its window. Plain wheels scroll the page, as everywhere;
// with Ctrl (which pinching a touchpad is, too) they zoom, and sideways they pan.

/** @typedef {object} Moves
 * @property {(factor: number, at: number) => void} zoom about a part of the width
 * @property {(distance: number) => void} pan by a part of the width
 * @property {(target: EventTarget | null) => void} press a click that was no drag
 * @property {(event: PointerEvent) => void} over */

/** @param {HTMLElement} host @param {Moves} moves */
export function follow_pointer(host, { zoom, pan, press, over }) {
  /** @type {number | null} where the pointer was, while it is down */
  let held = null;
  let dragged = false; // until the click that ends a drag is through

  host.addEventListener(
    "wheel",
    (event) => {
      const { left, width } = host.getBoundingClientRect();
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey) zoom(2 ** (Math.max(-100, Math.min(100, event.deltaY)) / 150), (event.clientX - left) / width);
      else if (sideways) pan(event.deltaX / width);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  host.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button === 0) held = event.clientX;
  });
  host.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) held = null; // let go outside
    if (held === null) return over(event);
    const distance = event.clientX - held;
    if (!dragged && Math.abs(distance) < 4) return;
    if (!dragged) host.setPointerCapture(event.pointerId);
    host.classList.add("dragged");
    held = event.clientX;
    dragged = true;
    pan(-distance / host.getBoundingClientRect().width);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    host.addEventListener(name, () => {
      held = null;
      host.classList.remove("dragged");
    });
  }
  host.addEventListener("click", (event) => {
    if (!dragged) press(event.target);
    dragged = false;
  });
}
