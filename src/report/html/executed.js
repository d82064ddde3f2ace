// Points of a roofline by what rows executed (`--exact`): in a ring, each joined by a faint line to the point
// of its row by the model, and all of them shown or hidden by the entry above the chart, which says what a ring is.

import { element } from "./boxes.js";
import { row_name } from "./rows.js";

/** @typedef {import("./roofline.js").Point} Point */

const kRingRadius = 7;
const kSymbolArea = 22;  // within the ring
const kMostLinks = 40;
const kEntry = "executed instructions, counted (\u2011\u2011exact)";

/** Of rows that were counted, and those without a point, with the reason. A row that has no point of either
 * kind is among those of the model. Without colour and shape, which are those of its row.
 * @param {any} row @param {string} pointer @param {boolean} drawn by its model
 * @returns {{point: Point | null, left_out: {name: string, why: string} | null}} */
export function executed_of(row, pointer, drawn) {
  const exact = row.exact;
  if (!exact) return { point: null, left_out: null };
  if (exact.gflops > 0 && exact.intensity > 0) {
    const point = { row, place: exact, pointer: `${pointer}/exact`, colour: 0, shape: 0, slow: Boolean(row.far_above),
      executed: true, partner: drawn ? row : null };
    return { point, left_out: null };
  }
  const why = exact.reason ?? exact.gflops_reason ?? "no FLOP per byte of what it executed";
  return { point: null, left_out: drawn ? { name: `${row_name(row)} as executed`, why } : null };
}

/** From the point of a row by its model to that of what it executed; null where there is no first one.
 * @param {Point} point @param {{x: any, y: any}} scales */
export function link_path({ place, partner }, { x, y }) {
  if (!partner) return null;
  return `M${x(partner.intensity)},${y(partner.gflops)}L${x(place.intensity)},${y(place.gflops)}`;
}

/** Below all points; where there are too many to follow, each shows when its ring is pointed at.
 * @param {any} svg @param {Point[]} points @param {{x: any, y: any}} scales
 * @param {(point: Point) => string} series */
export function draw_links(svg, points, scales, series) {
  const linked = points.filter(({ partner }) => partner);
  if (linked.length > kMostLinks) return;
  svg.append("g").attr("aria-hidden", "true").selectAll(".link").data(linked)
    .enter().append("path").attr("class", (/** @type {Point} */ p) => `link ${series(p)}`)
    .attr("d", (/** @type {Point} */ p) => link_path(p, scales));
}

/** The ring of each mark, and below it its line, which shows when the mark is pointed at.
 * @param {any} groups of points that are executed @param {{x: any, y: any}} scales
 * @param {(point: Point) => string} at */
export function draw_rings(groups, scales, at) {
  groups.append("path").attr("class", "link strong").attr("d", (/** @type {Point} */ p) => link_path(p, scales));
  groups.append("circle").attr("class", "ring").attr("r", kRingRadius).attr("transform", at);
}

/** @param {Point} point */
export function symbol_area({ executed }) {
  return executed ? kSymbolArea : undefined;
}

/** The entry above the chart.
 * @param {HTMLElement} figure @param {(shown: boolean) => void} show */
export function add_entry(figure, show) {
  const label = element("label", "chart-choice executed-entry");
  const box = element("input", "");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => show(box.checked));
  label.append(box, element("span", "ring-swatch"), element("span", "", kEntry));
  figure.prepend(label);
}
