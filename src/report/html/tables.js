// Makes the tables of the page sort, filter and copy as CSV. The page has them whole without this.
//
// Of a long table all rows stay in the page, for paper and for who asks for them, but most are not
// shown and so cost no layout: 5,000 rows sort in some 100 ms, and take seconds to lay out.

import { clipboard_button } from "./clipboard.js";
import { value_of } from "./value.js";

const kFilterFrom = 9; // rows; fewer are seen at a glance
const kLong = 200;
const kFirst = 100;
const kSlow = 1000; // rows that the words of a language may be compared for
const kTall = 24; // rows; more scroll in a box of their own below their header

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** @typedef {{element: HTMLTableRowElement, home: HTMLTableSectionElement, group: string, text: string,
 *   out: boolean, beyond: boolean}} Row */

/** @param {ParentNode} root */
export function enhance_tables(root) {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("div.table"))) {
    const table = box.querySelector("table");
    if (table && table.tHead && table.tBodies.length) new Table(box, table);
  }
}

/** Elements and their tables, so that a row can be shown from outside.
 * @type {WeakMap<Element, Table>} */
const known = new WeakMap();

/** Takes the row out of whatever hides it: a filter, the end of a long table, a folded part.
 * @param {HTMLTableRowElement} row */
export function reveal(row) {
  const table = row.closest("table");
  if (table) known.get(table)?.reveal(row);
  for (let at = row.parentElement; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
}

class Table {
  /** @param {HTMLElement} box @param {HTMLTableElement} table */
  constructor(box, table) {
    this.box = box;
    this.table = table;
    this.bodies = Array.from(table.tBodies);
    this.flat = document.createElement("tbody");
    /** The row with a group's name, by its body.
     * @type {Map<HTMLTableSectionElement, HTMLTableRowElement>} */
    this.heads = new Map();
    /** @type {Row[]} */
    this.rows = [];
    for (const body of this.bodies) this.read(body);
    this.order = this.rows;
    this.grouped = this.heads.size > 0;
    this.whole = this.rows.length <= kLong; // nothing is left out
    this.query = "";
    /** @type {HTMLTableCellElement | null} */
    this.group_title = null;
    this.headers = Array.from(/** @type {HTMLTableSectionElement} */ (table.tHead).rows[0].cells);
    this.titles = this.headers.map((header) => words(header));
    this.sorted = -1;
    this.direction = 0;
    /** @type {((number | string | null)[] | undefined)[]} */
    this.keys = [];
    known.set(table, this);
    this.wrap();
    this.headers.forEach((header, column) => this.add_button(header, column));
    this.more = this.add_more();
    if (this.rows.length > kTall) box.classList.add("tall");
    this.show();
    this.watch_width();
  }

  /** @param {HTMLTableSectionElement} body */
  read(body) {
    let group = "";
    for (const element of Array.from(body.rows)) {
      if (element.classList.contains("group")) {
        group = words(element);
        this.heads.set(body, element);
        keep_in_sight(element.cells[0]);
      } else {
        this.rows.push({ element, home: body, group, text: "", out: false, beyond: false });
      }
    }
  }

  /** The table's name, its filter and its buttons in a line above it. */
  wrap() {
    const wrapper = make("div", "wrapper");
    const tools = make("div", "tools");
    const caption = this.table.caption;
    const name = caption ? words(caption) : "";
    if (caption && name) {
      const title = make("p", "title", name);
      title.setAttribute("aria-hidden", "true"); // the caption says it
      tools.append(title);
      this.table.classList.add("captioned");
    }
    this.count = make("p", "count");
    this.count.setAttribute("role", "status");
    if (this.rows.length >= kFilterFrom) tools.append(this.filter_box(name));
    tools.append(this.count);
    tools.append(clipboard_button("Copy as CSV", () => this.csv(), name));
    this.box.replaceWith(wrapper);
    wrapper.append(tools, this.box);
    this.wrapper = wrapper;
  }

  /** @param {string} name */
  filter_box(name) {
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", name ? `Filter the rows of ${name}` : "Filter rows");
    input.spellcheck = false;
    input.autocomplete = "off";
    input.addEventListener("input", () => this.filter(input.value));
    this.input = input;
    return input;
  }

  /** @param {HTMLTableCellElement} header @param {number} column */
  add_button(header, column) {
    if (!this.titles[column]) return; // a button needs a name
    const button = document.createElement("button");
    button.type = "button";
    button.append(...Array.from(header.childNodes));
    button.addEventListener("click", () => this.sort(column));
    header.append(button);
  }

  /** Only of a long table. */
  add_more() {
    if (this.whole) return null;
    const line = make("p", "rest");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.addEventListener("click", () => {
      this.whole = true;
      this.show();
      this.box.tabIndex = 0;
      this.box.focus(); // the button is gone
    });
    line.append(button);
    this.wrapper?.append(line);
    return { line, button };
  }

  /** Ascending, descending, and as it came.
   * @param {number} column */
  sort(column) {
    this.direction = this.sorted !== column ? 1 : this.direction === 1 ? -1 : 0;
    this.sorted = this.direction === 0 ? -1 : column;
    this.headers.forEach((header, at) => {
      if (at !== this.sorted) header.removeAttribute("aria-sort");
      else header.setAttribute("aria-sort", this.direction === 1 ? "ascending" : "descending");
    });
    this.order = this.sorted < 0 ? this.rows : this.by(column, this.direction);
    this.flatten(this.sorted >= 0);
    this.arrange();
    this.whole = this.rows.length <= kLong; // laying out thousands again takes seconds; the top matters
    this.show();
    if (this.rows.length > kTall) this.box.scrollTop = 0;
  }

  /** The rows by a column; those without a value come last either way, equal ones as they came.
   * @param {number} column @param {number} direction */
  by(column, direction) {
    const keys = (this.keys[column] ??= this.read_keys(column));
    const order = keys.map((_, at) => at);
    const slow = keys.length <= kSlow;
    order.sort((a, b) => {
      const left = keys[a];
      const right = keys[b];
      if (left === null || right === null) {
        return left === right ? a - b : left === null ? 1 : -1;
      }
      return direction * compare(left, right, slow) || a - b;
    });
    return order.map((at) => this.rows[at]);
  }

  /** Numbers; words where the column is one of words.
   * @param {number} column */
  read_keys(column) {
    const texts = this.rows.map((row) => words(this.cell(row, column)));
    const values = texts.map(value_of);
    const as_words =
      this.headers[column].classList.contains("left") &&
      texts.some((text, at) => !absent(text) && typeof values[at] !== "number");
    const word = texts.length > kSlow ? plain : (/** @type {string} */ text) => text;
    return texts.map((text, at) => (absent(text) ? null : as_words ? word(text) : values[at]));
  }

  /** @param {Row} row @param {number} column */
  cell(row, column) {
    const shifted = this.group_title && column > 0 ? 1 : 0;
    return row.element.cells[column + shifted];
  }

  /** A sorted table has its rows in one body; what group each is of stands beside its name.
   * @param {boolean} flat */
  flatten(flat) {
    if (!this.grouped || flat === (this.group_title !== null)) return;
    if (flat) {
      this.group_title = document.createElement("th");
      this.group_title.scope = "col";
      this.group_title.className = "left of-group";
      this.group_title.textContent = group_name(this.table);
      this.headers[0].after(this.group_title);
      for (const row of this.rows) {
        const cell = document.createElement("td");
        cell.className = "left of-group";
        cell.textContent = row.group;
        row.element.cells[0].after(cell);
      }
    } else {
      this.group_title?.remove();
      this.group_title = null;
      for (const row of this.rows) row.element.cells[1].remove();
    }
  }

  /** Puts the rows into their order. */
  arrange() {
    if (this.sorted >= 0) {
      this.flat.append(...this.order.map((row) => row.element));
      this.bodies.forEach((body) => body.remove());
      this.table.append(this.flat);
      return;
    }
    if (!this.flat.isConnected) return;
    for (const row of this.rows) row.home.append(row.element);
    this.flat.remove();
    this.table.append(...this.bodies);
  }

  /** @param {string} query */
  filter(query) {
    this.query = query.trim().toLowerCase();
    for (const row of this.rows) {
      if (this.query && !row.text) row.text = searched(row);
      row.out = this.query !== "" && !row.text.includes(this.query);
    }
    this.show();
  }

  /** Shows what is asked for and not too much of it. */
  show() {
    let shown = 0;
    let left = 0;
    /** @type {Set<Element>} */
    const shown_in = new Set();
    /** @type {Set<Element>} */
    const left_in = new Set();
    for (const row of this.order) {
      if (!row.out) ++left;
      row.beyond = !row.out && !this.whole && left > kFirst;
      if (!row.out) left_in.add(row.home);
      if (!row.out && !row.beyond) {
        ++shown;
        shown_in.add(row.home);
      }
      set_class(row.element, "out", row.out);
      set_class(row.element, "beyond", row.beyond);
    }
    for (const [body, head] of this.heads) {
      set_class(head, "out", !left_in.has(body));
      set_class(head, "beyond", left_in.has(body) && !shown_in.has(body));
    }
    if (this.count) {
      const text = this.query ? `${number(left)} of ${number(this.rows.length)} rows` : "";
      if (this.count.textContent !== text) this.count.textContent = text;
    }
    if (this.more) {
      this.more.line.hidden = this.whole || shown === left;
      this.more.button.textContent = `Show all ${number(left)} rows`;
    }
  }

  /** @param {HTMLTableRowElement} element */
  reveal(element) {
    const row = this.rows.find((one) => one.element === element);
    if (!row) return;
    if (row.out && this.input) {
      this.input.value = "";
      this.filter("");
    }
    element.classList.remove("beyond");
    if (row.beyond) this.heads.get(row.home)?.classList.remove("beyond");
  }

  /** The rows that the filter leaves, in the order they stand in (RFC 4180). */
  csv() {
    const lines = [this.grouped ? [group_name(this.table), ...this.titles] : this.titles];
    for (const row of this.order) {
      if (row.out) continue;
      const cells = this.titles.map((_, column) => words(this.cell(row, column)));
      lines.push(this.grouped ? [row.group, ...cells] : cells);
    }
    return lines.map((line) => line.map(quoted).join(",") + "\r\n").join("");
  }

  /** A box that does not scroll is no stop of the keyboard; one that does shows that there is more. */
  watch_width() {
    const box = this.box;
    const hint = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    const set = () => {
      hint();
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls) box.tabIndex = 0;
      else if (document.activeElement !== box) box.removeAttribute("tabindex");
    };
    const observer = new ResizeObserver(() => requestAnimationFrame(set));
    observer.observe(box);
    observer.observe(this.table);
    box.addEventListener("scroll", hint, { passive: true });
  }
}

