// Buttons that copy a text, from file:// too.

/** @param {string} label @param {() => string} text @param {string} what tells buttons of one label apart */
export function clipboard_button(label, text, what) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  const show = (/** @type {string} */ words) => {
    button.textContent = words;
    if (what) button.setAttribute("aria-label", `${words}: ${what}`);
  };
  show(label);
  let timer = 0;
  button.addEventListener("click", async () => {
    const answer = (await copy(text())) ? "Copied" : "Not copied";
    show(answer);
    announce(answer);
    clearTimeout(timer);
    timer = window.setTimeout(() => show(label), 1500);
  });
  return button;
}

/** @param {string} text @returns {Promise<boolean>} */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copy_selected(text); // no permission, or no secure context
  }
}

/** The old way, which asks for no permission. A text area would make "\n" of "\r\n".
 * @param {string} text */
function copy_selected(text) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = document.createElement("textarea");
  area.className = "clipboard";
  area.value = text;
  area.addEventListener("copy", (event) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  });
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  focused?.focus({ preventScroll: true });
  return done;
}

/** @type {HTMLElement | undefined} */
let status;

/** Says something to screen readers alone.
 * @param {string} text */
export function announce(text) {
  if (!status) {
    status = document.createElement("p");
    status.className = "unseen";
    status.setAttribute("role", "status");
    document.querySelector("main")?.append(status);
  }
  status.textContent = text;
}
