// What training came to: loss and accuracy by epoch, a line a variant, and below them where its time went.

import { extent, max } from "d3-array";
import { scaleLinear, scaleLog } from "d3-scale";
import { duration, frame, marks, note, percent, quantity, repaint, short, width_of } from "./chart.js";
import { axis, log_ticks, polyline, series_class, shape_path } from "./axes.js";
import { spread } from "./labels.js";

/** @typedef {{index: number, name: string, points: {epoch: any, pointer: string}[]}} Curve */

const kBar = 44;

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw(figure, report) {
  const { training } = report;
  if (!training) return false;
  /** @type {Curve[]} */
  const curves = training.runs.map((/** @type {any} */ run, /** @type {number} */ index) => ({
    index, name: run.variant,
    points: run.epochs.map((/** @type {any} */ epoch, /** @type {number} */ e) => {
      return { epoch, pointer: `/training/runs/${index}/epochs/${e}` };
    }),
  }));
  if (!curves.length) return false;
  repaint(figure, () => paint(figure, training, curves));
  const cut = training.runs.filter((/** @type {any} */ run) => run.reason);
  note(figure, cut.map((/** @type {any} */ run) => `${run.variant}: ${run.reason}`).join("; "));
  return true;
}

/** @param {HTMLElement} figure @param {any} training @param {Curve[]} curves */
function paint(figure, training, curves) {
  const label = "Loss and accuracy by epoch, and the time of each phase";
  const width = width_of(figure);
  const beside = width >= 560;
  const panel = { width: beside ? width / 2 : width, height: 250 };
  const drawn = curves.filter((curve) => curve.points.length);
  const curves_height = drawn.length ? panel.height * (beside ? 1 : 2) : 0;
  const { svg } = frame(figure, { height: curves_height + 56 + training.runs.length * kBar, label });
  if (drawn.length) {
    draw_curves(figure, svg.append("g"), drawn, { key: "loss", title: "loss", text: quantity, ...panel });
    const second = svg.append("g")
      .attr("transform", beside ? `translate(${panel.width},0)` : `translate(0,${panel.height})`);
    draw_curves(figure, second, drawn,
      { key: "accuracy", title: "accuracy on held-out images", text: percent, ...panel });
  }
  draw_phases(figure, svg.append("g").attr("transform", `translate(0,${curves_height})`), training.runs, width);
}

/** @param {HTMLElement} figure @param {any} svg @param {Curve[]} curves @param {any} options */
function draw_curves(figure, svg, curves, { key, title, text, width, height }) {
  const box = { left: 44, right: width - 90, top: 28, bottom: height - 52 };
  const all = curves.flatMap((curve) => curve.points);
  const [first, last] = /** @type {number[]} */ (extent(all, ({ epoch }) => epoch.epoch));
  const x = scaleLinear().domain([first - 0.3, Math.max(last, first + 1) + 0.3]).range([box.left, box.right]);
  const values = /** @type {number[]} */ (extent(all, ({ epoch }) => epoch[key]));
  // A loss falls by powers; an accuracy is a share, of which the whole is 100 %.
  const y = key === "loss" && values[0] > 0
    ? scaleLog().domain([values[0] / 1.2, values[1] * 1.2]).range([box.bottom, box.top])
    : scaleLinear().domain([Math.min(values[0], 0.9) - 0.03, 1]).range([box.bottom, box.top]);
  const epochs = x.ticks(Math.min(10, last - first + 1)).filter(Number.isInteger);
  axis(svg, { side: "bottom", scale: x, ticks: epochs, text: String, title: "epoch", box });
  axis(svg, { side: "left", scale: y, ticks: key === "loss" ? log_ticks(y, 20) : y.ticks(5), text, title, box });
  const last_heights = curves.map(({ points }) => y(points[points.length - 1].epoch[key]) + 4);
  const heights = spread(last_heights, 14, box.top, box.bottom);
  curves.forEach(({ name, points, index }, i) => {
    svg.append("path").attr("class", `series-line ${series_class(index)}`)
      .attr("d", polyline(points.map(({ epoch }) => [x(epoch.epoch), y(epoch[key])])));
    const end = text(points[points.length - 1].epoch[key]);
    svg.append("text").attr("class", `series-label ${series_class(index)}`)
      .attr("x", x(points[points.length - 1].epoch.epoch) + 8).attr("y", heights[i]).attr("aria-hidden", "true")
      .text(short(`${name} ${end}`, 17));
    const groups = svg.append("g").selectAll("g").data(points).enter().append("g")
      .attr("class", `point ${series_class(index)}`);
    const at = (/** @type {any} */ p) => `translate(${x(p.epoch.epoch)},${y(p.epoch[key])})`;
    groups.append("circle").attr("class", "hit").attr("r", 9).attr("transform", at);
    groups.append("path").attr("class", "symbol").attr("transform", at).attr("d", shape_path(index, 40));
    marks(figure, groups, ({ epoch, pointer }) => ({
      text: [`${name}, epoch ${epoch.epoch}: ${title}`, `loss ${quantity(epoch.loss)}`,
        `accuracy ${percent(epoch.accuracy)}`, `${quantity(epoch.samples_per_s)} samples/s`],
      pointer, value: epoch[key], key,
    }));
  });
}

