// What every chart shares: its svg, its tooltip, texts with units, and the keyboard.
//
// A chart is one tab stop; arrow keys move between its marks (the "roving tabindex" of the
// ARIA practices), so a page with a thousand marks stays quick to tab through.

import { select } from "d3-selection";

/** @typedef {{text: string[], pointer?: string, row?: string, value?: number | null, key?: string}} Facts
 *  What a mark says (the first line is its name), the JSON pointer of what it stands for and of the table
 *  row that it selects where they differ, and the number it stands for with its key there. */

/** An empty svg in `figure`, above its caption; one that is there already is replaced.
 * `role` is "img" until `marks` gives it children that can be focused.
 * @param {HTMLElement} figure @param {{height: number, label: string, width?: number}} options */
export function frame(figure, { height, label, width = width_of(figure) }) {
  figure.querySelectorAll(":scope > svg").forEach((old) => old.remove());
  const svg = select(figure)
    .insert("svg", "figcaption")
    .attr("class", "chart-svg")
    .attr("role", "img")
    .attr("aria-label", label)
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", "100%")
    .attr("preserveAspectRatio", "xMinYMin meet");
  return { svg, width };
}

/** The width in CSS pixels a chart has; one unit of a viewBox is one pixel, so that text keeps its size.
 * @param {HTMLElement} figure */
export function width_of(figure) {
  const style = getComputedStyle(figure);
  const inside = figure.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return Math.max(280, Math.floor(inside) || 0);
}

/** Calls `paint` now and whenever the width of `figure` changes. A figure that was taken out of the
 * page is no longer watched.
 * @param {HTMLElement} figure @param {() => void} paint */
export function repaint(figure, paint) {
  let width = width_of(figure);
  paint();
  const look = () => {
    if (!figure.isConnected) return observer.disconnect();
    // A closed <details> has no width: what is drawn stays until it opens.
    if (figure.clientWidth === 0 || width_of(figure) === width) return;
    width = width_of(figure);
    const index = focused_index(figure);
    paint();
    if (index >= 0) /** @type {SVGElement[]} */ (marks_of(figure))[index]?.focus();
  };
  // Behind the observer's round: what is painted changes sizes that it watches.
  const observer = new ResizeObserver(() => requestAnimationFrame(look));
  observer.observe(figure);
}

/** @param {HTMLElement} figure */
function focused_index(figure) {
  return marks_of(figure).findIndex((mark) => mark === document.activeElement);
}

/** @param {HTMLElement} figure @returns {any[]} */
function marks_of(figure) {
  return Array.from(figure.querySelectorAll("svg .mark[tabindex]"));
}

/** The figure's tooltip. It is hidden from screen readers: each mark's aria-label says the same.
 * @param {HTMLElement} figure */
export function tooltip(figure) {
  let box = /** @type {HTMLElement | null} */ (figure.querySelector(":scope > .tooltip"));
  if (!box) {
    box = document.createElement("div");
    box.className = "tooltip";
    box.hidden = true;
    box.setAttribute("aria-hidden", "true");
    figure.append(box);
    figure.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  }
  const element = box;

  function hide() {
    element.hidden = true;
  }

  /** Beside the pointer, or above the mark when the keyboard came to it.
   * @param {any} event @param {string[]} lines */
  function show(event, lines) {
    element.replaceChildren(
      ...lines.filter(Boolean).map((line, index) => {
        const row = document.createElement(index === 0 ? "strong" : "span");
        row.textContent = line;
        return row;
      }),
    );
    element.hidden = false;
    // Measured at the left edge: nearer the right one it would wrap.
    element.style.left = "0";
    const outer = figure.getBoundingClientRect();
    const target = event.target.getBoundingClientRect();
    const by_pointer = typeof event.clientX === "number" && event.type !== "focus";
    const x = (by_pointer ? event.clientX : target.left + Math.min(target.width, outer.width) / 2) - outer.left;
    const y = (by_pointer ? event.clientY : target.top) - outer.top;
    const left = Math.max(4, Math.min(x + 14, outer.width - element.offsetWidth - 4));
    const above = y - element.offsetHeight - 12;
    element.style.left = `${left}px`;
    element.style.top = `${above + outer.top > 0 ? above : y + 20}px`;
  }
  return { show, hide };
}

/** Makes each of the selected elements a mark: hover, tap and focus show its text, Enter and click
 * select its row, arrow keys, Home and End move between all marks of the figure.
 * @param {HTMLElement} figure @param {any} selection d3 selection @param {(datum: any) => Facts} facts */
