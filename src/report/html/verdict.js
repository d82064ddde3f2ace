// A button beside each command that copies it.

import { clipboard_button } from "./clipboard.js";

/** @param {ParentNode} root */
export function enhance_commands(root) {
  for (const block of root.querySelectorAll("pre.command")) {
    const command = (block.textContent || "").trim();
    if (!command) continue;
    const beside = document.createElement("div");
    beside.className = "copies";
    block.replaceWith(beside);
    beside.append(block, clipboard_button("Copy", () => command, command));
  }
}
