// The ceilings of a roofline, each labelled on its line: peaks lie flat, bandwidths rise.

import { quantity } from "./chart.js";

/** @typedef {import("./labels.js").Box} Box */
/** @typedef {{x: any, y: any, box: Box, narrow: boolean}} Place */

const kTextHeight = 13;

/** @param {any} svg @param {any} report @param {Place} place
 * @returns {{texts: Box[], lines: Box[]}} what labels keep away from */
export function draw_ceilings(svg, report, place) {
  const group = svg.append("g").attr("class", "ceilings").attr("aria-hidden", "true");
  const peaks = peaks_of(report, place.narrow);
  draw_roof(group, report.peak, peaks[0].gflops, place);
  const { texts, lines } = draw_peaks(group, peaks, report.peak, place);
  return { texts: texts.concat(draw_bandwidths(group, report.peak, place)), lines };
}

/** What lies above the roof cannot be reached.
 * @param {any} group @param {any} peak @param {number} highest @param {Place} place */
function draw_roof(group, peak, highest, { x, y, box }) {
  const fastest = Math.max(...Object.values(peak.bandwidth_gbs));
  const [low] = x.domain();
  const ridge = Math.max(box.left, x(highest / fastest));
  const foot = Math.min(box.bottom, y(low * fastest));
  group.append("path").attr("class", "out-of-reach")
    .attr("d", `M${box.left},${box.top}H${box.right}V${y(highest)}H${ridge}L${box.left},${foot}Z`);
}

/** @param {any} report @param {boolean} narrow the axis alone says the unit
 * @returns {{gflops: number, name: string}[]} highest first */
function peaks_of(report, narrow) {
  const { peak } = report;
  const rate = narrow ? quantity(peak.f32_gflops) : `${quantity(peak.f32_gflops)} GFLOP/s`;
  const peaks = [{ gflops: peak.f32_gflops, name: `FMA peak ${rate} (${peak.isa})` }];
  for (const [isa, gflops] of Object.entries(peak.by_isa)) {
    // Another width may come out a hair above the one that is called the peak.
    if (isa !== peak.isa && gflops <= peak.f32_gflops) peaks.push({ gflops, name: `${isa} ${quantity(gflops)}` });
  }
  for (const count of report.scaling?.counts ?? []) {
    if (count.threads === report.threads) continue;
    const name = `FMA peak ${quantity(count.peak_gflops)}, ${count.threads} threads`;
    peaks.push({ gflops: count.peak_gflops, name });
  }
  return peaks.sort((a, b) => b.gflops - a.gflops);
}

/** Labels end at the right edge, but on a narrow page, where points need it, those of whole roofs start at
 * the left end; of peaks too near each other for a label each, the first has their names.
 * @param {any} group @param {{gflops: number, name: string}[]} peaks @param {any} peak @param {Place} place */
function draw_peaks(group, peaks, peak, { x, y, box, narrow }) {
  const fastest = Math.max(...Object.values(peak.bandwidth_gbs));
  /** @type {Box[]} */
  const texts = [];
  /** @type {Box[]} */
  const lines = [];
  let above = -Infinity;
  /** @type {any} */
  let text = null;
  for (const { gflops, name } of peaks) {
    const at = y(gflops);
    if (at > box.bottom) continue;
    const from = Math.min(box.right, Math.max(box.left, x(gflops / fastest)));
    group.append("line").attr("class", gflops === peak.f32_gflops ? "ceiling roof" : "ceiling").attr("x1", from)
      .attr("x2", box.right).attr("y1", at).attr("y2", at);
    lines.push({ left: from, right: box.right, top: at, bottom: at });
    if (at - above < kTextHeight + 2) {
      if (narrow) continue;
      const alone = text.text();
      text.text(`${alone}, ${name}`);
      if (text.node().getComputedTextLength() > box.right - from - 8) text.text(alone);
    } else {
      const at_left = narrow && gflops >= peak.f32_gflops;
      text = group.append("text").attr("class", "ceiling-label").attr("x", at_left ? from + 4 : box.right - 2)
        .attr("y", at - 5).attr("text-anchor", at_left ? "start" : "end").text(name);
      above = at;
    }
    const { x: left, width } = text.node().getBBox();
    texts.push({ left: left - 2, right: left + width + 2, top: above - 5 - kTextHeight, bottom: above - 2 });
  }
  return { texts, lines };
}

/** @param {any} group @param {any} peak @param {Place} place @returns {Box[]} */
function draw_bandwidths(group, peak, { x, y, box }) {
  const [low] = x.domain();
  const [lowest] = y.domain();
  // In pixels a factor of ten is as long on one axis as on the other only by chance.
  const rise = Math.abs(y(10) - y(1)) / Math.abs(x(10) - x(1));
  const angle = -Math.atan(rise);
  /** @type {Box[]} */
  const taken = [];
  let last = -Infinity;
  for (const [level, gbs] of by_speed(peak.bandwidth_gbs)) {
    const start = Math.max(low, lowest / gbs);
    const x1 = x(start), y1 = y(start * gbs);
    const x2 = x(peak.f32_gflops / gbs), y2 = y(peak.f32_gflops);
    group.append("line").attr("class", "ceiling").attr("x1", x1).attr("y1", y1).attr("x2", x2).attr("y2", y2);
    // How far this line is from the last labelled one, at a right angle.
    const offset = (x(1 / gbs) - x(1)) * Math.sin(-angle);
    if (offset - last < kTextHeight + 1) continue;
    last = offset;
    const text = group.append("text").attr("class", "ceiling-label").text(`${level} ${quantity(gbs)} GB/s`);
    const width = text.node().getComputedTextLength();
    const length = Math.hypot(x2 - x1, y2 - y1);
    const along = Math.max(6, Math.min(12, length - width - 4));
    const at_x = x1 + along * Math.cos(angle) + 4 * Math.sin(angle);
    const at_y = y1 + along * Math.sin(angle) - 4 * Math.cos(angle);
    text.attr("transform", `translate(${at_x},${at_y}) rotate(${(angle * 180) / Math.PI})`);
    for (let d = 0; d <= width; d += 8) {
      const cx = at_x + d * Math.cos(angle), cy = at_y + d * Math.sin(angle);
      taken.push({ left: cx - 8, right: cx + 4, top: cy - 9, bottom: cy + 2 });
    }
  }
  return taken;
}

/** @param {Record<string, number>} bandwidths fastest first: the leftmost line */
function by_speed(bandwidths) {
  return Object.entries(bandwidths).sort(([, a], [, b]) => b - a);
}