/** @param {HTMLElement} table */
function group_name(table) {
  return table.dataset.group ?? "";
}

/** The name of a group stays where its table scrolls to the side.
 * @param {HTMLTableCellElement} cell */
function keep_in_sight(cell) {
  const name = document.createElement("span");
  name.append(...Array.from(cell.childNodes));
  cell.append(name);
}

/** @param {Row} row */
function searched(row) {
  const cells = Array.from(row.element.cells, words);
  return [row.group, ...cells].join("\n").toLowerCase();
}

/** @param {Element | undefined | null} element */
function words(element) {
  return element ? (element.textContent || "").trim() : "";
}

/** @param {string} text */
function absent(text) {
  return text === "" || text === "-";
}

/** Numbers before words, should a column have both.
 * @param {number | string} left @param {number | string} right @param {boolean} slow */
function compare(left, right, slow) {
  if (typeof left === "number" && typeof right === "number") return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === "number") return -1;
  if (typeof right === "number") return 1;
  if (slow) return collator.compare(left, right);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A word such that mere comparison puts "conv2" before "Conv10", as the collator does.
 * @param {string} text */
function plain(text) {
  return text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(16, "0"));
}

/** @param {string} text */
function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString("en");
}

/** @param {Element} element @param {string} name @param {boolean} on */
function set_class(element, name, on) {
  if (element.classList.contains(name) !== on) element.classList.toggle(name, on);
}

/** @param {string} tag @param {string} name @param {string} [text] */
function make(tag, name, text) {
  const element = document.createElement(tag);
  element.className = name;
  if (text) element.textContent = text;
  return element;
}
