// Time against size, both axes logarithmic, with the line of the model; below it time over model, where
// what the first picture flattens can be seen: a law that fits has its points about 1.

import { extent, max, min } from "d3-array";
import { scaleLinear, scaleLog } from "d3-scale";
import { duration, frame, marks, note, quantity, repaint, width_of } from "./chart.js";
import { axis, log_ticks, plain, polyline, series_class, shape_path, whisker } from "./axes.js";
import { spread } from "./labels.js";
import { has_interval, left_out_text, row_lines, work, work_key } from "./rows.js";

/** @typedef {{point: any, pointer: string, x: number, time: any}} Point */
/** @typedef {{name: string, index: number, points: Point[], law: any}} Series a value of the second size */

const kResiduals = 130;

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw(figure, report) {
  const series = series_of(report);
  if (!series.length) return false;
  repaint(figure, () => paint(figure, report, series));
  const untimed = report.points.filter((/** @type {any} */ point) => !work(point));
  note(figure,
    left_out_text(untimed
    .map((/** @type {any} */ point) => ({ name: at_text(point), why: point.reason ?? "no time" }))));
  return true;
}

/** @param {any} point "n=32 k=2" */
function at_text(point) {
  return Object.entries(point.at).map(([size, value]) => `${size}=${value}`).join(" ");
}

/** @param {any} report @returns {Series[]} */
function series_of(report) {
  const [first, second] = (report.swept ?? []).map((/** @type {any} */ range) => range.name);
  /** @type {Map<string, Series>} */
  const all = new Map();
  (report.points ?? []).forEach((/** @type {any} */ point, /** @type {number} */ index) => {
    const time = work(point);
    if (!time) return;
    const name = second ? `${second}=${point.at[second]}` : "";
    const law = report.laws.find((/** @type {any} */ l) => l.quantity === "time" && l.size === first
      && (l.held ?? "") === name);
    const series = all.get(name) ?? { name, index: all.size, points: [], law };
    series.points.push({ point, pointer: `/points/${index}`, x: point.at[first], time });
    all.set(name, series);
  });
  for (const series of all.values()) series.points.sort((a, b) => a.x - b.x);
  return Array.from(all.values());
}

/** @param {HTMLElement} figure @param {any} report @param {Series[]} series */
function paint(figure, report, series) {
  const label = `Time against ${report.swept[0].name}, both axes logarithmic; below it time over the model's`;
  const width = width_of(figure);
  const main = Math.round(Math.max(260, Math.min(420, width * 0.42)));
  const { svg } = frame(figure, { height: main + kResiduals + 92, label });
  const names = width >= 560 ? 150 : series.length > 1 ? 48 : 8;
  const box = { left: 58, right: width - names, top: 28, bottom: 28 + main };
  const below = { ...box, top: box.bottom + 50, bottom: box.bottom + 20 + kResiduals };
  const points = series.flatMap((one) => one.points);
  const [low, high] = /** @type {number[]} */ (extent(points, (p) => p.x));
  const x = scaleLog().domain([low / 1.15, high * 1.15]).range([box.left, box.right]);
  const ends = points.flatMap(({ point, time }) => [time.median, point.model_ns, ...(time.ci95 ?? [])])
    .filter((ns) => ns > 0);
  const y = scaleLog().domain([(min(ends) ?? 1) / 1.25, (max(ends) ?? 1) * 1.25]).range([box.bottom, box.top]);
  const sizes = Array.from(new Set(points.map((p) => p.x)));
  const ticks = sizes.length <= (box.right - box.left) / 44 ? sizes : log_ticks(x, 40);
  axis(svg, { side: "bottom", scale: x, ticks, text: String, title: "", box });
  const title = `${report.op} ${report.variant}, time of a call`;
  axis(svg, { side: "left", scale: y, ticks: log_ticks(y, 22), text: duration, title, box });
  draw_levels(svg, series, x, box);
  const sides = draw_times(figure, svg, series, { x, y, box, labelled: width >= 560 });
  draw_residuals(svg, series, x, below, { ticks, size: report.swept[0].name });
  marks(figure, sides, ({ point, pointer, time }) => ({
    text: [at_text(point), ...row_lines(point).slice(1),
      `model ${duration(point.model_ns)}, time over it ${quantity(point.time_to_model)}`,
      point.level ? `working set in ${point.level}` : ""],
    pointer, value: time.median, key: work_key(point),
  }));
}

/** Where the working set leaves a level of the caches, times may bend. Of one series only: others
 * leave it elsewhere. @param {any} svg @param {Series[]} series @param {any} x @param {any} box */
function draw_levels(svg, series, x, box) {
  if (series.length > 1) return;
  const { points } = series[0];
  let from = box.left;
  points.forEach(({ point, x: size }, index) => {
    const next = points[index + 1];
    if (next && next.point.level === point.level) return;
    const to = next ? x(Math.sqrt(size * next.x)) : box.right;
    if (next) {
      svg.append("line").attr("class", "level-line").attr("x1", to).attr("x2", to)
        .attr("y1", box.top).attr("y2", box.bottom);
    }
    svg.append("text").attr("class", "reference-label").attr("x", (from + to) / 2).attr("y", box.top + 12)
      .attr("text-anchor", "middle").attr("aria-hidden", "true").text(point.level ?? "");
    from = to;
  });
}

