// Reads Prometheus' text format and computes rates and quantiles between two readings. Knows no document.

const line = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Gives the samples of a text by name: lists of {labels, value}. */
export function readings(text) {
  const out = new Map();
  for (const l of text.split("\n")) {
    const m = l[0] === "#" ? null : line.exec(l);
    if (!m) continue;
    const labels = {};
    for (const [, k, v] of (m[2] ?? "").matchAll(label)) labels[k] = v.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    if (!out.has(m[1])) out.set(m[1], []);
    out.get(m[1]).push({ labels, value: m[3] === "+Inf" ? Infinity : Number(m[3]) });
  }
  return out;
}

/** Adds up the samples of a name whose labels pass. */
export function sum(now, name, pass = () => true) {
  let total = 0;
  for (const s of now.get(name) ?? []) if (pass(s.labels)) total += s.value;
  return total;
}

/** Gives the growth a second of a counter between two readings; a counter that began again counts from 0. */
export function rate(before, now, seconds, name, pass) {
  const a = sum(before, name, pass), b = sum(now, name, pass);
  return Math.max(0, b >= a ? b - a : b) / seconds;
}

/** Estimates a quantile of what a histogram got between two readings, in its unit, or NaN if it got nothing. */
export function quantile(before, now, name, q, pass = () => true) {
  const grown = new Map();
  for (const [reading, sign] of [[now, 1], [before, -1]]) {
    for (const s of reading.get(name + "_bucket") ?? []) {
      if (!pass(s.labels)) continue;
      const bound = s.labels.le === "+Inf" ? Infinity : Number(s.labels.le);
      grown.set(bound, (grown.get(bound) ?? 0) + sign * s.value);
    }
  }
  const bounds = [...grown.keys()].sort((a, b) => a - b), total = grown.get(Infinity) ?? 0;
  if (!(total > 0)) return NaN;
  let low = 0, below = 0;
  for (const b of bounds) {
    if (grown.get(b) >= q * total) return b === Infinity ? low : low + (b - low) * ((q * total - below) / (grown.get(b) - below || 1));
    low = b;
    below = grown.get(b);
  }
  return low;
}

/** Gives the points of a line through values over a width and a height, from the oldest; gaps where there is no value. */
export function linePoints(values, width, height, top, most) {
  const out = [];
  let part = [];
  values.forEach((v, i) => {
    if (!Number.isFinite(v)) {
      if (part.length) out.push(part);
      part = [];
    } else part.push(`${((width * (i + most - values.length)) / Math.max(1, most - 1)).toFixed(1)},${(height - (height * v) / (top || 1)).toFixed(1)}`);
  });
  if (part.length) out.push(part);
  return out.map((p) => p.join(" "));
}

/** Gives a round number not below a value, for the top of an axis. */
export function roundUp(v) {
  if (!(v > 0)) return 1;
  const p = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((m) => m * p).find((x) => x >= v * 0.999);
}
