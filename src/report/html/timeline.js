// The trace of regions with the calls of a BLAS in them, or of either alone: a lane a thread, time from left to right,
// nested calls below what they are in. Here: which window of time is shown, by wheel, drag, keys and buttons.

import { element } from "./boxes.js";
import { note, repaint, tooltip } from "./chart.js";
import { follow_pointer } from "./drag.js";
import { lanes_picture } from "./lanes.js";
import { call_ranks, region_ranks } from "./legend.js";
import { extent_of, in_next_row, lanes_of, moved, pointed, set_in, zoomed } from "./spans.js";

/** @typedef {import("./spans.js").Mark} Mark */
/** @typedef {import("./spans.js").Placed} Placed */

const kCalls = "/blas/evidence/called/spans";
const KEYS = "arrow keys move between calls, plus and minus zoom, Shift and an arrow pan, 0 shows all";

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_timeline(figure, report) {
  const trace = report.regions?.trace;
  if (!trace?.spans?.length) return false;
  const spans = pointed(trace.spans, "/regions/trace/spans");
  const hue = region_ranks(report.regions);
  const called = report.blas?.evidence?.called;
  const calls = beside(trace, called) ? pointed(called.spans, kCalls) : [];
  const names = new Set(calls.map(({ name }) => name));
  const all = spans.concat(set_in(spans, calls, called?.spans_begin_ns - trace.spans_begin_ns));
  const notes = calls.length ? [trace.spans_note, "Framed: calls of a BLAS.", called.spans_note] : [trace.spans_note];
  return draw_spans(figure, all, notes, (name) => (names.has(name) ? "hue-0 call" : hue(name)));
}

/** Whether it is known how the times of both lie to each other. @param {any} trace @param {any} called */
function beside(trace, called) {
  return Boolean(called?.spans?.length && Number.isFinite(called.spans_begin_ns) && Number.isFinite(trace.spans_begin_ns));
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_calls_timeline(figure, report) {
  const called = report.blas?.evidence?.called;
  const spans = called?.spans ?? [];
  return spans.length > 0 && draw_spans(figure, pointed(spans, kCalls), [called.spans_note], call_ranks(spans));
}

/** @param {HTMLElement} figure @param {import("./spans.js").Pointed[]} spans
 * @param {(string | null)[]} notes which spans are left out
 * @param {(name: string) => string} hue the class of a name's colour @returns {boolean} */
function draw_spans(figure, spans, notes, hue) {
  const lanes = lanes_of(spans);
  const all = extent_of(spans);

  const tools = element("div", "timeline-tools");
  const axis = element("div", "timeline-axis");
  const host = element("div", "lanes-scroll");
  host.setAttribute("role", "tree");
  host.setAttribute("aria-label", `Timeline: ${KEYS}`);
  const caption = figure.querySelector("figcaption");
  for (const part of [tools, axis, host]) figure.insertBefore(part, caption);
  note(figure, [...notes, "A click zooms to a call, Ctrl and the wheel zoom, dragging pans."].filter(Boolean).join(" "));
  const picture = lanes_picture(axis, host, lanes, all, hue);
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