export function marks(figure, selection, facts) {
  const tip = tooltip(figure);
  const svg = figure.querySelector("svg");
  svg?.setAttribute("role", "group");
  // `mark` becomes the listeners' `this`: D3 5 has no event argument of its own.
  selection.each(function (/** @type {any} */ datum) {
    // @ts-ignore
    const mark = /** @type {SVGElement} */ (this);
    const { text, pointer, value, key, row = pointer } = facts(datum);
    mark.classList.add("mark");
    mark.setAttribute("role", row ? "button" : "img");
    mark.setAttribute("aria-label", text.filter(Boolean).join(", "));
    mark.setAttribute("tabindex", "-1");
    if (pointer) mark.setAttribute("data-of", pointer);
    if (value !== undefined && value !== null) mark.setAttribute("data-value", String(value));
    if (key) mark.setAttribute("data-key", key);
    for (const name of ["pointerenter", "pointermove", "focus"])
      mark.addEventListener(name, (event) => tip.show(event, text));
    for (const name of ["pointerleave", "blur"]) mark.addEventListener(name, tip.hide);
    mark.addEventListener("click", (event) => {
      rove(figure, mark);
      tip.show(event, text);
      if (row) select_row(figure, row);
    });
    mark.addEventListener("keydown", (event) => on_key(figure, mark, event, row));
  });
  const all = marks_of(figure);
  if (all.length && !all.some((mark) => mark.getAttribute("tabindex") === "0")) all[0].setAttribute("tabindex",
    "0");
}

/** @param {HTMLElement} figure @param {SVGElement} mark @param {KeyboardEvent} event
 * @param {string | undefined} row */
function on_key(figure, mark, event, row) {
  const all = marks_of(figure);
  const index = all.indexOf(mark);
  /** @type {Record<string, number>} */
  const moves = { ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1,
    Home: 0, End: all.length - 1 };
  if (event.key in moves) {
    event.preventDefault();
    const next = all[Math.max(0, Math.min(all.length - 1, moves[event.key]))];
    rove(figure, next);
    next.focus();
  } else if ((event.key === "Enter" || event.key === " ") && row) {
    event.preventDefault();
    select_row(figure, row);
  }
}

/** Makes `mark` the chart's tab stop.
 * @param {HTMLElement} figure @param {SVGElement} mark */
function rove(figure, mark) {
  marks_of(figure).forEach((other) => other.setAttribute("tabindex", other === mark ? "0" : "-1"));
}

/** Asks the tables to show the row of `pointer`.
 * @param {HTMLElement} figure @param {string} pointer */
export function select_row(figure, pointer) {
  figure.dispatchEvent(new CustomEvent("hwprof:select", { bubbles: true, detail: pointer }));
}

/** Three significant digits without an exponent: 1230, 12.3, 0.0123.
 * @param {number} value */
function digits(value) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  const size = Math.floor(Math.log10(Math.abs(rounded)));
  return rounded.toFixed(Math.max(0, Math.min(20, 2 - size)));
}

/** @param {number | null | undefined} ns */
export function duration(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "-";
  // 999.9 µs is 1.00 ms: the unit is that of the rounded number.
  const size = Number(Math.abs(ns).toPrecision(3));
  if (size < 1e3) return `${digits(ns)} ns`;
  if (size < 1e6) return `${digits(ns / 1e3)} µs`;
  if (size < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

/** @param {number | null | undefined} x */
export function quantity(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "-";
  const size = Number(Math.abs(x).toPrecision(3));
  if (size < 1e3) return digits(x);
  if (size < 1e6) return `${digits(x / 1e3)} k`;
  if (size < 1e9) return `${digits(x / 1e6)} M`;
  if (size < 1e12) return `${digits(x / 1e9)} G`;
  return `${digits(x / 1e12)} T`;
}

/** A fraction as percent: below 10 % with one digit more.
 * @param {number | null | undefined} x */
export function percent(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "-";
  const value = x * 100;
  return `${Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** @param {string} name @param {number} n */
export function short(name, n) {
  return name.length <= n ? name : `${name.slice(0, Math.max(1, n - 1))}…`;
}

/** A line of small text below the chart; one that is there already is replaced, by no text removed.
 * @param {HTMLElement} figure @param {string} text */
export function note(figure, text) {
  figure.querySelector(":scope > .chart-note")?.remove();
  if (!text) return;
  const line = document.createElement("p");
  line.className = "chart-note";
  line.textContent = text;
  figure.append(line);
}

/** @type {CanvasRenderingContext2D | null} */
let canvas = null;

/** How wide a text is in the font of `figure`'s chart. An svg's own measure lays all of it out anew, which
 * a thousand lines would take seconds for.
 * @param {HTMLElement} figure @param {string} text @param {{size?: number, weight?: number}} font */
export function text_width(figure, text, { size = 12, weight = 400 }) {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (!canvas) return text.length * size * 0.6;
  canvas.font = `${weight} ${size}px ${getComputedStyle(figure.querySelector("svg") ?? figure).fontFamily}`;
  return canvas.measureText(text).width;
}
