// The picture of the timeline: lanes with their spans, and the axis of time above them. Which window of
// time it shows, and what keys and pointer do, is timeline.js's.

import { axisBottom } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";

import { element } from "./boxes.js";
import { duration, percent } from "./chart.js";
import { by_start, visible } from "./spans.js";

/** @typedef {import("./spans.js").Mark} Mark */
/** @typedef {import("./spans.js").Window} Window */

const ROW = 20; // px, as in flame.css
const NAMED = 30; // px: a name in less says nothing
const UNITS = /** @type {[number, string][]} */ ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);

/** The name with most of a mark's time.
 * @param {Mark} mark */
function longest({ spans }) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { name, duration_ns } of spans) sums.set(name, (sums.get(name) ?? 0) + duration_ns);
  return [...sums].reduce((most, entry) => (entry[1] > most[1] ? entry : most))[0];
}

/** The part of a mark's time that is inside of a call.
 * @param {Mark} mark */
function covered({ spans, start_ns, end_ns }) {
  return spans.reduce((sum, span) => sum + span.duration_ns, 0) / (end_ns - start_ns || 1);
}

/** @param {HTMLElement} axis @param {HTMLElement} host of the lanes
 * @param {import("./spans.js").Lane[]} lanes @param {Window} all
 * @param {(name: string) => string} hue the class of a name's colour */
export function lanes_picture(axis, host, lanes, all, hue) {
  const svg = select(axis).append("svg").attr("aria-hidden", "true").attr("height", 22).attr("width", "100%");
  const rooms = lanes.map(({ thread, rows }) => {
    const name = host.appendChild(element("div", "lane-name", thread));
    name.setAttribute("aria-hidden", "true");
    const room = host.appendChild(element("div", "lane"));
    room.setAttribute("role", "group");
    room.setAttribute("aria-label", thread);
    room.style.height = `${rows.length * ROW}px`;
    return room;
  });
  const width = () => rooms[0].clientWidth || 1000;

  /** @param {Window} window @returns {{marks: Mark[], elements: HTMLElement[]}} in the same order */
  function draw({ from, to }) {
    const room_px = width(); // asked once: in between, each answer would lay out the page anew
    const part = (/** @type {number} */ ns) => Math.max(0, Math.min(1, (ns - from) / (to - from)));
    const share = (/** @type {Mark} */ mark) => part(mark.end_ns) - part(mark.start_ns);
    const single = (/** @type {Mark} */ { spans }) => (spans.length === 1 ? spans[0] : null);
    const marks = visible(lanes, { from, to }, (to - from) / room_px);
    const elements = rooms.flatMap((room, lane) =>
      select(room)
        .selectAll(".mark")
        .data(marks.filter((mark) => mark.lane === lane))
        .join("div")
        .attr("class", (/** @type {Mark} */ mark) => {
          const thin = share(mark) * room_px < 3 ? " thin" : "";
          return `mark ${hue(longest(mark))}${single(mark) ? "" : " more"}${thin}`;
        })
        .attr("role", "treeitem")
        .attr("tabindex", -1)
        .attr("aria-level", (/** @type {Mark} */ mark) => mark.depth + 1)
        .attr("aria-label", (/** @type {Mark} */ mark) => facts(mark).filter(Boolean).join(", "))
        .attr("data-value", (/** @type {Mark} */ mark) => single(mark)?.duration_ns ?? null)
        .attr("data-of", (/** @type {Mark} */ mark) => {
          const span = single(mark);
          return span && span.of;
        })
        .style("left", (/** @type {Mark} */ mark) => `${part(mark.start_ns) * 100}%`)
        .style("width", (/** @type {Mark} */ mark) => `${share(mark) * 100}%`)
        .style("top", (/** @type {Mark} */ mark) => `${mark.depth * ROW}px`)
        // Several calls are as strong as the part of the time that they cover.
        .style("--tint", (/** @type {Mark} */ mark) => (single(mark) ? null : `${8 + 34 * covered(mark)}%`))
        .text((/** @type {Mark} */ mark) => (share(mark) * room_px < NAMED ? "" : name_of(mark)))
        .nodes(),
    );
    draw_axis(from, to, room_px);
    return { marks, elements };
  }

  /** @param {number} from @param {number} to @param {number} room_px */
  function draw_axis(from, to, room_px) {
    const [unit, name] = UNITS.find(([size]) => to - from >= 2 * size) ?? UNITS[3];
    const count = Math.max(2, Math.floor(room_px / 110));
    const scale = scaleLinear().domain([(from - all.from) / unit, (to - all.from) / unit]).range([0, room_px]);
    const number = scale.tickFormat(count);
    const ticks = axisBottom(scale).ticks(count).tickSizeOuter(0)
      .tickFormat((/** @type {number} */ value) => `${number(value)} ${name}`);
    svg.selectAll("g").data([0]).join("g").attr("class", "axis").call(ticks)
      .selectAll("text")
      // Words at the edges would be cut.
      .attr("text-anchor", (/** @type {number} */ value) => {
        const x = scale(value);
        return x < 24 ? "start" : x > room_px - 24 ? "end" : "middle";
      });
  }

  /** @param {Mark} mark */
  function name_of({ spans }) {
    return spans.length === 1 ? spans[0].name : `… ${spans.length} calls`;
  }

  /** The lines of a mark's tooltip.
   * @param {Mark} mark @returns {string[]} */
  function facts(mark) {
    const [first] = mark.spans;
    const { thread, rows } = lanes[mark.lane];
    const from = `from ${duration(first.start_ns - all.from)}, thread ${thread}`;
    if (mark.spans.length > 1) {
      const names = new Set(mark.spans.map(({ name }) => name));
      const some = [...names].slice(0, 3).join(", ") + (names.size > 3 ? `, … ${names.size - 3} more` : "");
      return [name_of(mark), some, `within ${duration(mark.end_ns - mark.start_ns)}`, from];
    }
    const outside = rows[mark.depth - 1] ?? [];
    const outer = outside[by_start.right(outside, first.start_ns) - 1];
    const of_outer = outer && outer.end_ns >= first.end_ns ? `${percent(first.duration_ns / outer.duration_ns)} of ${outer.name}` : "";
    const { region, line, stack } = first;
    const called = [
      region ? `in ${region}` : "",
      line ? `line ${line.file}:${line.line}` : "",
      stack ? `called from ${stack.join(", in ")}` : "",
    ].filter(Boolean);
    return [first.name, duration(first.duration_ns), of_outer, ...called, from];
  }

  return { draw, facts };
}
