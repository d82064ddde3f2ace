// A forest plot: each row's ratio to the baseline with its interval, about the line at 1; what lies
// within the threshold is a band. Ratios are logarithmic: half and double are equally far from 1.

import { max, min } from "d3-array";
import { scaleLog } from "d3-scale";
import { duration, frame, marks, note, quantity, repaint, short, width_of } from "./chart.js";
import { axis, log_ticks, plain, shape_path, whisker } from "./axes.js";
import { has_interval, interval_text, left_out_text } from "./rows.js";

/** @typedef {{heading?: string, row?: any, pointer?: string}} Line */

/** @type {Record<string, {look: string, shape: number}>} A diamond grew, a triangle shrank: not by colour alone. */
const kLooks = {
  slower: { look: "worse", shape: 3 },
  faster: { look: "better", shape: 2 },
  same: { look: "neutral", shape: 1 },
  undecided: { look: "neutral", shape: 0 },
  clock: { look: "neutral", shape: 4 },
};

const kNarrow = 560;

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw(figure, report) {
  const { lines, left_out } = lines_of(report);
  if (!lines.some((line) => line.row)) return false;
  repaint(figure, () => paint(figure, report, lines));
  note(figure, left_out_text(left_out));
  return true;
}

/** @param {any} report */
function lines_of(report) {
  /** @type {Line[]} */
  const lines = [];
  /** @type {{name: string, why: string}[]} */
  const left_out = [];
  (report.files ?? []).forEach((/** @type {any} */ file, /** @type {number} */ f) => {
    if (report.files.length > 1) lines.push({ heading: file.file.path });
    file.rows.forEach((/** @type {any} */ row, /** @type {number} */ r) => {
      if (row.ratio === null) left_out.push({ name: row.row, why: row.reason ?? row.verdict });
      else lines.push({ row, pointer: `/files/${f}/rows/${r}` });
    });
  });
  return { lines, left_out };
}

/** @param {HTMLElement} figure @param {any} report @param {Line[]} lines */
function paint(figure, report, lines) {
  const label = "Time of each row as a ratio to the baseline, with its interval";
  const width = width_of(figure);
  const stacked = width < kNarrow;
  const step = stacked ? 42 : 26;
  const box = { left: stacked ? 8 : Math.min(260, width * 0.26), right: stacked ? width - 8 : width - 190,
    top: 44, bottom: 44 + lines.length * step };
  const { svg } = frame(figure, { height: box.bottom + 46, label });
  const x = scale_of(report, lines).range([box.left, box.right]);
  const low = x(1 / (1 + report.threshold));
  svg.append("rect").attr("class", "band").attr("x", low).attr("width", x(1 + report.threshold) - low)
    .attr("y", box.top).attr("height", box.bottom - box.top);
  const title = "time over the baseline's";
  axis(svg, { side: "bottom", scale: x, ticks: log_ticks(x, 40), text: quantity, title, box });
  svg.append("line").attr("class", "reference-line").attr("x1", x(1)).attr("x2", x(1)).attr("y1", box.top)
    .attr("y2", box.bottom);
  draw_directions(svg, x, box, report.threshold);

  const groups = svg.selectAll(".line").data(lines).enter().append("g")
    .attr("class", (/** @type {Line} */ { row }) => `line point ${look_of(row).look}`)
    .attr("transform", (/** @type {Line} */ _, /** @type {number} */ i) =>
      `translate(0,${box.top + i * step})`);
  groups.filter((/** @type {Line} */ l) => l.heading).append("text").attr("class", "line-heading")
    .attr("y", step - 8).text((/** @type {Line} */ l) => short(l.heading ?? "", Math.floor(width / 7)));
  const lines_with_rows = groups.filter((/** @type {Line} */ l) => l.row);
  const rows = lines_with_rows.append("g").attr("class", "bars");
  const texts = lines_with_rows.append("g").attr("class", "texts").attr("aria-hidden", "true");
  const middle = stacked ? step - 11 : step / 2;
  const baseline = stacked ? 15 : middle + 4;
  rows.append("rect").attr("class", "hit").attr("width", width).attr("height", step);
  texts.append("text").attr("class", "line-name").attr("y", baseline)
    .text((/** @type {Line} */ l) => short(l.row.row, stacked ? 26 : Math.floor(box.left / 6.4)));
  texts.append("text").attr("class", "line-value").attr("x", width).attr("text-anchor", "end")
    .attr("y", baseline).text((/** @type {Line} */ { row }) => `${ratio_text(row)} ${row.verdict}`);
  rows.filter((/** @type {Line} */ { row }) => has_interval(row.ratio_ci95)).append("path")
    .attr("class", "whisker")
    .attr("d", (/** @type {Line} */ { row }) =>
      whisker(middle, x(row.ratio_ci95[0]), x(row.ratio_ci95[1]), "horizontal"));
  rows.append("path")
    .attr("class", (/** @type {Line} */ { row }) => (row.verdict === "undecided" ? "symbol hollow" : "symbol"))
    .attr("d", (/** @type {Line} */ { row }) => shape_path(look_of(row).shape, 64))
    .attr("transform", (/** @type {Line} */ { row }) => `translate(${x(row.ratio)},${middle})`);
  marks(figure, rows, ({ row, pointer }) => ({
    text: [row.row, row.group, `${row.verdict}: ratio ${ratio_text(row)}`,
      `baseline ${duration(row.baseline_ns)}, here ${duration(row.ns)}`,
      row.peak_ratio === null ? ""
        : `in units of the peak beside it ${quantity(row.peak_ratio)}${interval_text(row.peak_ratio_ci95, quantity)}`,
      row.runs_needed === null ? "" : `needs about ${row.runs_needed} runs a side`],
    pointer, value: row.ratio, key: "ratio",
  }));
}

/** @param {any} row */
function look_of(row) {
  return kLooks[row?.verdict] ?? kLooks.undecided;
}

/** @param {any} row */
function ratio_text(row) {
  return `${quantity(row.ratio)}${interval_text(row.ratio_ci95, quantity)}`;
}

/** 1 and the band are always in sight. @param {any} report @param {Line[]} lines */
function scale_of(report, lines) {
  const ends = lines.flatMap(({ row }) => (row
    ? [row.ratio, ...(has_interval(row.ratio_ci95) ? row.ratio_ci95 : [])] : []));
  const room = 1 + 2 * report.threshold;
  return scaleLog().domain([Math.min(1 / room, (min(ends) ?? 1) / 1.05),
    Math.max(room, (max(ends) ?? 1) * 1.05)]);
}

/** @param {any} svg @param {any} x @param {any} box @param {number} threshold */
function draw_directions(svg, x, box, threshold) {
  const [low, high] = x.range();
  const text = (/** @type {string} */ words, /** @type {number} */ at, /** @type {string} */ anchor) =>
    svg.append("text").attr("class", "axis-title").attr("x", at).attr("y", box.top - 8)
      .attr("text-anchor", anchor).attr("aria-hidden", "true").text(words);
  if (x(1) - low > 60) text("← faster", x(1) - 6, "end");
  if (high - x(1) > 60) text("slower →", x(1) + 6, "start");
  text(`band: same, within ${plain(quantity(threshold * 100))} %`, high, "end").attr("y", 12);
}
