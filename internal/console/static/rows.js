// Rows of a result as bytes, and what tables make of them: order, text, CSV, the part that is visible. Knows no document.

const blockSize = 1 << 20;
const newline = 10, bracket = 91; // "[": a row
const decoder = new TextDecoder();

/** A number whose digits JavaScript would not give back: an integer beyond 2^53, or a float without a fraction. */
export class Digits {
  constructor(source) { this.source = source; }
  get whole() { return /^-?\d+$/.test(this.source); }
  valueOf() { return Number(this.source); }
  toString() { return this.source; }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.source) : Number(this.source); }
}

/** Parses JSON without loss of digits. */
export function parse(text) {
  return JSON.parse(text, (_, v, context) =>
    typeof v === "number" && context && context.source !== String(v) ? new Digits(context.source) : v);
}

/** Rows as the bytes that came: a line is parsed when somebody looks at it, so a million of them take little memory. */
export class Rows {
  fields = [];
  bytes = 0;
  #blocks = [];
  #used = blockSize; // of the last block
  #starts = new Float64Array(1024);
  #length = 0;
  #rest = [];

  get length() { return this.#length; }

  /** Takes bytes; gives the lines that are no rows. */
  push(chunk) {
    this.bytes += chunk.length;
    const others = [];
    let from = 0;
    for (let to; (to = chunk.indexOf(newline, from)) >= 0; from = to + 1) {
      let line = chunk.subarray(from, to);
      if (this.#rest.length) {
        line = join([...this.#rest, line]);
        this.#rest = [];
      }
      if (line[0] === bracket) this.#add(line);
      else if (line.length) others.push(parse(decoder.decode(line)));
    }
    if (from < chunk.length) this.#rest.push(chunk.slice(from));
    return others;
  }

  /** Lets go of what grew for rows that did not come. */
  end() {
    this.#rest = [];
    this.#starts = this.#starts.slice(0, this.#length + 1);
  }

  #add(line) {
    if (this.#length + 1 >= this.#starts.length) {
      const grown = new Float64Array(this.#starts.length * 2);
      grown.set(this.#starts);
      this.#starts = grown;
    }
    for (let from = 0; from < line.length;) {
      if (this.#used === blockSize) {
        this.#blocks.push(new Uint8Array(blockSize));
        this.#used = 0;
      }
      const n = Math.min(line.length - from, blockSize - this.#used);
      this.#blocks.at(-1).set(line.subarray(from, from + n), this.#used);
      this.#used += n;
      from += n;
    }
    this.#length++;
    this.#starts[this.#length] = this.#starts[this.#length - 1] + line.length;
  }

  /** Gives the JSON text of a row. */
  text(i) {
    const parts = [];
    for (let from = this.#starts[i]; from < this.#starts[i + 1];) {
      const block = Math.floor(from / blockSize), to = Math.min(this.#starts[i + 1], (block + 1) * blockSize);
      parts.push(this.#blocks[block].subarray(from - block * blockSize, to - block * blockSize));
      from = to;
    }
    return decoder.decode(parts.length === 1 ? parts[0] : join(parts));
  }

  /** Gives the values of a row. */
  row(i) { return parse(this.text(i)); }
}

function join(parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) { out.set(p, at); at += p.length; }
  return out;
}

/** Says what a value is: null, boolean, number, string, list, node, relationship, path or map. */
export function kindOf(v) {
  if (v === null || v === undefined) return "null";
  if (typeof v === "bigint" || v instanceof Digits) return "number";
  if (Array.isArray(v)) return v.length % 2 === 1 && isNode(v[0]) && v.every((x, i) => (i % 2 ? isEdge(x) : isNode(x))) && v.length > 1 ? "path" : "list";
  if (typeof v !== "object") return typeof v;
  return isNode(v) ? "node" : isEdge(v) ? "relationship" : "map";
}

const isNode = (v) => v !== null && typeof v === "object" && typeof v.elementId === "string" && Array.isArray(v.labels);
const isEdge = (v) => v !== null && typeof v === "object" && typeof v.elementId === "string" && typeof v.startNodeElementId === "string";

/** Writes a value as a cell of a table shows it. */
export function show(v) {
  switch (kindOf(v)) {
    case "null": return "null";
    case "string": return v;
    case "node": return "(" + v.labels.map((l) => ":" + l).join("") + pairs(v.properties) + ")";
    case "relationship": return "[:" + v.type + pairs(v.properties) + "]";
    case "path": return v.map((x, i) => (i % 2 ? (x.startNodeElementId === v[i - 1].elementId ? `-${show(x)}->` : `<-${show(x)}-`) : show(x))).join("");
    case "list": return "[" + v.map(inner).join(", ") + "]";
    case "map": return "{" + Object.entries(v).map(([k, x]) => k + ": " + inner(x)).join(", ") + "}";
    default: return String(v);
  }
}

const inner = (v) => (typeof v === "string" ? JSON.stringify(v) : show(v));

function pairs(properties) {
  const list = Object.entries(properties ?? {});
  return list.length ? " {" + list.map(([k, v]) => k + ": " + inner(v)).join(", ") + "}" : "";
}

/** Writes a value as JSON over several lines. */
export function pretty(v, indent = "") {
  const next = indent + "  ";
  if (v instanceof Digits) return v.source;
  if (Array.isArray(v)) return v.length ? "[\n" + v.map((x) => next + pretty(x, next)).join(",\n") + "\n" + indent + "]" : "[]";
  if (v === null || typeof v !== "object") return JSON.stringify(v);
  const list = Object.entries(v);
  return list.length ? "{\n" + list.map(([k, x]) => next + JSON.stringify(k) + ": " + pretty(x, next)).join(",\n") + "\n" + indent + "}" : "{}";
}

const ranks = ["map", "node", "relationship", "list", "path", "string", "boolean", "number", "null"];

/** Compares values in openCypher's order: by kind, null last. */
export function compare(a, b) {
  const ka = kindOf(a), kb = kindOf(b);
  if (ka !== kb) return ranks.indexOf(ka) - ranks.indexOf(kb);
  if (ka === "number") {
    if (a instanceof Digits && b instanceof Digits && a.whole && b.whole) {
      const x = BigInt(a.source), y = BigInt(b.source);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    return Number(a) - Number(b);
  }
  if (ka === "null") return 0;
  const x = ka === "string" ? a : ka === "boolean" ? Number(a) : show(a), y = ka === "string" ? b : ka === "boolean" ? Number(b) : show(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Gives the numbers of the rows in the order of a column; equal rows keep their order. */
export function order(rows, column, descending) {
  const keys = new Array(rows.length);
  for (let i = 0; i < keys.length; i++) keys[i] = rows.row(i)[column];
  const at = Uint32Array.from(keys.keys());
  const numbers = keys.every((k) => typeof k === "number") ? Float64Array.from(keys) : null;
  const by = numbers ? (i, j) => numbers[i] - numbers[j] : (i, j) => compare(keys[i], keys[j]);
  return at.sort(descending ? (i, j) => by(j, i) || i - j : (i, j) => by(i, j) || i - j);
}

/** Writes a field of CSV. Nothing is written for null. */
export function csvField(v, separator = ",") {
  if (v === null || v === undefined) return "";
  const text = typeof v === "object" && !(v instanceof Digits) ? JSON.stringify(v) : String(v);
  return /["\r\n]/.test(text) || text.includes(separator) || text === "" ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** Writes rows as CSV, in parts of a thousand rows. */
export function* csv(rows, at = null, separator = ",") {
  const line = (values) => values.map((v) => csvField(v, separator)).join(separator) + "\r\n";
  let part = line(rows.fields);
  for (let i = 0; i < rows.length; i++) {
    part += line(rows.row(at ? at[i] : i));
    if (i % 1000 === 999) { yield part; part = ""; }
  }
  yield part;
}

/** Writes rows as a JSON array of objects, in parts; values stay as the server wrote them. */
export function* json(rows, at = null) {
  let part = "[";
  for (let i = 0; i < rows.length; i++) {
    const values = rows.row(at ? at[i] : i);
    part += (i ? ",\n " : "\n ") + "{" + rows.fields.map((f, c) => JSON.stringify(f) + ": " + JSON.stringify(values[c])).join(", ") + "}";
    if (i % 1000 === 999) { yield part; part = ""; }
  }
  yield part + "\n]\n";
}

/** Browsers draw no element higher than some tens of millions of pixels; beyond this the scroll bar stands for more than it shows. */
export const highest = 12e6;

/** Says which rows are visible: from first, count of them, the first at offset pixels below the top of the scrolled content. */
export function visible({ scrollTop, viewport, rowHeight, rows }) {
  const full = rows * rowHeight, height = Math.min(full, highest);
  const range = Math.max(1, height - viewport);
  const at = full <= highest ? scrollTop : (Math.min(scrollTop, range) / range) * (full - viewport);
  const first = Math.max(0, Math.min(Math.floor(at / rowHeight), rows - 1));
  const number = Math.min(rows - first, Math.ceil(viewport / rowHeight) + 1);
  return { first, count: Math.max(0, number), offset: scrollTop - (at - first * rowHeight), height };
}

/** Gives the scroll position at which a row is wholly visible. */
export function reveal({ scrollTop, viewport, rowHeight, rows }, row) {
  const full = rows * rowHeight, scale = full <= highest ? 1 : (highest - viewport) / (full - viewport);
  const at = scrollTop / scale, top = row * rowHeight;
  if (top < at) return top * scale;
  if (top + rowHeight > at + viewport) return (top + rowHeight - viewport) * scale;
  return scrollTop;
}
