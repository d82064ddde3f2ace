// Regions by path, outermost on top: as wide as their total time, with what was spent in themselves as
// a hatched box. A click finds the region's row in the table.

import { nested_boxes } from "./boxes.js";
import { duration, note, percent, select_row } from "./chart.js";
import { region_ranks } from "./legend.js";
import { region_tree } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_regions(figure, report) {
  const root = region_tree(report.regions?.rows ?? []);
  if (!(root.value > 0)) return false; // groups by name or type have no path: nothing is inside another
  const hue = region_ranks(report.regions);
  const boxes = nested_boxes(figure, {
    label: "Regions by path: arrow keys move, Enter finds the row in the table",
    text: ({ kind, name, value }) => (kind === "self" ? `self ${duration(value)}` : name),
    narrowest: 0, // a row of the table each, as long as there are not too many
    facts: (node) => facts(node, root),
    hue: ({ kind, row }) => (row ? hue(row.name) : kind === "more" ? "" : "hue-0"),
    choose: ({ pointer }) => {
      if (pointer) select_row(figure, pointer);
    },
  });
  boxes.show(root, false);
  note(figure, "A box is as wide as its total time; hatched: spent in itself. A click finds its row.");
  return true;
}

/** @param {Node} node @param {Node} root */
function facts({ kind, name, value, parent, row }, root) {
  const of_all = `${duration(value)}, ${percent(value / root.value)} of all`;
  const of_parent = parent?.parent ? `${percent(value / parent.extent)} of ${parent.name}` : "";
  if (!row) return [name, of_all, of_parent];
  const shape = row.shape ?? "";
  if (kind === "self") return [`${row.name}: self`, shape, `${of_all}, without nested regions`, of_parent];
  const calls = `${row.calls} ${row.calls === 1 ? "call" : "calls"}`;
  const threads = row.threads > 1 ? `${row.threads} threads` : "";
  const self = `self ${duration(row.self_ns)}`;
  return [row.path.join(" / "), shape, of_all, of_parent, self, [calls, threads].filter(Boolean).join(", ")];
}
