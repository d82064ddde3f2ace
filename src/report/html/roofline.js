// The roofline: what each row reached against its intensity, under the ceilings of the same run.
// Samuel Williams et al., "Roofline", 2009: both axes logarithmic, so that bandwidths are parallels.

import { median } from "d3-array";
import { scaleLog } from "d3-scale";
import { frame, marks, note, quantity, repaint, width_of } from "./chart.js";
import { axis, log_ticks, polyline, series_class, shape_path, whisker } from "./axes.js";
import { draw_ceilings } from "./ceilings.js";
import { add_entry, draw_links, draw_rings, executed_of, symbol_area } from "./executed.js";
import { place_labels } from "./labels.js";
import { executed_lines, has_interval, left_out_text, peer_lines, row_lines, row_name } from "./rows.js";

/** @typedef {{row: any, place: any, pointer: string, colour: number, shape: number, slow: boolean, peer?: boolean,
 *   executed?: boolean, partner?: any}} Point
 *  `row`: of the profile, or a peer that does the work of one. `place`: what has intensity and rate: the row, or
 *  what it executed; then `partner` has those by its model, null where these have no point. */

// A cross of two lines: no shape of a row is without an area.
const kPeerPath = "M-5,-5L5,5M-5,5L5,-5";
const kLabel = "Roofline: GFLOP/s against intensity in FLOP/B, both axes logarithmic";

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw(figure, report) {
  const { points, left_out } = points_of(report);
  if (!points.length || !report.peak) return false;
  const by_model = points.filter(({ executed }) => !executed);
  let shown = points;
  repaint(figure, () => paint(figure, report, shown));
  if (by_model.length < points.length && by_model.length) {
    add_entry(figure, (executed) => paint(figure, report, (shown = executed ? points : by_model)));
  }
  note(figure, left_out_text(left_out));
  return true;
}

/** Rows with a rate and an intensity, and those without, with the reason. @param {any} report */
function points_of(report) {
  /** @type {Point[]} */
  const points = [];
  /** @type {{name: string, why: string}[]} */
  const left_out = [];
  for (const key of ["rows", "layers"]) {
    (report[key] ?? []).forEach((/** @type {any} */ row, /** @type {number} */ index) => {
      const pointer = `/${key}/${index}`;
      const drawn = row.gflops > 0 && row.intensity > 0;
      if (drawn) {
        points.push({ row, place: row, pointer, colour: 0, shape: 0, slow: Boolean(row.far_above) });
      } else {
        const why = row.reason ?? row.gflops_reason ?? "no intensity";
        left_out.push({ name: `${row.op} ${row.variant}`, why });
      }
      const executed = executed_of(row, pointer, drawn);
      if (executed.point) points.push(executed.point);
      if (executed.left_out) left_out.push(executed.left_out);
    });
  }
  const peers = peers_of(report);
  const operations = distinct(points.concat(peers).map(({ row }) => row.op));
  const variants = distinct(points.map(({ row }) => row.variant));
  // Peers are in the colour of the rows whose work they do.
  for (const point of points.concat(peers)) point.colour = operations.indexOf(point.row.op);
  for (const point of points) {
    // Of a network all layers are one variant: there the shape, too, says which operation it is.
    point.shape = point.row.label === undefined ? variants.indexOf(point.row.variant) : point.colour;
  }
  return { points: points.concat(peers), left_out };
}

/** @param {any} report @returns {Point[]} */
function peers_of(report) {
  return (report.peers?.points ?? []).map((/** @type {any} */ row, /** @type {number} */ index) => ({
    row, place: row, pointer: `/peers/points/${index}`, colour: 0, shape: 0, slow: false, peer: true,
  })).filter((/** @type {Point} */ { row }) => row.gflops > 0 && row.intensity > 0);
}

/** @param {string[]} names */
function distinct(names) {
  return Array.from(new Set(names));
}

/** @param {HTMLElement} figure @param {any} report @param {Point[]} points */
function paint(figure, report, points) {
  const width = width_of(figure);
  const height = Math.round(Math.max(440, Math.min(600, width * 0.56)));
  const { svg } = frame(figure, { height, label: kLabel });
  const box = { left: 44, right: width - 8, top: 30, bottom: height - 44 };
  const narrow = width < 560;
  const { x, y } = scales(report, points, box, narrow);
  const text = quantity;
  axis(svg, { side: "bottom", scale: x, ticks: log_ticks(x, 36), text, title: "intensity, FLOP/B", box });
  axis(svg, { side: "left", scale: y, ticks: log_ticks(y, 20), text, title: "GFLOP/s", box });
  const taken = draw_ceilings(svg, report, { x, y, box, narrow });
  const leaders = svg.append("g").attr("aria-hidden", "true");
  draw_points(figure, svg, points, { x, y });
  if (points.some(({ peer }) => peer)) draw_legend(svg, box);
  draw_labels(svg, points, { x, y, box, taken, leaders });
}

/** From where the fastest level's line can be labelled to beyond the last point. On a narrow page labels
 * need room above the roof.
 * @param {any} report @param {Point[]} points @param {any} box @param {boolean} narrow */
