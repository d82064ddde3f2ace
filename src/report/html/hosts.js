// The hosts of a fleet: a cell each, in the order of the list, among those of one CPU model and library.
// A cell has the colour and the sign of its host's word; who presses it reads the host's record.

import { select } from "d3-selection";

import { element } from "./boxes.js";
import { note, percent, quantity, short, tooltip } from "./chart.js";
import { host_record, is_checked, kWords, sign_of, slow_sign, word_of } from "./host.js";

/** @typedef {{host: any, index: number}} Cell index in `hosts` of the JSON
 *  @typedef {{title: string, cells: Cell[]}} Kind */

const kNamed = 200; // hosts; of more the cells have signs alone
const kMost = 4000; // cells
const kLongest = 24; // characters of a name

/** @param {HTMLElement} figure @param {any} report @returns {boolean} */
export function draw_hosts(figure, report) {
  const hosts = report.hosts ?? [];
  if (!hosts.length) return false;
  /** @type {Cell[]} */
  const all = hosts.map((/** @type {any} */ host, /** @type {number} */ index) => ({ host, index }));
  const drawn = all.length <= kMost ? all : all.filter(({ host }) => !is_quiet(host)).slice(0, kMost);
  const caption = figure.querySelector("figcaption");
  figure.insertBefore(legend(report), caption);
  const grid = element("div", all.length > kNamed ? "hosts compact" : "hosts");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Hosts: arrow keys move, Enter opens the record of one");
  const longest = hosts.reduce((/** @type {number} */ most, /** @type {any} */ { host }) => Math.max(most, host.length), 0);
  grid.style.setProperty("--name", `${Math.min(longest, kLongest)}ch`);
  figure.insertBefore(grid, caption);
  for (const kind of kinds_of(report, drawn)) grid.append(...kind_of_hosts(kind));
  follow(figure, grid, report);
  if (drawn.length < all.length)
    note(figure, `${drawn.length} of ${all.length} hosts are drawn, none that passes; the table has all`);
  return drawn.length > 0;
}

/** @param {any} host */
function is_quiet(host) {
  return host.state === "pass" && !host.times_slower;
}

/** What each sign stands for, and how many hosts have it.
 * @param {any} report */
function legend({ hosts }) {
  const list = element("ul", "words");
  const add = (/** @type {HTMLElement} */ sign, /** @type {(host: any) => boolean} */ has, /** @type {string} */ what) => {
    const count = hosts.filter(has).length;
    list.appendChild(element("li", count ? "" : "none")).append(sign, element("span", "", `${count} ${what}`));
  };
  for (const { word, name } of kWords) add(sign_of(word), ({ state }) => state === word, name);
  add(slow_sign(), ({ times_slower }) => times_slower, "slower than their kind");
  return list;
}

/** As the merge groups them, most hosts first; those without a record of the run come last.
 * @param {any} report @param {Cell[]} cells @returns {Kind[]} */
function kinds_of(report, cells) {
  const key = (/** @type {any} */ { cpu, library }) => JSON.stringify([cpu ?? "", library ?? ""]);
  /** @type {Map<string, Kind>} */
  const kinds = new Map(report.groups.map((/** @type {any} */ group) => [key(group), { title: title_of(group), cells: [] }]));
  const rest = { title: "No record of this run", cells: /** @type {Cell[]} */ ([]) };
  for (const cell of cells)
    ((is_checked(cell.host) && kinds.get(key(cell.host))) || rest).cells.push(cell);
  return [...kinds.values(), rest].filter((kind) => kind.cells.length);
}

/** @param {any} group */
function title_of({ cpu, library, gflops }) {
  const rate = gflops === null ? "" : `: median ${quantity(gflops)} GFLOP/s`;
  return `${cpu || "unknown CPU"}, ${library === "none" ? "no BLAS" : library}${rate}`;
}

