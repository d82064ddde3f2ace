// Noise: one row's slices in the order of measuring, the FMA peak beside each, and which of them
// something disturbed; and the runs of a command that was repeated.

import { extent, max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import { duration, frame, marks, note, quantity, repaint, width_of } from "./chart.js";
import { axis, polyline, shape_path } from "./axes.js";
import { has_interval, interval_text, row_name } from "./rows.js";

/** @typedef {{index: number, ns: number, peak: number | null, why: string[]}} Slice */
/** @typedef {"usual" | "disturbed" | "high"} Look `high`: above the interval, and nothing known of why */

const kMost = 1000;  // marks: more of them could not be told apart

/** Rows and layers that have at least two slices. @param {any} report */
function choices_of(report) {
  const choices = ["rows", "layers", "points"].flatMap((key) => (
    (report[key] ?? []).map((/** @type {any} */ row, /** @type {number} */ index) => {
      return { row, pointer: `/${key}/${index}`, name: choice_name(row) };
    })
  ));
  return choices.filter(({ row }) => row.time_ns?.slices.length > 1);
}

/** @param {any} row */
function choice_name(row) {
  if (!row.at) return row_name(row);
  return `${row_name(row)} ${Object.entries(row.at).map(([size, value]) => `${size}=${value}`).join(" ")}`;
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_noise(figure, report) {
  const choices = choices_of(report);
  if (!choices.length) return false;
  let chosen = widest_spread(choices);
  const label = document.createElement("label");
  label.className = "chart-choice";
  label.textContent = "Slices of ";
  const select = document.createElement("select");
  choices.forEach(({ name }, index) => {
    select.append(new Option(name, String(index), index === chosen, index === chosen));
  });
  label.append(select);
  figure.prepend(label);
  const paint = () => {
    const { row, pointer, name } = choices[chosen];
    paint_slices(figure, row, pointer, name);
  };
  select.addEventListener("change", () => {
    chosen = Number(select.value);
    paint();
  });
  repaint(figure, paint);
  return true;
}

/** What is worth a look first: the row whose interval is widest. @param {any[]} choices */
function widest_spread(choices) {
  const spread = ({ row }) => (has_interval(row.time_ns.ci95) ? row.time_ns.ci95[1] / row.time_ns.ci95[0] : 0);
  const widest = Math.max(...choices.map(spread));
  return choices.findIndex((choice) => spread(choice) === widest);
}

/** @param {any} row @returns {Slice[]} */
function slices_of(row) {
  const { slices, slice_peak_gflops, slice_migrated } = row.time_ns;
  const { slice_involuntary_switches: switches, slice_page_faults: faults } = row.time_ns;
  const causes = new Map((row.repeated?.outliers ?? [])
    .map((/** @type {any} */ outlier) => [outlier.index, outlier.cause]));
  const all = slices.map((/** @type {number} */ ns, /** @type {number} */ index) => ({
    index, ns, peak: slice_peak_gflops?.[index] ?? null,
    why: [
      causes.has(index) ? `far above the others: ${causes.get(index)}` : "",
      slice_migrated?.[index] ? "changed its CPU" : "",
      switches?.[index] > 0 ? `involuntary switches: ${switches[index]}` : "",
      faults?.[index] > 0 ? `page faults: ${faults[index]}` : "",
    ].filter(Boolean),
  }));
  if (all.length <= kMost) return all;
  // Of neighbours the slowest stands for all: what disturbed is what is looked for.
  const size = Math.ceil(all.length / kMost);
  const slower = (/** @type {Slice} */ a, /** @type {Slice} */ b) => (b.ns > a.ns ? b : a);
  const groups = Math.ceil(all.length / size);
  return Array.from({ length: groups }, (_, i) => all.slice(i * size, (i + 1) * size).reduce(slower));
}

/** @param {HTMLElement} figure @param {any} row @param {string} pointer @param {string} name */
function paint_slices(figure, row, pointer, name) {
  const slices = slices_of(row);
  const label = `Time of each slice of ${name} in the order of measuring, and the FMA peak beside it`;
  const width = width_of(figure);
  const peaks = slices.filter((slice) => slice.peak !== null);
  // A switch that cost nothing is no disturbance: only what is slow is marked.
  const usual = has_interval(row.time_ns.ci95) ? row.time_ns.ci95[1] : row.time_ns.median;
  const looks = slices.map((slice) => (slice.ns <= usual ? "usual" : slice.why.length ? "disturbed" : "high"));
  const box = { left: 58, right: width - 8, top: 28, bottom: 240 };
  const below = { ...box, top: 292, bottom: 362 };
  const { svg } = frame(figure, { height: (peaks.length ? below.bottom : box.bottom) + 44, label });
  const x = scaleLinear().domain([-0.5, row.time_ns.slices.length - 0.5]).range([box.left, box.right]);
  const title = peaks.length ? "" : "slice, in the order of measuring";
  draw_series(svg, { x, box, text: duration, title: "time of a call", bottom: title, series: row.time_ns });
  draw_points(figure, svg, slices.map((slice, i) => ({
    x: x(slice.index), value: slice.ns, look: looks[i],
    facts: {
      text: [`${name}, slice ${slice.index}`, duration(slice.ns),
        slice.peak === null ? "" : `FMA peak beside it ${quantity(slice.peak)} GFLOP/s`, ...slice.why],
      pointer: `${pointer}/time_ns/slices/${slice.index}`, row: pointer, value: slice.ns,
    },
  })), scale_of(row.time_ns.slices, row.time_ns.ci95, box));
  if (peaks.length) draw_peaks(svg, peaks, x, below);
  const size = Math.ceil(row.time_ns.slices.length / kMost);
  note(figure, [
    looks.includes("disturbed") ? "▲ slow, and something disturbed it (point at it)." : "",
    looks.includes("high") ? "○ slow, and nothing is known of why." : "",
    size > 1 ? `Of each ${size} slices the slowest is drawn.` : "",
    left_out(row.left_out),
  ].filter(Boolean).join(" "));
}

/** @param {any} counts */
function left_out(counts) {
  const words = { elsewhere: "on a CPU not its own", moved: "changed the CPU", stolen: "the host took the CPU",
    waited: "waited for the CPU" };
  const parts = Object.entries(words).filter(([key]) => counts?.[key] > 0)
    .map(([key, text]) => `${counts[key]} (${text})`);
  return parts.length ? `Left out before: ${parts.join(", ")}.` : "";
}

/** From zero where that costs little room, else about the values. @param {number[]} values
 * @param {any} interval @param {any} box */
function scale_of(values, interval, box) {
  const all = values.concat(has_interval(interval) ? interval : []);
  const low = min(all) ?? 0, high = max(all) ?? 1;
  const from = low < 0.4 * high ? 0 : low - 0.15 * (high - low || high);
  return scaleLinear().domain([from, high + 0.08 * (high - from)]).range([box.bottom, box.top]);
}

/** @param {any} x @returns {number[]} */
function whole_ticks(x) {
  return x.ticks(6).filter((/** @type {number} */ i) => Number.isInteger(i) && i >= 0);
}

/** Axes, the interval as a band, the median as a line. @param {any} svg @param {any} options */
function draw_series(svg, { x, box, text, title, bottom, series, values = series.slices }) {
  const y = scale_of(values, series.ci95, box);
  if (has_interval(series.ci95)) {
    const [low, high] = series.ci95;
    svg.append("rect").attr("class", "band").attr("x", box.left).attr("width", box.right - box.left)
      .attr("y", y(high)).attr("height", y(low) - y(high));
  }
  axis(svg, { side: "bottom", scale: x, ticks: whole_ticks(x), text: String, title: bottom, box, flush: true });
  axis(svg, { side: "left", scale: y, ticks: y.ticks(5), text, title, box });
  svg.append("line").attr("class", "reference-line").attr("x1", box.left).attr("x2", box.right)
    .attr("y1", y(series.median)).attr("y2", y(series.median));
  svg.append("text").attr("class", "reference-label").attr("x", box.right).attr("y", box.top - 12)
    .attr("text-anchor", "end").attr("aria-hidden", "true")
    .text(`┄ median ${text(series.median)}${interval_text(series.ci95, text)}`);
}

/** @param {HTMLElement} figure @param {any} svg
 * @param {{x: number, value: number, look: Look, facts: any}[]} points @param {any} y */
function draw_points(figure, svg, points, y) {
  const groups = svg.append("g").selectAll("g").data(points).enter().append("g")
    .attr("class", (/** @type {any} */ p) => `point ${p.look === "disturbed" ? "slow" : "series-1"}`);
  const at = (/** @type {any} */ p) => `translate(${p.x},${y(p.value)})`;
  groups.append("circle").attr("class", "hit").attr("r", 7).attr("transform", at);
  groups.append("path")
    .attr("class", (/** @type {any} */ p) => (p.look === "high" ? "symbol hollow" : "symbol"))
    .attr("transform", at)
    .attr("d", (/** @type {any} */ p) => (p.look === "disturbed" ? shape_path(2, 44) : shape_path(0, 26)));
  marks(figure, groups, ({ facts }) => facts);
}

/** @param {any} svg @param {Slice[]} slices @param {any} x @param {any} box */
function draw_peaks(svg, slices, x, box) {
  const [low, high] = /** @type {number[]} */ (extent(slices, (slice) => slice.peak ?? 0));
  const room = Math.max(high * 0.02, (high - low) * 0.1);
  const y = scaleLinear().domain([low - room, high + room]).range([box.bottom, box.top]);
  const title = "slice, in the order of measuring";
  axis(svg, { side: "bottom", scale: x, ticks: whole_ticks(x), text: String, title, box, flush: true });
  axis(svg, { side: "left", scale: y, ticks: y.ticks(3), text: quantity, title: "FMA peak beside it, GFLOP/s", box });
  svg.append("path").attr("class", "series-line series-3")
    .attr("d", polyline(slices.map((slice) => [x(slice.index), y(slice.peak)])));
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_repeats(figure, report) {
  const wall = report.repeats?.wall_s;
  if (!wall?.samples?.length) return false;
  const outliers = new Map(report.repeats.outliers
    .map((/** @type {any} */ outlier) => [outlier.index, outlier.cause]));
  const seconds = (/** @type {number} */ s) => duration(s * 1e9);
  repaint(figure, () => {
    const label = "Wall time of each run in their order";
    const { svg, width } = frame(figure, { height: 290, label });
    const box = { left: 58, right: width - 8, top: 28, bottom: 246 };
    const x = scaleLinear().domain([-0.5, wall.samples.length - 0.5]).range([box.left, box.right]);
    const words = { text: seconds, title: "wall time", bottom: "run, from 0" };
    draw_series(svg, { x, box, ...words, series: wall, values: wall.samples });
    draw_points(figure, svg, wall.samples.map((/** @type {number} */ s, /** @type {number} */ index) => ({
      x: x(index), value: s, look: outliers.has(index) ? "disturbed" : "usual",
      facts: {
        text: [`run ${index}`, seconds(s), ...run_lines(report.repeats.runs[index]),
          outliers.has(index) ? `▲ far above the others: ${outliers.get(index)}` : ""],
        pointer: `/repeats/wall_s/samples/${index}`, row: `/repeats/runs/${index}`, value: s,
      },
    })), scale_of(wall.samples, wall.ci95, box));
  });
  note(figure, outliers.size ? "▲ a run far above the others." : "");
  return true;
}

/** @param {any} run @returns {string[]} */
function run_lines(run) {
  if (!run) return [];
  return [
    run.waited_s === null ? "" : `waited ${duration(run.waited_s * 1e9)} for a CPU`,
    run.involuntary_switches > 0 ? `involuntary switches: ${run.involuntary_switches}` : "",
    run.migrations > 0 ? `migrations: ${run.migrations}` : "",
    run.peak_gflops === null ? "" : `FMA peak beside it ${quantity(run.peak_gflops)} GFLOP/s`,
  ].filter(Boolean);
}
