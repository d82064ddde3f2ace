// Where the CPU time went: the sampled stacks as a flame graph, an icicle, or from the innermost
// function outwards. Colour is the library; a search tells what part of the samples it is in.

import { format } from "d3-format";

import { element, nested_boxes } from "./boxes.js";
import { note, percent } from "./chart.js";
import { frame_reader, matcher, samples_by_library, samples_found, without_runs } from "./frames.js";
import { legend, ranks, release } from "./legend.js";
import { fold, layout } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */
/** @typedef {{name: string, title: string, inverted: boolean, upward: boolean}} View */

/** @type {View[]} */
const VIEWS = [
  { name: "Flame graph", title: "what is called stands on what calls it", inverted: false, upward: true },
  { name: "Icicle", title: "what is called hangs below what calls it", inverted: false, upward: false },
  { name: "Callers", title: "innermost functions on top, below each what called it", inverted: true, upward: false },
];

let figures = 0; // radio groups need a name of their own each

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_stacks(figure, report) {
  // Of a program that was run, or of the passes of a profile.
  const executed = report.blas?.evidence?.executed ?? report.executed;
  /** @type {import("./tree.js").Stack[]} */
  const stacks = without_runs(executed?.stacks ?? []);
  const root = fold(stacks, false);
  const all = root.value;
  if (all === 0) return false;

  const read = frame_reader(executed.symbols ?? []);
  const in_frame = (/** @type {Node} */ node) => node.kind === "frame" && node.parent !== null;
  const libraries = samples_by_library(stacks, read);
  // Libraries that only call have no sample of their own, but boxes that can be seen.
  for (const { node } of layout(root, { narrowest: 0.001 })) {
    const { library } = read(in_frame(node) ? node.name : "");
    if (library !== "" && !libraries.some(([name]) => name === library)) libraries.push([library, 0]);
  }
  const hue = ranks(libraries);

  let { inverted } = VIEWS[0];
  const inverted_root = fold(stacks, true);
  const tools = element("div", "flame-tools");
  figure.insertBefore(tools, figure.querySelector("figcaption"));
  const list = legend(
    libraries.map(([library, samples]) => [library, samples / all]),
    hue,
    "library not known",
    (names) => {
      search.clear();
      boxes.highlight(names && ((node) => in_frame(node) && names.includes(read(node.name).library)));
    },
  );
  const search = search_field((text) => {
    release(list);
    const matches = text === "" ? null : matcher(text);
    boxes.highlight(matches && ((node) => in_frame(node) && matches(node.name)));
    if (!matches) return "";
    const found = samples_found(stacks, matches);
    return found === 0 ? "No sample matches" : `${percent(found / all)} of the samples match`;
  });
  tools.append(
    view_group((view) => {
      inverted = view.inverted;
      boxes.show(inverted ? inverted_root : root, view.upward);
    }),
    search.field,
    list,
  );

  const boxes = nested_boxes(figure, {
    label: "Sampled stacks: arrow keys move, Enter zooms in, Escape zooms out",
    text: (node) => (in_frame(node) ? read(node.name).symbol : node.name),
    narrowest: 1,
    facts: (node) => facts(node, all, read, inverted),
    hue: (node) => (node.kind === "more" ? "" : in_frame(node) ? hue(read(node.name).library) : "hue-0"),
  });
  boxes.show(root, VIEWS[0].upward);
  note(figure, "A box is as wide as its share of the samples. Click or Enter zooms in, Escape zooms out.");
  return true;
}

/** @param {Node} node @param {number} all @param {(frame: string) => import("./frames.js").Frame} read
 * @param {boolean} inverted */
function facts(node, all, read, inverted) {
  const { name, value, self, parent, kind } = node;
  const of_all = `${count(value)}, ${percent(value / all)} of all`;
  if (!parent) return ["all", count(value)];
  const of_parent = parent.parent ? `${percent(value / parent.value)} of ${read(parent.name).symbol}` : "";
  if (kind === "more") return [name, of_all, of_parent];
  const { symbol, library } = read(name);
  // Among callers what is left over began here: a thread's entry, not what it computed itself.
  return [symbol, library, of_all, of_parent, inverted ? "" : `self ${count(self)}`];
}

const grouped = format(","); // not toLocaleString, which takes 20 ms the first time

/** @param {number} samples */
function count(samples) {
  return `${grouped(samples)} ${samples === 1 ? "sample" : "samples"}`;
}

/** @param {(view: View) => void} choose */
function view_group(choose) {
  const group = element("fieldset", "views");
  group.append(element("legend", "unseen", "View of the stacks"));
  const name = `stacks-view-${++figures}`;
  VIEWS.forEach((view, index) => {
    const label = group.appendChild(element("label", ""));
    label.title = view.title;
    const radio = label.appendChild(element("input", ""));
    radio.type = "radio";
    radio.name = name;
    radio.checked = index === 0;
    radio.addEventListener("change", () => choose(view));
    label.append(element("span", "", view.name));
  });
  return group;
}

/** @param {(text: string) => string} find does the search, and says what it found */
function search_field(find) {
  const field = element("div", "find");
  const label = field.appendChild(element("label", ""));
  label.append(element("span", "unseen", "Search the stacks: a text or a regular expression"));
  const input = label.appendChild(element("input", ""));
  input.type = "search";
  input.placeholder = "Search (text or regex)";
  input.spellcheck = false;
  input.autocomplete = "off";
  const said = field.appendChild(element("span", "said"));
  said.setAttribute("aria-live", "polite");
  let waiting = 0;
  input.addEventListener("input", () => {
    // Not at every key: a screen reader would read each result, and long records take a while.
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      said.textContent = find(input.value.trim());
    }, 150);
  });
  const clear = () => {
    clearTimeout(waiting);
    input.value = said.textContent = "";
  };
  return { field, clear };
}