function scales(report, points, box, narrow) {
  const bandwidths = /** @type {number[]} */ (Object.values(report.peak.bandwidth_gbs));
  const of_counts = (report.scaling?.counts ?? []).map((/** @type {any} */ count) => count.peak_gflops);
  const intensities = points.map(({ place }) => place.intensity);
  const rates = points.flatMap(({ place }) => {
    return has_interval(place.gflops_ci95) ? [place.gflops, ...place.gflops_ci95] : [place.gflops];
  });
  const highest = Math.max(report.peak.f32_gflops, ...of_counts, ...rates);
  const ridges = bandwidths.map((bandwidth) => report.peak.f32_gflops / bandwidth);
  const low = Math.min(...intensities.map((i) => i / 1.6), ...ridges.map((ridge) => ridge / 6));
  const high = Math.max(...intensities.map((i) => i * 2.2), ...ridges.map((ridge) => ridge * 3));
  return {
    x: scaleLog().domain([low, high]).range([box.left, box.right]),
    y: scaleLog().domain([Math.min(...rates) / 1.9, highest * (narrow ? 2.8 : 1.5)]).range([box.bottom, box.top]),
  };
}

/** @param {HTMLElement} figure @param {any} svg @param {Point[]} points @param {{x: any, y: any}} scales */
function draw_points(figure, svg, points, { x, y }) {
  draw_links(svg, points, { x, y }, series_of);
  const groups = svg.append("g").selectAll(".point").data(points).enter().append("g")
    .attr("class", (/** @type {Point} */ p) =>
      `point ${series_of(p)}${p.peer ? " peer" : ""}${p.executed ? " executed" : ""}`);
  const at = (/** @type {Point} */ { place }) => `translate(${x(place.intensity)},${y(place.gflops)})`;
  groups.filter((/** @type {Point} */ p) => has_interval(p.place.gflops_ci95)).append("path")
    .attr("class", "whisker")
    .attr("d", (/** @type {Point} */ { place }) =>
      whisker(x(place.intensity), y(place.gflops_ci95[0]), y(place.gflops_ci95[1]), "vertical"));
  draw_rings(groups.filter((/** @type {Point} */ p) => p.executed), { x, y }, at);
  groups.append("circle").attr("class", "hit").attr("r", 11).attr("transform", at);
  groups.append("path")
    .attr("class", (/** @type {Point} */ p) => (p.row.optimised === false ? "symbol hollow" : "symbol"))
    .attr("transform", at).attr("d", (/** @type {Point} */ p) => (p.peer ? kPeerPath : shape_path(p.shape, symbol_area(p))));
  marks(figure, groups, ({ row, place, pointer, peer, executed }) => {
    const text = peer ? peer_lines(row) : executed ? executed_lines(row) : row_lines(row);
    return { text, pointer, value: place.gflops, key: "gflops" };
  });
}

/** @param {Point} point */
function series_of({ slow, colour }) {
  return slow ? "slow" : series_class(colour);
}

/** What the one mark without a shape of the rows is: beside the title of the axis.
 * @param {any} svg @param {any} box */
function draw_legend(svg, box) {
  const at = svg.append("g").attr("class", "peer peer-legend").attr("aria-hidden", "true")
    .attr("transform", `translate(${box.right - 4},${box.top - 16})`);
  const text = at.append("text").attr("text-anchor", "end").attr("dy", "0.32em").text("peer (scripts/bench)");
  const width = text.node().getComputedTextLength();
  at.append("path").attr("class", "symbol").attr("d", kPeerPath).attr("transform", `translate(${-width - 11},0)`);
}

/** @param {Point} point */
function label_of({ row, slow, peer, executed }) {
  if (peer) return row.name;
  if (executed) return `${row_name(row)}, executed`;
  return `${row.label === undefined ? row_name(row) : row.op}${slow ? " ▲ slow" : ""}`;
}

/** A label for all points of one name, at the one in their middle. What was executed has none where a line leads
 * to its row.
 * @param {any} svg @param {Point[]} points @param {any} place */
function draw_labels(svg, points, { x, y, box, taken, leaders }) {
  /** @type {Map<string, Point[]>} */
  const groups = new Map();
  for (const point of points.filter(({ partner }) => !partner)) {
    const key = `${point.peer ? point.row.op : ""} ${label_of(point)}`;
    groups.set(key, (groups.get(key) ?? []).concat(point));
  }
  const labels = Array.from(groups.values(), (group) => {
    const name = label_of(group[0]);
    const middle = median(group, ({ place }) => Math.log(place.gflops)) ?? 0;
    const off = (/** @type {Point} */ { place }) => Math.abs(Math.log(place.gflops) - middle);
    const anchor = group.reduce((a, b) => (off(a) <= off(b) ? a : b));
    const text = group.length > 1 ? `${name} ×${group.length}` : name;
    const node = svg.append("text")
      .attr("class", `point-label ${series_of(anchor)}`)
      .attr("aria-hidden", "true").text(text);
    return { node, x: x(anchor.place.intensity), y: y(anchor.place.gflops),
      width: node.node().getComputedTextLength(), height: 14, anchor };
  });
  const around = points.map(({ place, executed }) =>
    box_around(x(place.intensity), y(place.gflops), executed ? 8 : 6));
  const places = place_labels(labels, { texts: taken.texts, points: around.concat(taken.lines) },
    { left: box.left + 2, right: box.right, top: box.top, bottom: box.bottom - 2 });
  labels.forEach(({ node, anchor }, index) => {
    const place = places[index];
    if (!place) return node.remove();
    node.attr("x", place.x).attr("y", place.y + 4);
    if (!place.leader) return;
    const [x1, y1, x2, y2] = place.leader;
    leaders.append("path").attr("class", `leader ${series_of(anchor)}`)
      .attr("d", polyline([[x1, y1], [x2, y2]]));
  });
}

/** @param {number} x @param {number} y @param {number} radius */
function box_around(x, y, radius) {
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}
