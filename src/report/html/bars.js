// Charts of bars: operations, layers in the order of the network, their types, shares of the
// complexity analysis, and the ladder of core types. Bars start at zero, so that lengths compare.

import { ticks } from "d3-array";
import { duration, note, percent, quantity, repaint } from "./chart.js";
import { draw_lines, kSpace } from "./bar_lines.js";
import { has_interval, interval_text, left_out_text, row_lines, row_name, shape_text, work,
  work_key } from "./rows.js";

/** @typedef {import("./bar_lines.js").Line} Line */
/** @typedef {import("./bar_lines.js").Panel} Panel */

const kQuarters = [0, 0.25, 0.5, 0.75, 1];

/** @param {HTMLElement} figure @param {Line[]} lines @param {{label: string, panels: Panel[]}} options
 * @param {string} [left_out] */
function draw(figure, lines, options, left_out = "") {
  if (!lines.some((line) => line.facts)) return false;
  repaint(figure, () => draw_lines(figure, lines, options));
  note(figure, left_out);
  return true;
}

/** @param {any} row */
function longest(row) {
  const time = work(row);
  return Math.max(time.median, time.ci95?.[1] ?? 0, row.roofline_ns ?? 0);
}

/** @param {any} row @param {number} max @param {string} look */
function time_bar(row, max, look) {
  const { median, ci95 } = work(row);
  return { value: median, max, low: ci95?.[0], high: ci95?.[1], ceiling: row.roofline_ns,
    text: duration(median), look };
}

/** @param {any} row @param {string} pointer */
function time_facts(row, pointer) {
  return { text: row_lines(row), pointer, value: work(row).median, key: work_key(row) };
}

