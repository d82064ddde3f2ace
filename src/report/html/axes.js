// Axes: few ticks that fit, with units, a grid that stays behind the data, and shapes and colours for series.

import { ticks as linear_ticks } from "d3-array";
import { axisBottom, axisLeft, axisTop } from "d3-axis";
import { symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle,
  symbolWye } from "d3-shape";

const kShapes = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar, symbolWye];

/** @param {number} index @param {number} [area] the path of its shape */
export function shape_path(index, area = 52) {
  return symbol().type(kShapes[index % kShapes.length]).size(area)();
}

/** The class that gives the colour of series `index`. @param {number} index */
export function series_class(index) {
  return `series-${(index % 8) + 1}`;
}

/** Ticks of a logarithmic scale: 1-2-5 where there is room, else every decade or every few.
 * @param {any} scale @param {number} room pixels that a tick's label needs */
export function log_ticks(scale, room) {
  const [low, high] = scale.domain();
  const decades = Math.log10(high / low);
  const [from, to] = scale.range();
  const per_decade = Math.abs(to - from) / decades;
  const steps = per_decade > room * 3.4 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(room / per_decade));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    if (power % stride !== 0) continue;
    // Negative powers are divided by: 10 ** -1 * 3 is no 0.3.
    for (const step of steps) ticks.push(power < 0 ? step / 10 ** -power : step * 10 ** power);
  }
  const inside = ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  if (inside.length >= 3 || (inside.length === 2 && decades >= 1)) return inside;
  // Less than a decade: round numbers as a linear scale has them, where they are not too dense.
  let last = NaN;
  return linear_ticks(low, high, 6).filter((tick) => {
    if (Math.abs(scale(tick) - last) < room) return false;
    last = scale(tick);
    return true;
  });
}

/** "1.00 ms" as "1 ms": ticks are round. @param {string} text */
export function plain(text) {
  return text.replace(/(\.\d*?)0+(?=\s|$)/, "$1").replace(/\.(?=\s|$)/, "");
}

/** Draws an axis with its grid and its title. `flush`: its ends are the picture's, which labels do not cross.
 * @param {any} svg
 * @param {{side: "bottom" | "left" | "top", scale: any, ticks: number[], text: (x: number) => string,
 *   title: string, box: import("./labels.js").Box, flush?: boolean}} options */
export function axis(svg, { side, scale, ticks, text, title, box, flush = false }) {
  const make = { bottom: axisBottom, left: axisLeft, top: axisTop }[side](scale);
  make.tickValues(ticks).tickFormat((/** @type {number} */ x) => plain(text(x)));
  make.tickPadding(6).tickSize(side === "left" ? box.left - box.right : box.top - box.bottom);
  const at = { bottom: [0, box.bottom], left: [box.left, 0], top: [0, box.top] }[side];
  const group = svg.append("g").attr("class", "axis").attr("transform", `translate(${at})`)
    .attr("aria-hidden", "true");
  group.call(make);
  group.select(".domain").remove();
  if (flush) {
    const [from, to] = scale.range();
    group.selectAll(".tick text").attr("text-anchor", (/** @type {number} */ tick) => {
      if (Math.abs(scale(tick) - from) < 8) return "start";
      return Math.abs(scale(tick) - to) < 14 ? "end" : "middle";
    });
  }
  if (!title) return;
  // The title of a y axis lies above it, where it is read without turning the head.
  const label = svg.append("text").attr("class", "axis-title").attr("aria-hidden", "true").text(title);
  if (side === "left") label.attr("x", 0).attr("y", box.top - 12);
  else label.attr("x", box.right).attr("y", box.bottom + 36).attr("text-anchor", "end");
}

/** A path through points. @param {[number, number][]} points */
export function polyline(points) {
  return points.length ? `M${points.join("L")}` : null;
}

/** An interval as a whisker, standing or lying.
 * @param {number} across @param {number} from @param {number} to @param {"vertical" | "horizontal"} direction */
export function whisker(across, from, to, direction) {
  return direction === "vertical"
    ? `M${across},${from}V${to}M${across - 3},${from}h6M${across - 3},${to}h6`
    : `M${from},${across}H${to}M${from},${across - 3}v6M${to},${across - 3}v6`;
}
