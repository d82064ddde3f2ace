// Stacks and regions as trees, and a tree as boxes to draw. Nothing here touches the page.
//
// A tree grows where it is looked at: 100,000 stacks of 60 frames would be millions of nodes, while a
// screen has room for some hundreds of boxes that are wider than a pixel.

import { bisector } from "d3-array";

/** @typedef {{frames: string[], samples: number}} Stack outermost frame first */
/** @typedef {{node: Node, x: number, width: number, level: number, under: boolean}} Box
 *  `x` and `width` are parts of the whole width; `under`: encloses what was zoomed to. */

export class Node {
  /** @param {string} name @param {number} value samples or ns, with all that is nested
   * @param {Node | null} parent @param {(node: Node) => Node[]} grow makes the nested ones, when first asked for
   * @param {"frame" | "self" | "more"} kind @param {{pointer?: string, row?: any}} region */
  constructor(name, value, parent, grow, kind = "frame", { pointer, row } = {}) {
    this.name = name;
    this.value = value;
    this.parent = parent;
    this.kind = kind;
    this.pointer = pointer;
    this.row = row;
    /** @type {number} */
    this.depth = parent ? parent.depth + 1 : 0; // frames outside of it
    this.grow = grow;
    /** @type {Node[] | null} */
    this.grown = null;
  }

  get kids() {
    if (!this.grown) this.grown = this.grow(this);
    return this.grown;
  }

  /** What is left of the value without the nested ones. */
  get self() {
    return Math.max(0, this.value - total(this.kids));
  }

  /** What the width stands for: regions of several threads may have more inside than they took. */
  get extent() {
    return Math.max(this.value, total(this.kids));
  }
}

const leaf = () => [];

/** @param {Node[]} nodes */
function total(nodes) {
  let sum = 0;
  for (const node of nodes) sum += node.value;
  return sum;
}

/** The tree of stacks, widest first. `inverted`: from the innermost frame on, so that below a function
 * stand those that called it.
 * @param {Stack[]} stacks @param {boolean} inverted */
export function fold(stacks, inverted) {
  /** @param {Node} parent @param {Stack[]} members @returns {Node[]} */
  const grow = (parent, members) => {
    /** @type {Map<string, {samples: number, members: Stack[]}>} */
    const groups = new Map();
    for (const stack of members) {
      const { frames, samples } = stack;
      if (parent.depth >= frames.length) continue;
      const frame = frames[inverted ? frames.length - 1 - parent.depth : parent.depth];
      const group = groups.get(frame);
      if (group) {
        group.samples += samples;
        group.members.push(stack);
      } else {
        groups.set(frame, { samples, members: [stack] });
      }
    }
    return [...groups]
      .map(([name, group]) => new Node(name, group.samples, parent, (node) => grow(node, group.members)))
      .sort((a, b) => b.value - a.value);
  };
  let samples = 0;
  for (const stack of stacks) samples += stack.samples;
  return new Node("all", samples, null, (node) => grow(node, stacks));
}

/** The tree of regions by path, in the order of their rows, each with its own time as a box of its own.
 * @param {any[]} rows of `regions.rows` */
export function region_tree(rows) {
  /** @type {Map<string, {row: any, index: number, inner: any[]}>} the last row of a path */
  const by_path = new Map();
  /** @type {{row: any, index: number, inner: any[]}[]} */
  const outermost = [];
  rows.forEach((row, index) => {
    if (row.total_ns === null || row.path.length === 0) return;
    const entry = { row, index, inner: [] };
    // Rows that the view left out are skipped: what was in them hangs on what encloses it.
    let length = row.path.length - 1;
    while (length > 0 && !by_path.has(key(row.path, length))) --length;
    (by_path.get(key(row.path, length))?.inner ?? outermost).push(entry);
    by_path.set(key(row.path, row.path.length), entry);
  });
  /** @param {Node | null} parent @param {{row: any, index: number, inner: any[]}} entry @returns {Node} */
  const plant = (parent, { row, index, inner }) => {
    const region = { pointer: `/regions/rows/${index}`, row };
    return new Node(row.name, row.total_ns, parent, (node) => {
      const kids = inner.map((kid) => plant(node, kid));
      if (kids.length && row.self_ns > 0)
        kids.push(new Node("self", row.self_ns, node, leaf, "self", region));
      return kids;
    }, "frame", region);
  };
  if (outermost.length === 1) return plant(null, outermost[0]);
  const sum = outermost.reduce((ns, { row }) => ns + row.total_ns, 0);
  return new Node("all", sum, null, (node) => outermost.map((entry) => plant(node, entry)));
}

/** @param {string[]} path @param {number} length */
function key(path, length) {
  return JSON.stringify(path.slice(0, length));
}

const by_width = bisector((/** @type {{width: number}} */ entry) => entry.width);

/** The boxes of what is in `top`, and of what encloses it: the widest `budget` nodes; the others of a
 * parent are one box "… n more", which can be zoomed to as well. Outermost first.
 * @param {Node} top @param {{narrowest: number, budget?: number}} limits `narrowest`: part of the width
 * @returns {Box[]} */
export function layout(top, { narrowest, budget = 1500 }) {
  const chosen = new Set();
  const waiting = [{ node: top, width: 1 }];
  while (chosen.size < budget) {
    const widest = waiting.pop();
    if (!widest) break;
    chosen.add(widest.node);
    const scale = widest.width / (widest.node.extent || 1);
    for (const kid of widest.node.kids) {
      const width = kid.value * scale;
      if (width >= narrowest) waiting.splice(by_width.left(waiting, width), 0, { node: kid, width });
    }
  }

  /** @type {Box[]} */
  const boxes = [];
  for (let node = top.parent; node; node = node.parent) boxes.unshift({ node, x: 0, width: 1, level: 0, under: true });
  boxes.forEach((box, level) => (box.level = level));

  /** @param {Node} node @param {number} x @param {number} width @param {number} level */
  const place = (node, x, width, level) => {
    boxes.push({ node, x, width, level, under: false });
    const scale = width / (node.extent || 1);
    const rest = [];
    for (const kid of node.kids) {
      if (chosen.has(kid)) {
        place(kid, x, kid.value * scale, level + 1);
        x += kid.value * scale;
      } else if (kid.kind !== "self") {
        rest.push(kid);
      }
    }
    const value = total(rest);
    if (rest.length === 0 || value * scale < narrowest) return;
    const more = new Node(`… ${rest.length} more`, value, node, () => rest, "more");
    boxes.push({ node: more, x, width: value * scale, level: level + 1, under: false });
  };
  place(top, 0, 1, boxes.length);
  return boxes;
}
