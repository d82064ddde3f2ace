// What the page does beyond being read: charts from the record's JSON, and tables that sort.

import {
  draw_operations,
  draw_layers,
  draw_layer_types,
  draw_modules,
  draw_complexity,
  draw_ladder,
} from "./bars.js";
import { draw as draw_comparison } from "./comparison.js";
import { add_download } from "./download.js";
import { draw_hosts } from "./hosts.js";
import { draw_regions } from "./icicle.js";
import { follow_sections } from "./nav.js";
import { draw_noise, draw_repeats } from "./noise.js";
import { unfold_for_print } from "./print.js";
import { draw as draw_roofline } from "./roofline.js";
import { draw as draw_scaling } from "./scaling.js";
import { follow_selection } from "./select.js";
import { draw_stacks } from "./stacks.js";
import { draw as draw_sweep } from "./sweep.js";
import { enhance_tables } from "./tables.js";
import { draw_calls_timeline, draw_timeline } from "./timeline.js";
import { draw as draw_training } from "./training.js";
import { enhance_commands } from "./verdict.js";

/** @typedef {(figure: HTMLElement, report: any) => boolean} Draw */

/** By the name that the page gives a figure.
 * @type {Record<string, Draw>} */
const kCharts = {
  roofline: draw_roofline,
  operations: draw_operations,
  layers: draw_layers,
  "layer-types": draw_layer_types,
  modules: draw_modules,
  complexity: draw_complexity,
  sweep: draw_sweep,
  scaling: draw_scaling,
  training: draw_training,
  stacks: draw_stacks,
  timeline: draw_timeline,
  calls: draw_calls_timeline,
  regions: draw_regions,
  ladder: draw_ladder,
  comparison: draw_comparison,
  noise: draw_noise,
  repeats: draw_repeats,
  hosts: draw_hosts,
};

/** A chart that has nothing to draw, or fails, leaves no gap: the page has its numbers anyway.
 * @param {HTMLElement} figure @param {any} report */
function draw(figure, report) {
  const chart = kCharts[figure.dataset.chart || ""];
  try {
    if (chart && chart(figure, report)) return;
  } catch (error) {
    console.error(`The chart ${figure.dataset.chart} failed.`, error);
  }
  const section = figure.closest("section");
  figure.remove();
  if (section && !section.querySelector(":scope > :not(h2)")) remove_section(section);
}

/** @param {Element} section */
function remove_section(section) {
  for (const link of document.querySelectorAll("header.page nav a")) {
    if (link.getAttribute("href") === `#${section.id}`) link.closest("li")?.remove();
  }
  section.remove();
}

/** @param {HTMLElement} report */
function enhance(report) {
  const text = document.getElementById(report.dataset.json || "")?.textContent;
  const figures = /** @type {NodeListOf<HTMLElement>} */ (report.querySelectorAll("figure.chart"));
  if (text) {
    const record = JSON.parse(text);
    figures.forEach((figure) => draw(figure, record));
    add_download(report, record.schema, text.trim() + "\n");
  } else {
    figures.forEach((figure) => figure.remove());
  }
}

document.documentElement.classList.add("js");
enhance_tables(document);
enhance_commands(document);
follow_selection();
unfold_for_print();
document.querySelectorAll("article.report").forEach((report) => enhance(/** @type {HTMLElement} */ (report)));
follow_sections();
