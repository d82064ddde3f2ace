// Labels beside points, none over another: each takes the nearest place that is free, with a line to
// its point where that is farther away. One that finds none is left out; the tooltip still has it.

/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */
/** @typedef {{x: number, y: number, width: number, height: number}} Label */
/** @typedef {{x: number, y: number, leader: [number, number, number, number] | null}} Place
 *  Where the text starts, its middle, and the line from the point. */

const kGap = 9;  // between a point's middle and its text

/** The best of several orders: who comes first takes places that others need more.
 * @param {Label[]} labels @param {{texts: Box[], points: Box[]}} taken `points`: boxes over
 * which lines to labels may run; texts are others
 * @param {Box} bounds @returns {(Place | null)[]} */
export function place_labels(labels, taken, bounds) {
  const indices = labels.map((_, index) => index);
  const by = (/** @type {(label: Label) => number} */ key) =>
    indices.slice().sort((a, b) => key(labels[a]) - key(labels[b]));
  const orders = [indices, by((l) => -l.x), by((l) => l.x), by((l) => l.y), by((l) => -l.y),
    by((l) => -l.width), by((l) => l.width)];
  /** @type {(Place | null)[]} */
  let best = [];
  let least = Infinity;
  for (const order of orders.flatMap(rotations)) {
    const placed = place_in_order(order.map((index) => labels[index]), taken, bounds);
    const cost = placed.reduce((sum, place) => sum + cost_of(place), 0);
    if (cost >= least) continue;
    least = cost;
    best = indices.map((index) => placed[order.indexOf(index)]);
  }
  return best;
}

/** @param {number[]} order */
function rotations(order) {
  return order.slice(0, 8).map((_, by) => order.slice(by).concat(order.slice(0, by)));
}

/** A label left out is worse than any line. @param {Place | null} place */
function cost_of(place) {
  if (!place) return 2000;
  if (!place.leader) return 0;
  const [x1, y1, x2, y2] = place.leader;
  return 20 + Math.hypot(x2 - x1, y2 - y1);
}

/** First come, first served.
 * @param {Label[]} labels @param {{texts: Box[], points: Box[]}} taken @param {Box} bounds
 * @returns {(Place | null)[]} */
function place_in_order(labels, { texts, points }, bounds) {
  const boxes = texts.slice();
  /** @type {[number, number, number, number][]} */
  const leaders = [];
  return labels.map((label) => {
    for (const { x, y } of candidates(label)) {
      const box = { left: x - 1, right: x + label.width + 1, top: y - label.height / 2,
        bottom: y + label.height / 2 };
      if (!inside(box, bounds) || boxes.concat(points).some((other) => overlap(box, other))) continue;
      const leader = leader_of(label, box);
      if (leaders.some((line) => crosses(line, box))) continue;
      if (leader && boxes.some((other) => crosses(leader, other))) continue;
      boxes.push(box);
      if (leader) leaders.push(leader);
      return { x, y, leader };
    }
    return null;
  });
}

/** @param {Label} label */
function candidates({ x, y, width, height }) {
  const places = [];
  for (let step = 0; step <= 14; ++step) {
    for (const direction of step === 0 ? [0] : [-1, 1]) {
      const shift = direction * step * (height * 0.8);
      for (const gap of step > 1 ? [kGap, kGap + 12, kGap + 30] : [kGap]) {
        places.push({ x: x + gap, y: y + shift }, { x: x - gap - width, y: y + shift });
      }
      const above_or_below = direction * (kGap + height * (0.8 * step - 0.25));
      if (step > 0) places.push({ x: x - width / 2, y: y + above_or_below });
    }
  }
  return places;
}

/** @param {Label} label @param {Box} box @returns {[number, number, number, number] | null} */
function leader_of({ x, y }, box) {
  const to_x = Math.max(box.left - 1, Math.min(box.right + 1, x));
  const to_y = Math.max(box.top + 3, Math.min(box.bottom - 3, y));
  return Math.hypot(to_x - x, to_y - y) > 15 ? [x, y, to_x, to_y] : null;
}

/** @param {Box} a @param {Box} b */
function overlap(a, b) {
  return a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
}

/** @param {Box} a @param {Box} outer */
function inside(a, outer) {
  return a.left >= outer.left && a.right <= outer.right && a.top >= outer.top && a.bottom <= outer.bottom;
}

/** @param {Box} box @param {number} x @param {number} y */
function contains(box, x, y) {
  return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
}

/** Whether a line runs through a box: by points along it, which is near enough for boxes as high as text.
 * @param {[number, number, number, number]} line @param {Box} box */
function crosses([x1, y1, x2, y2], box) {
  const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 3);
  for (let i = 0; i <= steps; ++i) {
    if (contains(box, x1 + ((x2 - x1) * i) / steps, y1 + ((y2 - y1) * i) / steps)) return true;
  }
  return false;
}

/** Heights for labels in one column, each as near to its own as the others allow.
 * @param {number[]} wanted @param {number} height @param {number} top @param {number} bottom */
export function spread(wanted, height, top, bottom) {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a] - wanted[b]);
  const placed = wanted.slice();
  let least = top;
  for (const index of order) least = (placed[index] = Math.max(least, wanted[index])) + height;
  let most = bottom;
  for (const index of order.reverse()) most = (placed[index] = Math.min(most, placed[index])) - height;
  return placed;
}