/** @param {Kind} kind @returns {HTMLElement[]} */
function kind_of_hosts({ title, cells }) {
  const count = cells.length === 1 ? "1 host" : `${cells.length} hosts`;
  const room = element("div", "cells");
  room.setAttribute("role", "group");
  room.setAttribute("aria-label", `${title}, ${count}`);
  const heading = element("h3", "kind", title);
  heading.append(element("span", "count", ` (${count})`));
  select(room)
    .selectAll("button")
    .data(cells)
    .join("button")
    .attr("type", "button")
    .attr("class", (/** @type {Cell} */ { host }) => `mark word-${host.state}${host.times_slower ? " outlier" : ""}`)
    .attr("tabindex", -1)
    .attr("aria-haspopup", "dialog")
    .attr("aria-label", (/** @type {Cell} */ { host }) => facts(host).join(", "))
    .attr("data-of", (/** @type {Cell} */ { index }) => `/hosts/${index}`)
    .attr("data-value", (/** @type {Cell} */ { host }) => host.gflops)
    .attr("data-key", (/** @type {Cell} */ { host }) => (host.gflops === null ? null : "gflops"))
    .each(function (/** @type {Cell} */ { host }) {
      // @ts-ignore: D3 5 calls it with the element as `this`
      this.append(sign_of(host.state), element("span", "name", host.host));
      // @ts-ignore
      if (host.times_slower) this.append(slow_sign());
    });
  return [heading, room];
}

/** The lines of a cell's tooltip.
 * @param {any} host @returns {string[]} */
function facts({ host, state, reason, gflops, peak_fraction, times_slower }) {
  const { name } = word_of(state);
  return [
    host,
    reason ? `${name}: ${short(reason, 160)}` : name,
    gflops === null ? "" : `${quantity(gflops)} GFLOP/s`,
    peak_fraction === null ? "" : `${percent(peak_fraction)} of the FMA peak`,
    times_slower ? `▼ ${quantity(times_slower)} times slower than hosts of its kind` : "",
  ].filter(Boolean);
}

/** Pointer and keyboard. The grid is one tab stop, as each chart is.
 * @param {HTMLElement} figure @param {HTMLElement} grid @param {any} report */
function follow(figure, grid, report) {
  const tip = tooltip(figure);
  const open = host_record(figure, report);
  const cells = /** @type {HTMLElement[]} */ ([...grid.querySelectorAll(".mark")]);
  let current = cells[0];
  if (current) current.tabIndex = 0;
  const cell_at = (/** @type {Event} */ event) =>
    event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest(".hosts .mark")) : null;
  const cell_of = (/** @type {HTMLElement} */ cell) => /** @type {Cell} */ (select(cell).datum());
  const move = (/** @type {HTMLElement} */ cell) => {
    current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.focus();
  };
  grid.addEventListener("click", (event) => {
    const cell = cell_at(event);
    if (!cell) return;
    move(cell); // to which the focus comes back
    tip.hide();
    open(cell_of(cell).index);
  });
  grid.addEventListener("keydown", (event) => {
    const next = event.ctrlKey || event.metaKey || event.altKey ? undefined : neighbour(cells, current, event.key);
    if (!next) return;
    event.preventDefault();
    move(next);
  });
  for (const kind of ["pointermove", "focusin"])
    grid.addEventListener(kind, (event) => {
      const cell = cell_at(event);
      // Of the keyboard's the place is the cell's, though what is in it may be pointed at.
      if (cell) tip.show(kind === "focusin" ? { target: cell } : event, facts(cell_of(cell).host));
      else tip.hide();
    });
  for (const kind of ["pointerleave", "focusout"]) grid.addEventListener(kind, tip.hide);
}

/** Where a key leads: the next of the list, or the nearest in the row above or below.
 * @param {HTMLElement[]} cells @param {HTMLElement} from @param {string} key @returns {HTMLElement | undefined} */
function neighbour(cells, from, key) {
  const index = cells.indexOf(from);
  if (key === "ArrowRight") return cells[index + 1];
  if (key === "ArrowLeft") return cells[index - 1];
  if (key === "Home") return cells[0];
  if (key === "End") return cells[cells.length - 1];
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const { left, top } = from.getBoundingClientRect();
  const down = key === "ArrowDown";
  const beyond = (down ? cells.slice(index) : cells.slice(0, index).reverse())
    .map((cell) => ({ cell, box: cell.getBoundingClientRect() }))
    .filter(({ box }) => (down ? box.top > top + 1 : box.top < top - 1));
  const row = beyond.filter(({ box }) => Math.abs(box.top - beyond[0].box.top) < 1);
  return row.sort((a, b) => Math.abs(a.box.left - left) - Math.abs(b.box.left - left))[0]?.cell;
}
