// The number that a cell of a table stands for, so that "12 µs" is less than "1.83 ms".

/** @type {Record<string, number>} */
const kPrefix = { k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
/** @type {Record<string, number>} */
const kBinary = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40, P: 2 ** 50, E: 2 ** 60 };
/** @type {Record<string, number>} */
const kTime = { ns: 1, us: 1e3, "µs": 1e3, "μs": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 };

// "n=64", "< 3", "43 ±7 ms", "1.2e-07", "2.65 G ? (61.7 %)", "1,024", "12.3 GFLOP/s"
const kNumber =
  /^(?:[\w ]+=|[<>≤≥~≈])?\s*([+\-−]?)(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|inf)(?:\s*±\s*[\d.,e+-]+)?\s*([^\s\d(±][^\s(]*)?(?:\s|\(|$)/i;

/** A number, or the text itself where it is none.
 * @param {string} text @returns {number | string} */
export function value_of(text) {
  const parts = kNumber.exec(text);
  if (!parts) return text;
  const size = /^inf$/i.test(parts[2]) ? Infinity : Number(parts[2].replace(/,/g, ""));
  return (parts[1] === "-" || parts[1] === "−" ? -1 : 1) * size * factor(parts[3] || "");
}

/** @param {string} unit */
function factor(unit) {
  if (unit in kTime) return kTime[unit];
  const binary = /^([KMGTPE])iB/.exec(unit);
  if (binary) return kBinary[binary[1]];
  const prefix = /^([kKMGTPE])(?:$|B|FLOP|Hz)/.exec(unit);
  return prefix ? kPrefix[prefix[1]] : 1;
}
