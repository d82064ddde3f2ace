// Lines of bars: a name, one or two bars from zero, and the numbers at their ends. On a narrow page a
// line is stacked: name and numbers above, the first bar below them.

import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { frame, marks, short, text_width, width_of } from "./chart.js";
import { axis, whisker } from "./axes.js";

/** @typedef {import("./chart.js").Facts} Facts */
/** @typedef {{value: number | null, max: number, low?: number | null, high?: number | null, ceiling?: number | null,
 *   text: string, look: string}} Bar `max`: what the whole width stands for; `ceiling`: a stroke across the bar */
/** @typedef {{heading?: string, note?: string, name?: string, bars?: Bar[], flag?: string, facts?: Facts}} Line
 *  With a heading (`note` is what is left out first), or with bars. */
/** @typedef {{title: string, part: number, ticks?: number[], text?: (x: number) => string}} Panel
 *  `part` of the width; `ticks` in the unit of the bars where all lines have the same `max` */

const kNarrow = 560;
/** Between numbers: an en space, since svg text runs ordinary ones together. */
export const kSpace = "\u2002";

/** @param {HTMLElement} figure @param {Line[]} lines @param {{label: string, panels: Panel[]}} options */
export function draw_lines(figure, lines, { label, panels }) {
  const width = width_of(figure);
  const stacked = width < kNarrow;
  const shown = stacked ? panels.slice(0, 1) : panels;
  const top = shown.some((panel) => panel.ticks) ? 44 : 24;
  const line_height = stacked ? 34 : lines.length > 40 ? 18 : 22;
  const heading_height = stacked ? 34 : 32;
  let y = top;
  const placed = lines.map((line) => {
    const height = line.heading !== undefined ? heading_height : line_height;
    y += height;
    return { line, y: y - height, height };
  });
  const { svg } = frame(figure, { height: y + 6, label });
  const measure = measure_of(figure);
  const columns = columns_of(measure, lines, shown, width, stacked);
  shown.forEach((panel, index) =>
    draw_head(svg, panel, columns[index], lines, index, { top, bottom: y, stacked, width, measure }));

  const groups = svg.selectAll(".line").data(placed).enter().append("g")
    .attr("class", (/** @type {any} */ { line }) => `line ${line.heading !== undefined ? "heading" : ""}`)
    .attr("transform", (/** @type {any} */ d) => `translate(0,${d.y})`);
  groups.each(function (/** @type {any} */ { line, height }) {
    // @ts-ignore
    const group = select(this);
    if (line.heading !== undefined) return draw_heading(group, line, width, { height, measure });
    // The whole line can be pointed at, not the bar alone, which may be a pixel wide. Its text stands
    // beside the mark, not in it: what the mark says of itself has other words.
    const bars = group.append("g").attr("class", "bars");
    bars.append("rect").attr("class", "hit").attr("width", width).attr("height", height);
    draw_line({ bars, texts: group.append("g").attr("class", "texts").attr("aria-hidden", "true") }, line,
      columns, { width, height, stacked, measure });
  });
  marks(figure, groups.select(".bars")
    .filter((/** @type {any} */ { line }) => line.facts), ({ line }) => line.facts);
}

/** @typedef {(text: string, font?: {size?: number, weight?: number}) => number} Measure */

/** Of each text once. @param {HTMLElement} figure @returns {Measure} */
function measure_of(figure) {
  /** @type {Map<string, number>} */
  const known = new Map();
  return (text, font = {}) => {
    const key = `${font.size} ${font.weight} ${text}`;
    const width = known.get(key) ?? text_width(figure, text, font);
    known.set(key, width);
    return width;
  };
}

/** Where each panel's bars start and end; to the right of each there is room for its longest text.
 * @param {Measure} measure @param {Line[]} lines @param {Panel[]} panels
 * @param {number} width @param {boolean} stacked */
function columns_of(measure, lines, panels, width, stacked) {
  if (stacked) return [{ left: 2, right: width - 2 }];
  const names = Math.max(0, ...lines.map((line) => measure(line.name ?? "")));
  let left = Math.min(names, width * 0.32) + 12;
  const free = width - left;
  return panels.map((panel, index) => {
    const texts = lines.map((line) => measure(with_flag(line, index), { weight: line.flag ? 600 : 400 }));
    const gap = index + 1 < panels.length ? 40 : 8;
    const from = left;
    left += free * panel.part;
    return { left: from, right: Math.max(from + 24, left - Math.max(0, ...texts) - gap) };
  });
}