/** A bar a variant, its phases one after the other. @param {HTMLElement} figure @param {any} svg
 * @param {any[]} runs @param {number} width */
function draw_phases(figure, svg, runs, width) {
  const total = (/** @type {any} */ run) =>
    run.phases.reduce((/** @type {number} */ sum, /** @type {any} */ phase) => sum + phase.total_ns, 0);
  const x = scaleLinear().domain([0, max(runs, total) || 1]).range([1, width - 1]);
  const names = Array.from(new Set(runs.flatMap((run) => run.phases
    .map((/** @type {any} */ phase) => phase.name))));
  const box = { left: 1, right: width - 1, top: 22, bottom: 26 + runs.length * kBar };
  const ticks = x.ticks(width < 560 ? 3 : 6);
  axis(svg, { side: "bottom", scale: x, ticks, text: duration, title: "", box, flush: true });
  svg.append("text").attr("class", "axis-title").attr("y", 14).attr("aria-hidden", "true")
    .text("time of each phase, over all epochs");
  runs.forEach((run, index) => {
    const y = 22 + index * kBar;
    svg.append("text").attr("class", "line-name").attr("y", y + 13).attr("aria-hidden", "true")
      .text(short(run.variant, 40));
    let start = 0;
    const phases = run.phases.map((/** @type {any} */ phase, /** @type {number} */ p) => {
      start += phase.total_ns;
      return { phase, from: start - phase.total_ns, pointer: `/training/runs/${index}/phases/${p}` };
    });
    const groups = svg.append("g").selectAll("g").data(phases).enter().append("g")
      .attr("class", (/** @type {any} */ { phase }) => `segment ${series_class(names.indexOf(phase.name))}`);
    groups.append("rect").attr("class", "part").attr("y", y + 18).attr("height", 20)
      .attr("x", (/** @type {any} */ p) => x(p.from))
      .attr("width", (/** @type {any} */ p) => Math.max(1, x(p.from + p.phase.total_ns) - x(p.from)));
    svg.append("g").attr("class", "texts").attr("aria-hidden", "true").selectAll("text").data(phases).enter()
      .append("text").attr("class", "part-label").attr("x", (/** @type {any} */ p) => x(p.from) + 5)
      .attr("y", y + 32)
      .text((/** @type {any} */ p) => part_text(p.phase, x(p.from + p.phase.total_ns) - x(p.from)));
    marks(figure, groups, ({ phase, pointer }) => ({
      text: [`${run.variant}: ${phase.name}`,
        `${duration(phase.total_ns)}, ${percent(phase.share)} of the training`,
        phase.gflops === null ? "no FLOP"
          : `${quantity(phase.gflops)} GFLOP/s, ${percent(phase.peak_fraction)} of peak`],
      pointer, value: phase.total_ns, key: "total_ns",
    }));
  });
}

/** As much as has room: name and share, the name, or nothing. @param {any} phase @param {number} room */
function part_text(phase, room) {
  const texts = [`${phase.name} ${percent(phase.share)}`, phase.name, short(phase.name, 4)];
  return texts.find((text) => text.length * 6.4 + 8 < room) ?? "";
}