/** @param {any[]} rows */
function untimed(rows) {
  return left_out_text(rows.filter((row) => !work(row))
    .map((row) => ({ name: row_name(row), why: row.reason ?? "no time" })));
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_operations(figure, report) {
  const rows = report.rows ?? [];
  /** @type {Map<string, {row: any, pointer: string}[]>} */
  const groups = new Map();
  rows.forEach((/** @type {any} */ row, /** @type {number} */ index) => {
    if (!work(row)) return;
    const key = [row.op, shape_text(row), row.threads].join("|");
    groups.set(key, (groups.get(key) ?? []).concat({ row, pointer: `/rows/${index}` }));
  });
  /** @type {Line[]} */
  const lines = [];
  for (const group of groups.values()) {
    const { row: first } = group[0];
    // Times of different operations are not alike by orders of magnitude: each has its own scale.
    const max = Math.max(...group.map(({ row }) => longest(row)));
    const heading = first.threads > 1 ? `${first.op}, ${first.threads} threads` : first.op;
    lines.push({ heading, note: shape_text(first) });
    for (const { row, pointer } of group) {
      lines.push({
        name: row.variant,
        bars: [time_bar(row, max, row.optimised ? "plain" : "faint"), peak_bar(row)],
        facts: time_facts(row, pointer),
      });
    }
  }
  const panels = [
    { title: "time of a call, an operation its own scale; │ its roofline time", part: 0.58 },
    { title: "of the FMA peak", part: 0.42, ticks: kQuarters, text: percent_tick },
  ];
  return draw(figure, lines, { label: "Time and share of the peak of each operation", panels }, untimed(rows));
}

/** Above 100 % there is room for the ends of intervals.
 * @param {any} row */
function peak_bar(row) {
  const [low, high] = row.peak_fraction_ci95 ?? [null, null];
  return { value: row.peak_fraction, max: 1.1, low, high, text: peak_text(row), look: "accent" };
}

/** @param {any} row */
function peak_text(row) {
  if (row.gflops === null) return "no FLOP";
  return row.peak_fraction === null ? "no peak" : `${percent(row.peak_fraction)} of peak`;
}

/** @param {number} x */
function percent_tick(x) {
  return `${Math.round(x * 100)} %`;
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_layers(figure, report) {
  const layers = report.layers ?? [];
  const timed = layers.filter(work);
  const max = Math.max(...timed.map(longest));
  /** @type {Line[]} */
  const lines = [];
  layers.forEach((/** @type {any} */ layer, /** @type {number} */ index) => {
    if (!work(layer)) return;
    const bar = time_bar(layer, max, layer.far_above ? "slow" : "plain");
    const words = [bar.text, percent(layer.share), layer.gflops === null ? "" : peak_text(layer)];
    bar.text = words.filter(Boolean).join(kSpace);
    const flag = layer.far_above ? "▲ slow" : "";
    lines.push({ name: layer.label, bars: [bar], flag, facts: time_facts(layer, `/layers/${index}`) });
  });
  const title = "time, share of the network and of the FMA peak; │ its roofline time";
  const panels = [{ title, part: 1, ticks: ticks(0, max, 5), text: duration }];
  return draw(figure, lines, { label: "Time of each layer in the order of the network", panels },
    untimed(layers));
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_layer_types(figure, report) {
  const types = report.layer_types ?? [];
  const max = Math.max(...types.map((/** @type {any} */ type) => type.elapsed_ns));
  const lines = types.map((/** @type {any} */ type, /** @type {number} */ index) => {
    const time = duration(type.elapsed_ns), share = percent(type.share);
    const layers = type.occurrence === 1 ? "1 layer" : `${type.occurrence} layers`;
    return {
      name: type.name,
      bars: [{ value: type.elapsed_ns, max, text: [time, share, layers].join(kSpace), look: "plain" }],
      facts: {
        text: [type.name, `${time} an inference, ${share} of the layers`, layers],
        pointer: `/layer_types/${index}`, value: type.elapsed_ns, key: "elapsed_ns",
      },
    };
  });
  const title = "time of all layers of a type, share, how many";
  const panels = [{ title, part: 1, ticks: ticks(0, max, 4), text: duration }];
  return draw(figure, lines, { label: "Time by type of layer", panels });
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_modules(figure, report) {
  const most = 20;
  const all = (report.modules ?? []).filter((/** @type {any} */ module) => module.self_ns);
  const modules = all.slice(0, most);
  const max = Math.max(...modules.map((/** @type {any} */ module) => module.self_ns));
  const lines = modules.map((/** @type {any} */ module) => {
    const time = duration(module.self_ns), share = percent(module.self_share);
    const calls = `${module.occurrence} times`;
    return {
      name: module.name,
      bars: [{ value: module.self_ns, max, text: [time, share, calls].join(kSpace), look: "plain" }],
      facts: {
        text: [module.name, `${time}, ${share} of the wall time, ${calls}`, module.evidence ?? ""],
        pointer: `/modules/${report.modules.indexOf(module)}`, value: module.self_ns, key: "self_ns",
      },
    };
  });
  const title = "self time of a layer, share of the program's wall time, occurrence";
  const panels = [{ title, part: 1, ticks: ticks(0, max, 4), text: duration }];
  return draw(figure, lines, { label: "Self time of the layers", panels },
    all.length > most ? `The ${most} longest of ${all.length} are drawn.` : "");
}

/** Shares that are nearly all, or nearly none, are told apart by a digit more.
 * @param {number} x */
function share_text(x) {
  return `${(x * 100).toFixed(x > 0 && x < 0.01 ? 2 : 1)} %`;
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_complexity(figure, report) {
  const kinds = [
    { key: "model_share", name: "complexity model", look: "outline" },
    { key: "roofline_share", name: "roofline", look: "faint" },
    { key: "time_share", name: "measured time", look: "accent" },
  ];
  /** @type {Line[]} */
  const lines = [];
  (report.complexity?.rows ?? []).forEach((/** @type {any} */ row, /** @type {number} */ index) => {
    const factor = row.ceiling_factor === null ? "" : `${quantity(row.ceiling_factor)} times its roofline time`;
    lines.push({ heading: row.op, note: factor });
    for (const { key, name, look } of kinds) {
      if (row[key] === null) continue;
      lines.push({
        name,
        bars: [{ value: row[key], max: 1, text: share_text(row[key]), look }],
        facts: { text: [`${row.op}: ${name}`, `${share_text(row[key])} of the pass`, factor],
          pointer: `/complexity/rows/${index}`, value: row[key], key },
      });
    }
  });
  const title = `share of the pass ${report.complexity?.pass ?? ""}`.trim();
  const panels = [{ title, part: 1, ticks: kQuarters, text: percent_tick }];
  return draw(figure, lines,
    { label: "Share of each operation: complexity model, roofline, measured", panels });
}

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_ladder(figure, report) {
  const base = report.blas?.ladder ? "/blas/ladder" : "/ladder";
  const rungs = report.blas?.ladder ?? report.ladder ?? [];
  const max = Math.max(1, ...rungs
    .map((/** @type {any} */ rung) => rung.peak_fraction_ci95?.[1] ?? rung.peak_fraction ?? 0));
  /** @type {Line[]} */
  const lines = [];
  /** @type {{name: string, why: string}[]} */
  const left_out = [];
  rungs.forEach((/** @type {any} */ rung, /** @type {number} */ index) => {
    const name = [rung.provider, rung.version, rung.core ?? ""].filter(Boolean).join(" ");
    if (rung.peak_fraction === null) {
      left_out.push({ name, why: rung.reason ?? "not measured" });
      return;
    }
    const interval = has_interval(rung.peak_fraction_ci95) ? rung.peak_fraction_ci95 : [null, null];
    const facts = [
      name,
      `${percent(rung.peak_fraction)} of peak${interval_text(interval, percent)}, ${quantity(rung.gflops)} GFLOP/s`,
      rung.vector_class ? `vectors: ${rung.vector_class}` : "",
      `setting: ${rung.setting}`,
      rung.as_found ? "what programs get here" : "",
      rung.own ? "hwprof's own, not installed" : "",
      rung.library,
    ];
    const setting = rung.as_found || rung.setting === "auto" ? "" : rung.setting;
    const words = [percent(rung.peak_fraction), rung.vector_class, setting, rung.own ? "not installed" : ""];
    const text = words.filter(Boolean).join(kSpace);
    const look = rung.as_found ? "accent" : rung.own ? "outline" : "plain";
    lines.push({
      name,
      bars: [{ value: rung.peak_fraction, max, low: interval[0], high: interval[1], text, look }],
      flag: rung.as_found ? "◀ what programs get" : "",
      facts: { text: facts, pointer: `${base}/${index}`, value: rung.peak_fraction, key: "peak_fraction" },
    });
  });
  const panels = [{ title: "sgemm, of the FMA peak", part: 1, ticks: kQuarters, text: percent_tick }];
  return draw(figure, lines, { label: "sgemm by core type and library, of the FMA peak", panels },
    left_out_text(left_out));
}
