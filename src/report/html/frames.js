// What a frame's text says, and which stacks a search finds. Nothing here touches the page.

/** @typedef {{symbol: string, library: string}} Frame `library` is "" where it is not known */

const UNKNOWN = "[unknown]";
const KERNEL = "[kernel]";

/** "libm.so.6" of its path, "kernel" of "[kernel]".
 * @param {string} path */
function base_name(path) {
  const bare = path.startsWith("[") && path.endsWith("]") ? path.slice(1, -1) : path;
  return bare.slice(bare.lastIndexOf("/") + 1);
}

/** Neighbouring frames without a name as one: a hundred of them say no more, and make a tower of them.
 * @param {import("./tree.js").Stack[]} stacks @returns {import("./tree.js").Stack[]} */
export function without_runs(stacks) {
  return stacks.map((stack) => (has_run(stack.frames) ? { ...stack, frames: stack.frames.filter(no_repeat) } : stack));
}

/** @param {string[]} frames */
function has_run(frames) {
  // A plain loop: this looks at every frame of a record, which may be millions.
  for (let index = 1; index < frames.length; ++index)
    if (frames[index] === UNKNOWN && frames[index - 1] === UNKNOWN) return true;
  return false;
}

/** @param {string} frame @param {number} index @param {string[]} frames */
function no_repeat(frame, index, frames) {
  return frame !== UNKNOWN || frames[index - 1] !== UNKNOWN;
}

/** Tells symbol and library of a frame: "cblas_dgemm (libopenblas.so.0)", "[libblas.so.3]" of a file
 * without symbols, or a bare symbol, whose library is known if only one has a symbol of that name.
 * @param {{name: string, library: string}[]} symbols `executed.symbols` of the JSON
 * @returns {(frame: string) => Frame} */
export function frame_reader(symbols) {
  /** @type {Map<string, string>} */
  const library_of = new Map();
  for (const { name, library } of symbols) {
    if (library === KERNEL) continue; // by the routine that called it; as a frame it is "[kernel]"
    const known = library_of.get(name);
    library_of.set(name, known === undefined || known === base_name(library) ? base_name(library) : "");
  }
  /** @type {Map<string, Frame>} */
  const read = new Map();
  return (frame) => {
    let parts = read.get(frame);
    if (!parts) read.set(frame, (parts = split(frame, library_of)));
    return parts;
  };
}

/** @param {string} frame @param {Map<string, string>} library_of @returns {Frame} */
function split(frame, library_of) {
  if (frame === UNKNOWN || frame === "") return { symbol: UNKNOWN, library: "" };
  if (frame.startsWith("[") && frame.endsWith("]")) return { symbol: frame, library: base_name(frame) };
  // No blanks and no dot at first: "f(int) (.cold)" and "f() (clone .isra.0)" name no library.
  const named = /^(.*) \(([^().\s][^()]*)\)$/s.exec(frame);
  if (named && !named[2].startsWith("clone ")) return { symbol: named[1], library: base_name(named[2]) };
  return { symbol: frame, library: library_of.get(frame) ?? "" };
}

/** Samples by library of the innermost frame, most first; "" where it is not known.
 * @param {import("./tree.js").Stack[]} stacks @param {(frame: string) => Frame} read
 * @returns {[string, number][]} */
export function samples_by_library(stacks, read) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { frames, samples } of stacks) {
    const library = frames.length ? read(frames[frames.length - 1]).library : "";
    sums.set(library, (sums.get(library) ?? 0) + samples);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** Finds `text` in a name as it stands or as a regular expression, without regard to case. What is no
 * valid expression ("operator[") is text only; as text too, since "a(int)*" means itself to most.
 * @param {string} text @returns {(name: string) => boolean} */
export function matcher(text) {
  const plain = text.toLowerCase();
  /** @type {RegExp | null} */
  let expression = null;
  try {
    expression = new RegExp(text, "i");
  } catch {
    // Text only.
  }
  /** @type {Map<string, boolean>} */
  const known = new Map();
  return (name) => {
    let found = known.get(name);
    if (found === undefined) {
      found = name.toLowerCase().includes(plain) || Boolean(expression?.test(name));
      known.set(name, found);
    }
    return found;
  };
}

/** Samples whose stack has a frame that `matches`; a recursive function counts once.
 * @param {import("./tree.js").Stack[]} stacks @param {(name: string) => boolean} matches */
export function samples_found(stacks, matches) {
  let found = 0;
  for (const { frames, samples } of stacks) if (frames.some(matches)) found += samples;
  return found;
}
