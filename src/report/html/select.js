// Who clicks a mark of a chart sees its row in the tables of the same report.

import { announce } from "./clipboard.js";
import { reveal } from "./tables.js";

export function follow_selection() {
  document.addEventListener("hwprof:select", (event) => {
    const pointer = /** @type {CustomEvent<string>} */ (event).detail;
    const report = event.target instanceof Element ? event.target.closest(".report") : null;
    if (report && typeof pointer === "string") show(report, pointer);
  });
}

/** @param {Element} report @param {string} pointer */
function show(report, pointer) {
  for (const row of report.querySelectorAll("tr[aria-selected]")) row.removeAttribute("aria-selected");
  /** @type {NodeListOf<HTMLTableRowElement>} */
  const rows = report.querySelectorAll(`tr[data-of="${CSS.escape(pointer)}"]`);
  if (!rows.length) return;
  for (const row of rows) row.setAttribute("aria-selected", "true");
  const first = rows[0];
  reveal(first);
  first.scrollIntoView({ block: "center", inline: "nearest" });
  const caption = first.closest("table")?.caption?.textContent || "the table";
  announce(`${first.cells[0].textContent}: selected in ${caption}`);
}
