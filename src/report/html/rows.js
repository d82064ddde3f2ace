// What charts say of a row of a profile, of a layer, and of a point of a sweep: these have the same keys.

import { duration, percent, quantity } from "./chart.js";

/** The time that rates and tables are made of: CPU time, or of several threads the time that passed.
 * @param {any} row @returns {any} null where the row was not measured */
export function work(row) {
  return row.cpu_time_ns ?? row.time_ns;
}

/** The key of `work(row)`'s median. @param {any} row */
export function work_key(row) {
  return row.cpu_time_ns ? "cpu_time_ns.median" : "time_ns.median";
}

/** @param {any} row */
export function row_name(row) {
  const name = row.label ?? `${row.op} ${row.variant}`;
  return row.threads > 1 ? `${name}, ${row.threads} threads` : name;
}

/** @param {any} row "k=2 d_e=300" */
export function shape_text(row) {
  return Object.entries(row.shape ?? {}).map(([size, value]) => `${size}=${value}`).join(" ");
}

/** [low, high] as text, "" where there is none.
 * @param {(number | null)[] | null | undefined} interval @param {(x: number) => string} text */
export function interval_text(interval, text) {
  if (!has_interval(interval)) return "";
  const [low, high] = /** @type {number[]} */ (interval);
  return ` [${text(low)}, ${text(high)}]`;
}

/** @param {(number | null)[] | null | undefined} interval */
export function has_interval(interval) {
  return Array.isArray(interval) && interval[0] !== null && interval[1] !== null;
}

/** Of a layer what it is, too. @param {any} row */
function full_name(row) {
  return row.label ? `${row.label} (${row.name ?? row.op})` : row_name(row);
}

/** What a mark of this row says, a line each. @param {any} row @returns {string[]} */
export function row_lines(row) {
  const time = work(row);
  const of_network = row.share === undefined || row.share === null ? ""
    : `, ${percent(row.share)} of the network`;
  return [
    full_name(row),
    shape_text(row),
    time ? `${duration(time.median)}${interval_text(time.ci95, duration)}${of_network}`
      : `no time: ${row.reason}`,
    row.gflops === null ? ""
      : `${rate_text(row)}, ${percent(row.peak_fraction)} of peak`,
    row.bound && row.intensity !== null ? `${quantity(row.intensity)} FLOP/B, bound by ${bound_text(row)}` : "",
    row.roofline_fraction ? `${percent(row.roofline_fraction)} of its roofline` : "",
    row.far_above ? "▲ slow: longer than twice the mean layer" : "",
    row.roofline_flag ? `! ${row.roofline_flag}` : "",
    time ? (row.gflops_reason ?? "") : "",
  ].filter(Boolean);
}

/** What the mark of what a row executed (`--exact`) says, a line each. @param {any} row @returns {string[]} */
export function executed_lines(row) {
  const { exact } = row;
  const to_model = exact.to_model === null ? "" : `, ${exact.to_model.toFixed(3)} times the model's`;
  return [
    `${full_name(row)}, executed`,
    shape_text(row),
    `${quantity(exact.flops)} FLOP counted${to_model}`,
    `${rate_text(exact)}, over the time of the row, which is apart from the count`,
    `${quantity(exact.intensity)} FLOP/B: ${quantity(exact.bytes_loaded)}B loaded and ` +
      `${quantity(exact.bytes_stored)}B stored by instructions`,
    "bytes as registers see them, most from L1: its bandwidth bounds this point, not memory's",
    row.threads > 1 ? "one thread did the work of all for the count" : "",
  ].filter(Boolean);
}

/** What the mark of a peer says, a line each. @param {any} peer @returns {string[]} */
export function peer_lines(peer) {
  return [
    `${peer.name}, peer (scripts/bench)`,
    peer.threads > 1 ? `${peer.op}, ${peer.threads} threads` : peer.op,
    shape_text(peer),
    `${duration(peer.time_ns)}${interval_text(peer.time_ci95, duration)}`,
    rate_text(peer),
    `${quantity(peer.intensity)} FLOP/B`,
  ].filter(Boolean);
}

/** @param {any} row */
function rate_text(row) {
  return `${quantity(row.gflops)} GFLOP/s${interval_text(row.gflops_ci95, quantity)}`;
}

/** @param {any} row */
function bound_text(row) {
  if (row.bound === "compute") return "compute";
  return `memory${row.bandwidth_level ? ` (${row.bandwidth_level})` : ""}`;
}

/** "not drawn: a, b ×3 (why); c (why)", "" if nothing is left out.
 * @param {{name: string, why: string}[]} left_out */
export function left_out_text(left_out) {
  /** @type {Map<string, Map<string, number>>} */
  const by_reason = new Map();
  for (const { name, why } of left_out) {
    const names = by_reason.get(why) ?? new Map();
    by_reason.set(why, names.set(name, (names.get(name) ?? 0) + 1));
  }
  const parts = Array.from(by_reason, ([why, names]) => {
    const list = Array.from(names, ([name, count]) => (count > 1 ? `${name} ×${count}` : name));
    return `${list.join(", ")} (${why})`;
  });
  return parts.length ? `not drawn: ${parts.join("; ")}` : "";
}
