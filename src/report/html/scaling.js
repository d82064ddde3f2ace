// Speed-up against the number of threads: a small picture for each operation, all with the same axes,
// so that more than a few lines never cross in one of them.

import { max } from "d3-array";
import { scaleLinear, scaleLog } from "d3-scale";
import { duration, frame, marks, note, percent, quantity, repaint, short, width_of } from "./chart.js";
import { axis, polyline, series_class, shape_path, whisker } from "./axes.js";
import { spread } from "./labels.js";
import { has_interval, interval_text, left_out_text } from "./rows.js";

/** @typedef {{point: any, pointer: string, threads: number, index: number}} Point */
/** @typedef {{title: string, shape: string, lines: {name: string, index: number, points: Point[]}[]}} Panel */

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw(figure, report) {
  const { scaling } = report;
  if (!scaling || scaling.counts.length < 2) return false;
  const { panels, left_out } = panels_of(scaling);
  if (!panels.length) return false;
  repaint(figure, () => paint(figure, scaling, panels));
  note(figure, left_out_text(left_out));
  return true;
}

/** A panel an operation and shape. @param {any} scaling */
function panels_of(scaling) {
  /** @type {Map<string, Panel>} */
  const panels = new Map();
  /** @type {{name: string, why: string}[]} */
  const left_out = [];
  const counts = scaling.counts.map((/** @type {any} */ count) => count.threads);
  const variants = Array.from(new Set(scaling.rows.map((/** @type {any} */ row) => row.variant)));
  scaling.rows.forEach((/** @type {any} */ row, /** @type {number} */ r) => {
    const index = variants.indexOf(row.variant);
    /** @type {Point[]} */
    const all = row.points.map((/** @type {any} */ point, /** @type {number} */ c) => {
      return { point, pointer: `/scaling/rows/${r}/points/${c}`, threads: counts[c], index };
    });
    const points = all.filter((p) => p.point.speedup !== null);
    if (!points.length) {
      left_out.push({ name: `${row.op} ${row.variant}`, why: "no speed-up" });
      return;
    }
    const key = `${row.op} ${row.shape}`;
    /** @type {Panel} */
    const panel = panels.get(key) ?? { title: row.op, shape: row.shape, lines: [] };
    panel.lines.push({ name: row.variant, index, points: points.sort((a, b) => a.threads - b.threads) });
    panels.set(key, panel);
  });
  return { panels: Array.from(panels.values()), left_out };
}

/** @param {HTMLElement} figure @param {any} scaling @param {Panel[]} panels */
function paint(figure, scaling, panels) {
  const label = "Speed-up against the number of threads, by operation";
  const width = width_of(figure);
  const columns = Math.max(1, Math.min(panels.length, 4, Math.floor(width / 280)));
  const size = { width: width / columns, height: 250 };
  const { svg } = frame(figure, { height: Math.ceil(panels.length / columns) * size.height, label });
  const counts = scaling.counts.map((/** @type {any} */ count) => count.threads);
  const highest = Math.max(...counts);
  const lowest = scaling.base_threads;
  const points = panels.flatMap((panel) => panel.lines.flatMap((line) => line.points));
  const ends = points.flatMap(({ point }) => [point.speedup, point.speedup_ci95?.[1] ?? 0]);
  const top = Math.max(highest / lowest, max(ends) ?? 1) * 1.06;
  // Doublings are a step each once there are many of them.
  const wide = highest / lowest > 8;
  panels.forEach((panel, index) => {
    const left = (index % columns) * size.width, above = Math.floor(index / columns) * size.height;
    const group = svg.append("g").attr("transform", `translate(${left},${above})`);
    const box = { left: 30, right: size.width - 118, top: 52, bottom: size.height - 48 };
    const beyond = (highest - lowest) / 8;
    const x = wide ? scaleLog().base(2).domain([lowest / 1.15, highest * 1.25])
      : scaleLinear().domain([lowest - 2 * beyond, highest + beyond]);
    const y = wide ? scaleLog().base(2).domain([0.5, top]) : scaleLinear().domain([0, top]);
    x.range([box.left, box.right]);
    y.range([box.bottom, box.top]);
    draw_panel(figure, group, panel, { x, y, box, counts, base: lowest, highest, cpus: scaling.cpus, wide });
  });
  marks(figure, svg.selectAll(".point"), ({ point, pointer, threads, name }) => ({
    text: [`${name}, ${threads === 1 ? "1 thread" : `${threads} threads`}`,
      `speed-up ${quantity(point.speedup)}${interval_text(point.speedup_ci95, quantity)}`,
      `efficiency ${percent(point.efficiency)}`, duration(point.time_ns)],
    pointer, value: point.speedup, key: "speedup",
  }));
}

