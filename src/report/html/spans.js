// The spans of a trace in lanes, and what of them is drawn. Nothing here touches the page.

import { bisector } from "d3-array";

/** @typedef {{name: string, thread: string, depth: number, start_ns: number, duration_ns: number, region?: string,
 *  line?: {file: string, line: number, function: string}, stack?: string[]}} Span */
/** @typedef {Span & {of: string}} Pointed with the JSON pointer of what it is */
/** @typedef {Pointed & {end_ns: number}} Placed */
/** @typedef {{thread: string, rows: Placed[][]}} Lane a row a depth; by time */
/** @typedef {{spans: Placed[], start_ns: number, end_ns: number, lane: number, depth: number}} Mark
 *  One span, or several that are too narrow to tell apart. */
/** @typedef {{from: number, to: number}} Window in ns */

/** @param {Span[]} spans @param {string} of where in the JSON they are @returns {Pointed[]} */
export function pointed(spans, of) {
  return spans.map((span, index) => ({ ...span, of: `${of}/${index}` }));
}

/** Calls of a BLAS in the lanes of regions: each in its thread's, a row below the region that it is in. A lane
 * of regions is named by a name and the thread's number, which is all that a call has.
 * @param {Pointed[]} regions @param {Pointed[]} calls @param {number} later ns from the first region to the first
 * call @returns {Pointed[]} */
export function set_in(regions, calls, later) {
  const lanes = new Map(lanes_of(regions).map((lane) => [lane.thread.split(" ").pop(), lane]));
  return calls.map((call) => {
    const start_ns = call.start_ns + later;
    const lane = lanes.get(call.thread);
    // Its middle: clocks that were set beside each other may be some ns apart.
    return { ...call, start_ns, thread: lane?.thread ?? call.thread,
      depth: lane ? depth_at(lane, start_ns + call.duration_ns / 2) : 0 };
  });
}

/** How many rows are above what is inside of all regions open at a time.
 * @param {Lane} lane @param {number} ns */
function depth_at({ rows }, ns) {
  for (let depth = rows.length; depth > 0; --depth) {
    const last = rows[depth - 1][by_start.right(rows[depth - 1], ns) - 1];
    if (last && last.end_ns >= ns) return depth;
  }
  return 0;
}

/** A lane a thread, in the order of their first spans.
 * @param {Pointed[]} spans @returns {Lane[]} */
export function lanes_of(spans) {
  /** @type {Map<string, Placed[][]>} */
  const lanes = new Map();
  spans.forEach((span) => {
    const rows = lanes.get(span.thread) ?? [];
    lanes.set(span.thread, rows);
    while (rows.length <= span.depth) rows.push([]);
    rows[span.depth].push({ ...span, end_ns: span.start_ns + span.duration_ns });
  });
  return [...lanes].map(([thread, rows]) => {
    for (const row of rows) row.sort((a, b) => a.start_ns - b.start_ns);
    return { thread, rows };
  });
}

/** From the first start to the last end.
 * @param {Span[]} spans @returns {Window} */
export function extent_of(spans) {
  let from = Infinity;
  let to = -Infinity;
  for (const { start_ns, duration_ns } of spans) {
    from = Math.min(from, start_ns);
    to = Math.max(to, start_ns + duration_ns);
  }
  return { from, to: Math.max(to, from + 1) };
}

export const by_start = bisector((/** @type {Placed} */ span) => span.start_ns);
const by_end = bisector((/** @type {Placed} */ span) => span.end_ns);

const CELL = 16; // pixels that one mark of several spans covers at most, so that it can be zoomed to

/** What of the lanes a window shows: neighbours narrower than a pixel become one mark, and narrower than
 * more pixels where that were more than `most` marks.
 * @param {Lane[]} lanes @param {Window} window @param {number} pixel in ns @param {number} most
 * @returns {Mark[]} */
export function visible(lanes, { from, to }, pixel, most = 3000) {
  for (let narrow = pixel; ; narrow *= 2) {
    // Cells stand still while the window moves.
    const cell = (/** @type {number} */ ns) => Math.floor(ns / (CELL * narrow));
    /** @type {Mark[]} */
    const marks = [];
    lanes.forEach(({ rows }, lane) =>
      rows.forEach((row, depth) => {
        /** @type {Mark | null} */
        let open = null;
        for (let at = by_end.right(row, from); at < row.length && row[at].start_ns < to; ++at) {
          const span = row[at];
          const close = open && span.start_ns - open.end_ns < narrow && cell(span.start_ns) === cell(open.start_ns);
          if (open && close && span.duration_ns < narrow && open.spans[0].duration_ns < narrow) {
            open.spans.push(span);
            open.end_ns = Math.max(open.end_ns, span.end_ns);
          } else {
            open = { spans: [span], start_ns: span.start_ns, end_ns: span.end_ns, lane, depth };
            marks.push(open);
          }
        }
      }),
    );
    if (marks.length <= most) return marks;
  }
}

/** The mark nearest in time in the next row with any: below if `sign` is 1, above if it is -1.
 * @param {Mark[]} marks @param {Mark} from @param {1 | -1} sign @returns {Mark | null} */
export function in_next_row(marks, from, sign) {
  let best = null;
  let least = [Infinity, Infinity];
  for (const mark of marks) {
    const rows = sign * ((mark.lane - from.lane) * 1e6 + mark.depth - from.depth);
    const time = Math.max(0, mark.start_ns - from.end_ns, from.start_ns - mark.end_ns);
    if (rows <= 0 || rows > least[0] || (rows === least[0] && time >= least[1])) continue;
    best = mark;
    least = [rows, time];
  }
  return best;
}

/** The part of `all` that a zoom about `centre` leaves; never outside of it, nor shorter than 10 ns.
 * @param {Window} window @param {number} factor below 1: nearer @param {number} centre @param {Window} all
 * @returns {Window} */
export function zoomed({ from, to }, factor, centre, all) {
  const length = Math.min(all.to - all.from, Math.max(10, (to - from) * factor));
  return moved({ from: centre - (centre - from) * (length / (to - from)), to: 0 }, 0, length, all);
}

/** The window moved by `distance`, of a length, kept inside `all`.
 * @param {Window} window @param {number} distance @param {number} length @param {Window} all @returns {Window} */
export function moved({ from }, distance, length, all) {
  const start = Math.max(all.from, Math.min(all.to - length, from + distance));
  return { from: start, to: start + length };
}
