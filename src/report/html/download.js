// The record's JSON, as it stands in the page, as a file.

/** @param {HTMLElement} report @param {unknown} schema @param {string} text */
export function add_download(report, schema, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "framed";
  button.textContent = `Download JSON (${size(new Blob([text]).size)})`;
  button.addEventListener("click", () => save(file_name(String(schema || "")), text));
  const line = document.createElement("p");
  line.className = "download";
  line.append(button);
  report.append(line);
}

/** "hwprof.profile/1" is hwprof-profile.json
 * @param {string} schema */
function file_name(schema) {
  const name = schema.replace(/\/\d+$/, "").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return `${name || "hwprof"}.json`;
}

/** @param {string} name @param {string} text */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** @param {number} bytes */
function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
