// Seven colours for the names that weigh most, one for all others, and a list of what has which.

import { element } from "./boxes.js";
import { percent } from "./chart.js";

const OWN = 7; // --series-8 is for the others

/** The class of each name's colour, by the sum of its weights. "" has none.
 * @param {[string, number][]} weights @returns {(name: string) => string} */
export function ranks(weights) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const [name, weight] of weights) sums.set(name, (sums.get(name) ?? 0) + weight);
  sums.delete("");
  const order = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const numbers = new Map(order.map((name, index) => [name, Math.min(index, OWN) + 1]));
  return (name) => (name === "" ? "hue-0" : `hue-${numbers.get(name) ?? OWN + 1}`);
}

/** The colours of regions by name, most self time first; the same in each chart.
 * @param {any} regions of the JSON */
export function region_ranks({ rows, trace }) {
  /** @type {[string, number][]} */
  const weights = rows.map((/** @type {any} */ row) => [row.name, row.self_ns ?? 0]);
  const known = new Set(weights.map(([name]) => name));
  for (const { name, duration_ns } of trace?.spans ?? []) if (!known.has(name)) weights.push([name, duration_ns]);
  return ranks(weights);
}

/** The colours of calls: of a routine and a shape, most time first.
 * @param {{name: string, duration_ns: number}[]} spans */
export function call_ranks(spans) {
  return ranks(spans.map(({ name, duration_ns }) => [name, duration_ns]));
}

/** A list of names, each a button that picks what has its colour. The last stands for all others.
 * @param {[string, number][]} shares name and share of all, largest first
 * @param {(name: string) => string} hue @param {string} nameless what "" is called
 * @param {(names: string[] | null) => void} pick null: none any more */
export function legend(shares, hue, nameless, pick) {
  const list = element("ul", "legend");
  /** @type {Map<string, {names: string[], share: number}>} */
  const entries = new Map();
  for (const [name, share] of shares) {
    const entry = entries.get(hue(name)) ?? { names: [], share: 0 };
    entries.set(hue(name), entry);
    entry.names.push(name);
    entry.share += share;
  }
  for (const [colour, { names, share }] of entries) {
    const button = list.appendChild(element("li", "")).appendChild(element("button", ""));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    const name = names.length === 1 ? names[0] || nameless : `${names.length} others`;
    button.append(
      element("span", `swatch ${colour}`),
      element("span", "name", name),
      element("span", "share", share === 0 ? "only calls" : share < 0.0005 ? "< 0.1 %" : percent(share)),
    );
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") === "true";
      release(list);
      button.setAttribute("aria-pressed", String(!pressed));
      pick(pressed ? null : names);
    });
  }
  return list;
}

/** No name is picked any more.
 * @param {HTMLElement} list */
export function release(list) {
  list.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", "false"));
}
