// The trace of regions, or of calls of a BLAS: a lane a thread, time from left to right, nested calls below what they are
// in. Here: which window of time is shown, by wheel, drag, keys and buttons.

import { element } from "./boxes.js";
import { note, repaint, tooltip } from "./chart.js";
import { follow_pointer } from "./drag.js";
import { lanes_picture } from "./lanes.js";
import { call_ranks, region_ranks } from "./legend.js";
import { extent_of, in_next_row, lanes_of, moved, zoomed } from "./spans.js";

/** @typedef {import("./spans.js").Mark} Mark */
/** @typedef {import("./spans.js").Placed} Placed */

const KEYS = "arrow keys move between calls, plus and minus zoom, Shift and an arrow pan, 0 shows all";

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_timeline(figure, report) {
  const trace = report.regions?.trace;
  return Boolean(trace) && draw_spans(figure, trace, region_ranks(report.regions), "/regions/trace/spans");
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_calls_timeline(figure, report) {
  const called = report.blas?.evidence?.called;
  return Boolean(called) && draw_spans(figure, called, call_ranks(called.spans ?? []), "/blas/evidence/called/spans");
}

/** @param {HTMLElement} figure @param {any} trace with `spans` and `spans_note`
 * @param {(name: string) => string} hue the class of a name's colour
 * @param {string} of where in the JSON the spans are @returns {boolean} */
function draw_spans(figure, trace, hue, of) {
  /** @type {import("./spans.js").Span[]} */
  const spans = trace.spans ?? [];
  if (spans.length === 0) return false;
  const lanes = lanes_of(spans);
  const all = extent_of(spans);

  const tools = element("div", "timeline-tools");
  const axis = element("div", "timeline-axis");
  const host = element("div", "lanes-scroll");
  host.setAttribute("role", "tree");
  host.setAttribute("aria-label", `Timeline: ${KEYS}`);
  const caption = figure.querySelector("figcaption");
  for (const part of [tools, axis, host]) figure.insertBefore(part, caption);
  note(figure, `${trace.spans_note ?? ""} A click zooms to a call, Ctrl and the wheel zoom, dragging pans.`.trim());
  const picture = lanes_picture(axis, host, lanes, all, hue, of);
  const tip = tooltip(figure);

  let shown = all;
  /** @type {Mark[]} */
  let marks = [];
  /** @type {HTMLElement[]} in the order of `marks` */
  let elements = [];
  let current = 0; // the mark that is the tab stop
  let awaited = 0; // the frame that draws

  const length = () => shown.to - shown.from;
  const index_of = (/** @type {EventTarget | null} */ target) => elements.indexOf(/** @type {HTMLElement} */ (target));

  /** @param {Placed | null} [wanted] is focused; otherwise what was stays so */
  function draw(wanted = elements[current] === document.activeElement ? marks[current]?.spans[0] : null) {
    ({ marks, elements } = picture.draw(shown));
    current = Math.max(0, marks.findIndex((mark) => wanted && mark.spans.includes(wanted)));
    if (!elements.length) return;
    elements[current].tabIndex = 0;
    if (wanted) elements[current].focus({ preventScroll: true });
  }

  /** At most once a frame, however fast the wheel turns.
   * @param {import("./spans.js").Window} window */
  function show(window) {
    shown = window;
    tip.hide();
    cancelAnimationFrame(awaited);
    awaited = requestAnimationFrame(() => draw());
  }
  const zoom = (/** @type {number} */ factor, centre = (shown.from + shown.to) / 2) =>
    show(zoomed(shown, factor, centre, all));
  const pan = (/** @type {number} */ distance) => show(moved(shown, distance, length(), all));
  /** @param {Mark} mark */
  const zoom_to = ({ start_ns, end_ns }) =>
    show(zoomed({ from: start_ns, to: end_ns }, 1.1, (start_ns + end_ns) / 2, all));

  /** @param {Placed} span */
  function focus(span) {
    if (span.end_ns <= shown.from || span.start_ns >= shown.to)
      shown = moved(shown, span.start_ns - shown.from - length() / 2, length(), all);
    draw(span);
    elements[current].scrollIntoView({ block: "nearest" });
    tip.show({ target: elements[current] }, picture.facts(marks[current]));
  }

  /** The span that an arrow key leads to.
   * @param {Mark} mark @param {string} key @returns {Placed | undefined} */
  function neighbour(mark, key) {
    const row = lanes[mark.lane].rows[mark.depth];
    if (key === "ArrowLeft") return row[row.indexOf(mark.spans[0]) - 1];
    if (key === "ArrowRight") return row[row.indexOf(mark.spans[mark.spans.length - 1]) + 1];
    return in_next_row(marks, mark, key === "ArrowDown" ? 1 : -1)?.spans[0];
  }

  /** @type {Record<string, (mark: Mark) => void>} */
  const keys = {
    "+": (mark) => zoom(0.5, (mark.start_ns + mark.end_ns) / 2),
    "=": (mark) => zoom(0.5, (mark.start_ns + mark.end_ns) / 2),
    "-": () => zoom(2),
    0: () => show(all),
    Escape: () => show(all),
    Enter: zoom_to,
    " ": zoom_to,
  };
  host.addEventListener("keydown", (event) => {
    const mark = marks[index_of(event.target)];
    if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      pan(length() * (event.key === "ArrowLeft" ? -0.25 : 0.25));
    } else if (event.key.startsWith("Arrow")) {
      const next = neighbour(mark, event.key);
      if (next) focus(next);
    } else if (event.key in keys) {
      keys[event.key](mark);
    } else {
      return;
    }
    event.preventDefault();
  });
  host.addEventListener("focusin", (event) => {
    const mark = marks[index_of(event.target)];
    if (mark) tip.show({ target: event.target }, picture.facts(mark));
  });
  host.addEventListener("focusout", tip.hide);

  follow_pointer(host, {
    zoom: (factor, part) => zoom(factor, shown.from + part * length()),
    pan: (part) => pan(part * length()),
    press: (target) => {
      const mark = marks[index_of(target)];
      if (mark) zoom_to(mark);
    },
    over: (event) => {
      const mark = marks[index_of(event.target)];
      if (mark) tip.show(event, picture.facts(mark));
      else tip.hide();
    },
  });
  host.addEventListener("pointerleave", tip.hide);

  for (const [label, name, act] of /** @type {[string, string, () => void][]} */ ([
    ["+", "Zoom in", () => zoom(0.5)],
    ["−", "Zoom out", () => zoom(2)],
    ["All", "Show all of the time", () => show(all)],
  ])) {
    const button = tools.appendChild(element("button", "framed", label));
    button.type = "button";
    button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
  }
  repaint(figure, () => draw());
  return true;
}