/** @param {HTMLElement} figure @param {any} svg @param {Panel} panel @param {any} place */
function draw_panel(figure, svg, panel, { x, y, box, counts, base, highest, cpus, wide }) {
  const title = svg.append("text").attr("class", "line-heading").attr("y", 14).attr("aria-hidden", "true");
  title.text(short(panel.title, 30));
  svg.append("text").attr("class", "line-note").attr("y", 28).attr("aria-hidden", "true")
    .text(short(panel.shape, Math.floor(box.right / 5.2)));
  axis(svg, { side: "bottom", scale: x, ticks: counts, text: String, title: "threads", box });
  const ticks = wide ? counts.map((/** @type {number} */ n) => n / base) : y.ticks(4);
  axis(svg, { side: "left", scale: y, ticks, text: String, title: "", box });
  svg.append("text").attr("class", "axis-title").attr("y", 44).attr("aria-hidden", "true").text("speed-up");
  if (highest > cpus) {
    const from = Math.max(box.left, x(cpus));
    svg.append("rect").attr("class", "band").attr("x", from).attr("y", box.top).attr("width", box.right - from)
      .attr("height", box.bottom - box.top);
    svg.append("text").attr("class", "reference-label").attr("x", box.right - 3).attr("y", box.bottom - 5)
      .attr("text-anchor", "end").attr("aria-hidden", "true").text(`over ${cpus} CPUs`);
  }
  svg.append("line").attr("class", "reference-line").attr("x1", x(base)).attr("y1", y(1)).attr("x2", x(highest))
    .attr("y2", y(highest / base));
  const ends = [{ name: "ideal", look: "neutral", height: y(highest / base) }];
  for (const { name, index, points } of panel.lines) {
    const { speedup } = points[points.length - 1].point;
    ends.push({ name: `${name} ${quantity(speedup)}`, look: series_class(index), height: y(speedup) });
  }
  const heights = spread(ends.map((end) => end.height + 4), 14, box.top, box.bottom);
  ends.forEach(({ name, look }, i) => {
    svg.append("text").attr("class", `series-label ${look}`).attr("x", box.right + 8).attr("y", heights[i])
      .attr("aria-hidden", "true").text(short(name, 19));
  });
  panel.lines.forEach(({ name, index, points }, i) => {
    svg.append("path").attr("class", `series-line ${series_class(index)}`)
      .attr("d", polyline(points.map((p) => [x(p.threads), y(p.point.speedup)])));
    // Intervals of equal speed-ups stand beside each other.
    const shift = (i - (panel.lines.length - 1) / 2) * 4;
    const groups = svg.append("g").selectAll(".point")
      .data(points.map((p) => ({ ...p, name: `${panel.title} ${name}` }))).enter().append("g")
      .attr("class", `point ${series_class(index)}`);
    groups.filter((/** @type {any} */ p) => has_interval(p.point.speedup_ci95)).append("path")
      .attr("class", "whisker")
      .attr("d", (/** @type {any} */ p) =>
        whisker(x(p.threads) + shift, y(p.point.speedup_ci95[0]), y(p.point.speedup_ci95[1]), "vertical"));
    const at = (/** @type {any} */ p) => `translate(${x(p.threads) + shift},${y(p.point.speedup)})`;
    groups.append("circle").attr("class", "hit").attr("r", 10).attr("transform", at);
    groups.append("path").attr("class", "symbol").attr("transform", at).attr("d", shape_path(index));
  });
}
