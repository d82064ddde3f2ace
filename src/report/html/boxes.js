// Nested boxes that zoom: what the flame graph and the icicles are drawn with.
//
// The boxes are HTML elements, not SVG: the browser then clips and shortens their names itself, and a
// zoom with 3,000 of them stays quick. To a screen reader they are a tree whose items tell their level,
// so that it hands the arrow keys to the page.

import { select } from "d3-selection";

import { repaint, short, tooltip } from "./chart.js";
import { layout } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Box} Box */
/** @typedef {object} Options
 * @property {string} label of the tree, for a screen reader
 * @property {(node: Node) => string} text in the box
 * @property {(node: Node) => string[]} facts of the tooltip; the first line is the name
 * @property {(node: Node) => string} hue a class
 * @property {number} narrowest px; what is narrower is part of "… n more"
 * @property {(node: Node) => void} [choose] instead of zooming, but for "… n more" */

const ROW = 20; // px, as in flame.css
const NAMED = 30; // px: a name in less says nothing

/** An element with a class and a text.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {string} name @param {string} [text] @returns {HTMLElementTagNameMap[T]} */
export function element(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

/** Adds the boxes to `figure`, above its caption; `show` gives them their tree.
 * @param {HTMLElement} figure @param {Options} options */
export function nested_boxes(figure, { label, text, facts, hue, narrowest, choose }) {
  const trail = element("div", "trail");
  trail.setAttribute("role", "group");
  trail.setAttribute("aria-label", "Zoom");
  const scroll = element("div", "boxes-scroll");
  const host = scroll.appendChild(element("div", "boxes"));
  host.setAttribute("role", "tree");
  host.setAttribute("aria-label", label);
  const caption = figure.querySelector("figcaption");
  figure.insertBefore(trail, caption);
  figure.insertBefore(scroll, caption);
  const tip = tooltip(figure);

  /** @type {Node} */
  let top;
  let upward = false;
  /** @type {(node: Node) => boolean} */
  let found = () => false;
  let searching = false;
  /** @type {Box[]} */
  let drawn = [];
  let current = 0; // the box that is the tab stop

  const mark_of = (/** @type {number} */ index) => /** @type {HTMLElement} */ (host.children[index]);
  const index_of = (/** @type {EventTarget | null} */ target) =>
    target instanceof HTMLElement && target.parentElement === host ? drawn.indexOf(select(target).datum()) : -1;

  function draw() {
    const width = host.clientWidth || 1000;
    drawn = layout(top, { narrowest: narrowest / width });
    const levels = 1 + drawn.reduce((most, box) => Math.max(most, box.level), 0);
    host.style.height = `${levels * ROW}px`;
    current = Math.max(0, drawn.findIndex((box) => box.node === top));
    select(host)
      .selectAll(".mark")
      .data(drawn)
      .join("div")
      .attr("class", (box) => class_of(box, box.width * width))
      .attr("role", "treeitem")
      .attr("tabindex", (box, index) => (index === current ? 0 : -1))
      .attr("aria-level", (box) => box.level + 1)
      .attr("aria-label", (box) => facts(box.node).filter(Boolean).join(", "))
      .attr("data-value", (box) => box.node.value)
      .attr("data-of", (box) => box.node.pointer ?? null)
      .style("left", (box) => `${box.x * 100}%`)
      .style("width", (box) => `${box.width * 100}%`)
      .style("top", (box) => `${(upward ? levels - 1 - box.level : box.level) * ROW}px`)
      .text((box) => (box.width * width < NAMED ? "" : text(box.node)));
    draw_trail();
  }

  /** @param {Box} box @param {number} pixels */
  function class_of({ node, under }, pixels) {
    const hit = found(node) || (node.kind === "more" && node.kids.some(found));
    const flags = { under, thin: pixels < 3, found: hit, missed: searching && !hit };
    const names = Object.entries(flags).filter(([, is]) => is).map(([name]) => name);
    return ["mark", node.kind, hue(node), ...names].join(" ");
  }

  function draw_trail() {
    trail.hidden = !top.parent;
    if (!top.parent) return trail.replaceChildren();
    /** @type {Node[]} */
    const path = [];
    for (let node = /** @type {Node | null} */ (top); node; node = node.parent) path.unshift(node);
    const list = element("ol", "");
    path.forEach((node, index) => {
      const inner = path.length - 1 - index;
      if (inner > 3 && index > 0) {
        if (inner === 4) list.append(element("li", "", "…"));
        return;
      }
      const item = list.appendChild(element("li", ""));
      if (inner === 0) {
        item.append(element("span", "here", short(text(node), 40)));
        return;
      }
      const button = item.appendChild(element("button", "crumb", short(text(node), 40)));
      button.type = "button";
      button.addEventListener("click", () => zoom(node));
    });
    const reset = element("button", "framed reset", "Reset zoom");
    reset.type = "button";
    reset.addEventListener("click", () => zoom(path[0]));
    trail.replaceChildren(reset, list);
  }

  /** @param {Node} node @param {boolean} [tell] shows the tooltip as well */
  function zoom(node, tell = false) {
    tip.hide();
    top = node;
    draw();
    // Room for what is inside of it; two of those that enclose it stay in sight.
    scroll.scrollTop = (upward ? -ROW : ROW) * (drawn[current].level - 2);
    focus(current, tell);
  }

  /** @param {number} index @param {boolean} tell */
  function focus(index, tell) {
    mark_of(current).tabIndex = -1;
    current = index;
    const mark = mark_of(index);
    mark.tabIndex = 0;
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "nearest" });
    if (tell) tip.show({ target: mark }, facts(drawn[index].node));
  }

  /** @param {Box} box @param {boolean} tell */
  function press({ node }, tell) {
    if (choose && node.kind !== "more") choose(node);
    else zoom(node, tell);
  }

  /** The box that an arrow key leads to. By place, since what encloses a zoomed one is as wide as it.
   * @param {Box} box @param {string} key */
  function neighbour(box, key) {
    const inward = upward ? "ArrowUp" : "ArrowDown";
    const aside = key === "ArrowLeft" || key === "ArrowRight";
    const level = box.level + (aside ? 0 : key === inward ? 1 : -1);
    const middle = box.x + box.width / 2;
    const row = drawn.filter((other) => other.level === level);
    if (key === "ArrowLeft") return row[row.indexOf(box) - 1];
    if (key === "ArrowRight") return row[row.indexOf(box) + 1];
    if (key !== inward) return row.find((other) => other.x <= middle && other.x + other.width >= middle);
    return row.find((other) => other.x >= box.x - 1e-9 && other.x < box.x + box.width);
  }

  host.addEventListener("click", (event) => {
    const index = index_of(event.target);
    if (index < 0) return;
    focus(index, false);
    press(drawn[index], /** @type {PointerEvent} */ (event).pointerType === "touch");
  });
  host.addEventListener("keydown", (event) => {
    const index = index_of(event.target);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) {
      const next = neighbour(drawn[index], event.key);
      if (next) focus(drawn.indexOf(next), true);
    } else if (event.key === "Home") {
      focus(0, true);
    } else if (event.key === "Enter" || event.key === " ") {
      press(drawn[index], true);
    } else if (event.key === "Escape" && top.parent) {
      // A step that can be seen: what encloses it with nothing beside is no wider.
      let outer = top.parent;
      while (outer.parent && outer.value === top.value) outer = outer.parent;
      zoom(outer, true);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  host.addEventListener("focusin", (event) => {
    const index = index_of(event.target);
    if (index >= 0) tip.show({ target: event.target }, facts(drawn[index].node));
  });
  host.addEventListener("focusout", tip.hide);
  host.addEventListener("pointermove", (event) => {
    const index = index_of(event.target);
    if (index >= 0) tip.show(event, facts(drawn[index].node));
    else tip.hide();
  });
  host.addEventListener("pointerleave", tip.hide);

  return {
    /** @param {Node} root @param {boolean} from_below outermost at the bottom */
    show(root, from_below) {
      const first = top === undefined;
      top = root;
      upward = from_below;
      scroll.classList.toggle("upward", upward);
      if (first) {
        repaint(figure, () => {
          const focused = host.contains(document.activeElement);
          draw();
          if (focused) focus(current, false);
        });
      } else {
        draw();
        scroll.scrollTop = 0; // where the outermost is
      }
    },
    /** Marks the boxes that `test` finds; null: no search.
     * @param {((node: Node) => boolean) | null} test */
    highlight(test) {
      searching = test !== null;
      found = test ?? (() => false);
      draw();
    },
  };
}