/** @param {HTMLElement} figure @param {any} svg @param {Series[]} series @param {any} place
 * @returns {any} the points */
function draw_times(figure, svg, series, { x, y, box, labelled }) {
  const last = series.map(({ points }) => points[points.length - 1]);
  // More series than have room for their exponents have their names alone; so have all on a narrow page,
  // but a single one, for which the corner below a rising line is free.
  const whole = series.length === 1 || (labelled && series.length <= 6);
  const heights = spread(last.map(({ time }) => y(time.median)), whole ? 46 : 15, box.top + 8, box.bottom - 28);
  series.forEach((one, index) => {
    const look = series_class(one.index);
    const modelled = one.points.filter(({ point }) => point.model_ns !== null);
    svg.append("path").attr("class", `series-line ${look}`)
      .attr("d", polyline(modelled.map((p) => [x(p.x), y(p.point.model_ns)])));
    const text = svg.append("text").attr("class", `series-label ${look}`).attr("aria-hidden", "true")
      .attr("y", heights[index]);
    const inside = !labelled && series.length === 1;
    if (inside) text.attr("y", box.bottom - 22);
    label_series(text, one, inside ? box.right - 6 : box.right + 8, whole);
    text.attr("text-anchor", inside ? "end" : "start");
  });
  const groups = svg.selectAll(".point")
    .data(series.flatMap((one) => one.points.map((p) => ({ ...p, index: one.index }))))
    .enter().append("g").attr("class", (/** @type {any} */ p) => `point ${series_class(p.index)}`);
  groups.filter((/** @type {Point} */ p) => has_interval(p.time.ci95)).append("path").attr("class", "whisker")
    .attr("d", (/** @type {Point} */ p) => whisker(x(p.x), y(p.time.ci95[0]), y(p.time.ci95[1]), "vertical"));
  const at = (/** @type {Point} */ p) => `translate(${x(p.x)},${y(p.time.median)})`;
  groups.append("circle").attr("class", "hit").attr("r", 11).attr("transform", at);
  groups.append("path").attr("class", "symbol").attr("transform", at)
    .attr("d", (/** @type {any} */ p) => shape_path(p.index));
  return groups;
}

/** @param {any} text @param {Series} series @param {number} x
 * @param {boolean} whole with its exponents, or its name alone */
function label_series(text, { name, law }, x, whole) {
  const size = law?.size ?? "";
  const rows = [name, law?.exponent == null ? "" : `measured ${size}^${plain(law.exponent.toFixed(2))}`,
    law?.model_exponent == null ? "line: the model"
      : `line: model ${size}^${plain(law.model_exponent.toFixed(2))}`].filter(Boolean);
  rows.slice(0, whole ? 3 : 1).forEach((row, index) => text.append("tspan").attr("x", x)
    .attr("dy", index ? 14 : 0).text(row));
}

/** @param {any} svg @param {Series[]} series @param {any} x @param {any} box
 * @param {{ticks: number[], size: string}} options */
function draw_residuals(svg, series, x, box, { ticks, size }) {
  const points = series.flatMap((one) => one.points.filter(({ point }) => point.time_to_model !== null)
    .map((p) => ({ ...p, index: one.index })));
  const ends = points.flatMap(({ point, time }) =>
    [point.time_to_model,
    ...(has_interval(time.ci95) && point.model_ns ? time.ci95
    .map((/** @type {number} */ ns) => ns / point.model_ns) : [])]);
  const far = Math.max(0.05, ...ends.map((ratio) => Math.abs(ratio - 1))) * 1.1;
  const y = scaleLinear().domain([Math.max(0, 1 - far), 1 + far]).range([box.bottom, box.top]);
  axis(svg, { side: "bottom", scale: x, ticks, text: String, title: size, box });
  const ratio = (/** @type {number} */ r) => String(+r.toFixed(3));
  axis(svg, { side: "left", scale: y, ticks: y.ticks(4), text: ratio, title: "time over model", box });
  svg.append("line").attr("class", "reference-line").attr("x1", box.left).attr("x2", box.right).attr("y1", y(1))
    .attr("y2", y(1));
  // Series have the same sizes: their intervals stand beside each other.
  const at = (/** @type {any} */ p) => x(p.x) + (p.index - (series.length - 1) / 2) * 7;
  const groups = svg.append("g").attr("aria-hidden", "true").selectAll("g").data(points).enter().append("g")
    .attr("class", (/** @type {any} */ p) => `point ${series_class(p.index)}`);
  groups.filter((/** @type {Point} */ p) => has_interval(p.time.ci95)).append("path").attr("class", "whisker")
    .attr("d", (/** @type {Point} */ p) =>
      whisker(at(p), y(p.time.ci95[0] / p.point.model_ns), y(p.time.ci95[1] / p.point.model_ns), "vertical"));
  groups.append("path").attr("class", "symbol").attr("d", (/** @type {any} */ p) => shape_path(p.index, 36))
    .attr("transform", (/** @type {Point} */ p) => `translate(${at(p)},${y(p.point.time_to_model)})`);
}
