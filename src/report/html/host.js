// The record of one host of a fleet, in a dialog: its word, its reason, what to do, and its numbers. What
// it has not is said to be absent, and why.

import { element } from "./boxes.js";
import { percent, quantity, select_row } from "./chart.js";
import { clipboard_button } from "./clipboard.js";

/** What a host's word is read as, and its sign.
 * @type {{word: string, sign: string, name: string}[]} */
export const kWords = [
  { word: "pass", sign: "✓", name: "pass" },
  { word: "fail", sign: "✕", name: "fail" },
  { word: "unknown", sign: "?", name: "unknown" },
  { word: "stale", sign: "↺", name: "stale" },
  { word: "unreadable", sign: "≠", name: "unreadable" },
  { word: "no_record", sign: "–", name: "no record" },
  { word: "unavailable", sign: "‖", name: "unavailable" },
];

/** @param {string} word */
export function word_of(word) {
  return kWords.find((one) => one.word === word) ?? { word, sign: "·", name: word };
}

/** @param {string} name @param {string} sign which a screen reader does not say: words beside it do */
function silent(name, sign) {
  const made = element("span", name, sign);
  made.setAttribute("aria-hidden", "true");
  return made;
}

/** @param {string} word */
export function sign_of(word) {
  return silent(`sign-of word-${word}`, word_of(word).sign);
}

/** Of an outlier. */
export function slow_sign() {
  return silent("slow", "▼");
}

/** Whether it has a record of this run, which can be read. @param {any} host */
export function is_checked({ state }) {
  return state === "pass" || state === "fail" || state === "unknown";
}

/** @param {HTMLElement} figure @param {any} report @returns {(index: number) => void} opens that of a host */
export function host_record(figure, report) {
  const dialog = figure.appendChild(document.createElement("dialog"));
  dialog.className = "record";
  // Beside what is in it lies its backdrop.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return (index) => {
    const host = report.hosts[index];
    const { name } = word_of(host.state);
    dialog.setAttribute("aria-label", `${host.host}: ${name}`);
    const head = element("div", "head");
    head.append(element("h3", "", host.host), button("Close", () => dialog.close()));
    const word = element("p", "word");
    word.append(sign_of(host.state), ` ${name}${host.reason ? `: ${host.reason}` : ""}`);
    const box = element("div", "inside");
    box.append(
      head,
      word,
      ...fix_of(host),
      fields(is_checked(host) ? checked(host, report) : unchecked(host)),
      button("Find in the table", () => {
        dialog.close();
        select_row(figure, `/hosts/${index}`);
      }),
    );
    dialog.replaceChildren(box);
    dialog.showModal();
  };
}

/** @param {string} text @param {() => void} press */
function button(text, press) {
  const made = element("button", "framed", text);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

/** @param {any} host @returns {HTMLElement[]} */
function fix_of({ fix }) {
  if (!fix) return [];
  const command = element("pre", "command");
  command.append(element("code", "", fix));
  const beside = element("div", "copies");
  beside.append(command);
  // Whoever could write into the folder wrote it: what is pasted is what was seen.
  if (fix.length <= 200 && /^[\x20-\x7e]*$/.test(fix)) beside.append(clipboard_button("Copy", () => fix, fix));
  return [element("p", "remark", "Fix, in the words of its record:"), beside];
}

/** @param {[string, string][]} rows */
function fields(rows) {
  const list = element("dl", "fields");
  for (const [label, text] of rows) {
    const row = list.appendChild(element("div", ""));
    row.append(element("dt", "", label), element("dd", "", text));
  }
  return list;
}

/** @param {string | null} text @param {string | null} why */
function or_reason(text, why) {
  return text ? text : `- (${why || "no reason was given"})`;
}

/** Of a host with a record of this run.
 * @param {any} host @param {any} report @returns {[string, string][]} */
function checked(host, report) {
  const group = report.groups.find((/** @type {any} */ { cpu, library }) =>
    cpu === (host.cpu ?? "") && library === (host.library ?? ""));
  const rate = host.gflops === null ? "" : `${quantity(host.gflops)} GFLOP/s on one core`;
  const of_peak = host.peak_fraction === null ? "" : `${percent(host.peak_fraction)} of the FMA peak`;
  const busy = host.busy_fraction === null ? "" : `${percent(host.busy_fraction)} of the CPUs' time meanwhile`;
  return [
    ["Verdict", or_reason(host.verdict, "the record has none")],
    ...(host.state === "pass" || host.fix ? [] : /** @type {[string, string][]} */ ([["Fix", "- (none is known)"]])),
    ["sgemm", or_reason(rate, host.gflops_reason)],
    ["Of the peak", or_reason(of_peak, host.gflops_reason)],
    ["Its kind", group ? among(host, group) : "- (no other host is known)"],
    ["Others", or_reason(busy, "the kernel does not tell")],
    ["CPU", or_reason(host.cpu, "the record does not name it")],
    ["Library", or_reason(host.library === "none" ? "" : host.library, "no BLAS was found")],
    ["Core type", or_reason(host.core, "the library names none")],
    ["Bits of results", or_reason(host.bits, "no results were compared")],
    ["Kernel", or_reason(host.kernel, "the record does not name it")],
    ["Microcode", or_reason(host.microcode, host.microcode_reason)],
    ["Taken", `${host.ended_utc}, by hwprof ${host.hwprof ?? "of unknown version"}`],
    ...found(host),
  ];
}

/** @param {any} host @param {any} group */
function among({ gflops, times_slower }, group) {
  const median = group.gflops === null ? "" : `median ${quantity(group.gflops)} GFLOP/s`;
  if (times_slower) return `▼ ${quantity(times_slower)} times slower than the ${median}`;
  const limit = group.limit_gflops === null ? `no outliers: ${group.limit_reason}`
    : gflops === null ? "" : `no outlier: those are below ${quantity(group.limit_gflops)} GFLOP/s`;
  return [median, limit].filter(Boolean).join("; ") || "- (none has a rate)";
}

/** Of one without.
 * @param {any} host @returns {[string, string][]} */
function unchecked(host) {
  return [
    ["Numbers, CPU, library", "- (no record of this run that can be read)"],
    ...(host.ended_utc ? /** @type {[string, string][]} */ ([["Taken", host.ended_utc]]) : []),
    ...found(host),
  ];
}

/** @param {any} host @returns {[string, string][]} */
function found({ file, run_id, notes }) {
  return [
    ["Record", or_reason(file, "none was found")],
    ...(run_id ? /** @type {[string, string][]} */ ([["Run", run_id]]) : []),
    ...(notes ?? []).map((/** @type {string} */ text) => /** @type {[string, string]} */ (["Note", text])),
  ];
}