/** @param {Line} line @param {number} index */
function with_flag(line, index) {
  const text = line.bars?.[index]?.text ?? "";
  return line.flag && index === 0 ? `${text}${kSpace}${line.flag}` : text;
}

/** @param {Line} line */
function look_of_text(line) {
  return line.flag ? "line-value strong" : "line-value";
}

/** @param {any} svg @param {Panel} panel @param {any} column @param {Line[]} lines @param {number} index
 * @param {any} place */
function draw_head(svg, panel, column, lines, index, { top, bottom, stacked, width, measure }) {
  const x = stacked ? 0 : column.left;
  const title = fitting(panel.title, width - x, (text) => measure(text, { size: 11 }));
  svg.append("text").attr("class", "axis-title").attr("x", x).attr("y", 12)
    .attr("aria-hidden", "true").text(title);
  const first = lines.find((line) => line.bars);
  if (!panel.ticks || !first?.bars) return;
  const max = first.bars[index].max;
  const scale = scaleLinear().domain([0, max]).range([column.left, column.right]);
  const ticks = stacked ? panel.ticks.filter((_, i) => i % 2 === 0) : panel.ticks;
  const box = { left: column.left, right: column.right, top: top - 6, bottom };
  axis(svg, { side: "top", scale, ticks, text: panel.text ?? String, title: "", box, flush: stacked });
}

/** @param {any} group @param {Line} line @param {number} width
 * @param {{height: number, measure: Measure}} options */
function draw_heading(group, line, width, { height, measure }) {
  const text = group.append("text").attr("class", "line-heading").attr("y", height - 8);
  const heading = fitting(line.heading ?? "", width, (shorter) => measure(shorter, { weight: 600 }));
  text.text(heading);
  if (!line.note) return;
  const left = measure(heading, { weight: 600 }) + 12;
  const words = fitting(line.note, width - left, (shorter) => measure(shorter, { size: 11 }));
  group.append("text").attr("class", "line-note").attr("x", left).attr("y", height - 8).text(words);
}

/** A text, shortened until it has room. @param {string} text @param {number} room
 * @param {(text: string) => number} width_of */
function fitting(text, room, width_of) {
  for (let n = text.length; n > 2; --n) {
    if (width_of(short(text, n)) <= room) return short(text, n);
  }
  return short(text, 2);
}

/** @param {{bars: any, texts: any}} groups @param {Line} line @param {any[]} columns
 * @param {{width: number, height: number, stacked: boolean, measure: Measure}} place */
function draw_line({ bars: group, texts }, line, columns, { width, height, stacked, measure }) {
  const bars = line.bars ?? [];
  const thick = stacked ? 9 : Math.min(14, height - 5);
  const middle = stacked ? height - 9 : height / 2;
  const baseline = stacked ? 13 : middle + 4;
  let room = width * 0.32;
  if (stacked) {
    const words = bars.map((bar) => bar.text).concat(line.flag ?? "").filter(Boolean).join(kSpace);
    texts.append("text").attr("class", look_of_text(line)).attr("x", width - 2).attr("y", baseline)
      .attr("text-anchor", "end").text(words);
    room = width - 12 - measure(words, { weight: line.flag ? 600 : 400 });
  }
  texts.append("text").attr("class", "line-name").attr("y", baseline)
    .text(fitting(line.name ?? "", room, measure));
  columns.forEach((column, index) => {
    const bar = bars[index];
    const scale = scaleLinear().domain([0, bar.max]).range([column.left, column.right]).clamp(true);
    let end = column.left;
    if (bar.value !== null) {
      end = scale(bar.value);
      group.append("rect").attr("class", `bar ${bar.look}`).attr("x", column.left).attr("y", middle - thick / 2)
        .attr("width", Math.max(1, end - column.left)).attr("height", thick);
      if (bar.ceiling) {
        group.append("rect").attr("class", "ceiling-stroke").attr("x", scale(bar.ceiling) - 1).attr("width", 2)
          .attr("y", middle - thick / 2 - 2).attr("height", thick + 4);
      }
      if (bar.low !== undefined && bar.low !== null && bar.high !== undefined && bar.high !== null) {
        group.append("path").attr("class", "whisker")
          .attr("d", whisker(middle, scale(bar.low), scale(bar.high), "horizontal"));
        end = Math.max(end, scale(bar.high));
      }
    }
    if (!stacked) texts.append("text").attr("class", look_of_text(line)).attr("x", end + 7).attr("y", baseline)
      .text(with_flag(line, index));
  });
}
