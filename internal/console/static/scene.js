// What a drawing of a graph consists of: its vertices and edges out of rows, colours and captions, the curves of its edges.
// Knows no document.
import { kindOf } from "./rows.js";

/** At most so many vertices are drawn. */
export const mostVertices = 2000;
/** So many rows are looked through. */
const mostRows = 20000;

/** A graph that is drawn. Vertices and edges are known by their element ids. */
export class Scene {
  vertices = new Map(); // id → {id, labels, properties}
  edges = new Map(); // id → {id, from, to, type, properties}
  paths = []; // each the ids of its vertices and edges
  left = 0; // vertices that were left out

  /** Adds what a value holds; gives whether everything had room. */
  add(value, most = mostVertices) {
    switch (kindOf(value)) {
      case "node": return this.vertex(value, most);
      case "relationship":
        if (!this.edges.has(value.elementId)) {
          this.edges.set(value.elementId, { id: value.elementId, from: value.startNodeElementId, to: value.endNodeElementId, type: value.type, properties: value.properties });
        }
        return true;
      case "path": {
        let room = true;
        for (const x of value) room = this.add(x, most) && room;
        if (room) this.paths.push(value.map((x) => x.elementId));
        return room;
      }
      case "list": return value.map((x) => this.add(x, most)).every(Boolean);
      case "map": return Object.values(value).map((x) => this.add(x, most)).every(Boolean);
      default: return true;
    }
  }

  vertex(v, most) {
    if (this.vertices.has(v.elementId)) return true;
    if (this.vertices.size >= most) {
      this.missed ??= new Set();
      this.missed.add(v.elementId);
      this.left = this.missed.size;
      return false;
    }
    this.vertices.set(v.elementId, { id: v.elementId, labels: v.labels, properties: v.properties });
    return true;
  }

  /** Adds what rows hold. */
  addRows(rows, most = mostVertices) {
    const n = Math.min(rows.length, mostRows);
    for (let i = 0; i < n; i++) for (const v of rows.row(i)) this.add(v, most);
    return this;
  }

  /** The ends of edges that no row has given. */
  missing() {
    const out = new Set();
    for (const e of this.edges.values()) for (const id of [e.from, e.to]) if (!this.vertices.has(id) && !this.missed?.has(id)) out.add(id);
    return [...out];
  }

  /** Takes a vertex and its edges away. */
  remove(id) {
    this.vertices.delete(id);
    for (const e of this.edges.values()) if (e.from === id || e.to === id) this.edges.delete(e.id);
  }

  /** The edges whose ends are both drawn. */
  drawn() { return [...this.edges.values()].filter((e) => this.vertices.has(e.from) && this.vertices.has(e.to)); }

  /** How many vertices have each first label, and edges each type. */
  counts() {
    const labels = new Map(), types = new Map();
    for (const v of this.vertices.values()) labels.set(labelOf(v), (labels.get(labelOf(v)) ?? 0) + 1);
    for (const e of this.drawn()) types.set(e.type, (types.get(e.type) ?? 0) + 1);
    return { labels: [...labels].sort((a, b) => b[1] - a[1]), types: [...types].sort((a, b) => b[1] - a[1]) };
  }
}

/** Says whether rows hold anything that can be drawn, by the first of them. */
export function drawable(rows) {
  const s = new Scene();
  for (let i = 0; i < Math.min(rows.length, 5); i++) for (const v of rows.row(i)) s.add(v, 3);
  return s.vertices.size + s.edges.size > 0;
}

/** The label by which a vertex is coloured. */
export const labelOf = (v) => v.labels[0] ?? "";

const palette = ["#3b82a0", "#c8873a", "#5a9367", "#a05a8c", "#7b6fc4", "#b5524a", "#8a8a3c", "#3f8f8b", "#c2709a", "#6d7f95"];

// colourAt gives the colours in the order in which labels take them: those of the palette, then others around the circle of hues.
function colourAt(i) {
  if (i < palette.length) return palette[i];
  const part = (n) => { const k = (n + (i * 137.508) / 30) % 12; return Math.round(255 * (0.48 - 0.2 * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, "0"); };
  return "#" + part(0) + part(8) + part(4);
}

/** Gives each label that has no colour in kept, a map, the first one that no other label has; says whether there was any. */
export function giveColours(labels, kept) {
  const taken = new Set(kept.values()), before = kept.size;
  for (const l of labels) {
    if (kept.has(l)) continue;
    let i = 0;
    while (taken.has(colourAt(i))) i++;
    taken.add(colourAt(i));
    kept.set(l, colourAt(i));
  }
  return kept.size > before;
}

/** Gives black or white, whichever is easier to read on a colour #rrggbb. */
export function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => { const v = parseInt(colour.slice(i, i + 2), 16) / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

const usual = ["name", "title", "firstName", "label", "code", "key", "id"];

/** The text of a vertex: the property that was chosen for its label, or the first that usually names things. */
export function captionOf(v, chosen) {
  if (chosen === ":label") return labelOf(v);
  const key = chosen && v.properties[chosen] !== undefined ? chosen : usual.find((k) => v.properties[k] !== undefined) ?? Object.keys(v.properties)[0];
  return key === undefined ? labelOf(v) : String(v.properties[key]);
}

/** Gives each edge its bend: 0 for a straight one; several between a pair bend apart; loops are numbered from 1. */
export function bends(edges) {
  const groups = new Map();
  for (const e of edges) {
    const key = e.from < e.to ? e.from + "\n" + e.to : e.to + "\n" + e.from;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(e);
  }
  const out = new Map();
  for (const list of groups.values()) {
    list.forEach((e, i) => {
      const loop = e.from === e.to ? i + 1 : 0;
      out.set(e.id, { loop, bend: loop ? 0 : (i - (list.length - 1) / 2) * 22 * (e.from < e.to ? 1 : -1) });
    });
  }
  return out;
}

/** The curve of an edge from the rim of a vertex to that of another: start, control points, end, the tip's angle, the middle. */
export function curve(a, b, radius, { bend, loop }) {
  if (loop) {
    const size = radius * (1.6 + 0.9 * loop), left = -2.2, right = -0.95;
    const at = (angle, r) => ({ x: a.x + r * Math.cos(angle), y: a.y + r * Math.sin(angle) });
    const from = at(left, radius), to = at(right, radius), c1 = at(left - 0.15, 2 * size), c2 = at(right + 0.15, 2 * size);
    return { from, to, c1, c2, angle: Math.atan2(to.y - c2.y, to.x - c2.x), middle: { x: a.x + (c1.x + c2.x - 2 * a.x) * 0.375 + (from.x + to.x - 2 * a.x) * 0.125, y: (from.y + to.y) * 0.125 + (c1.y + c2.y) * 0.375 }, turn: 0 };
  }
  const dx = b.x - a.x, dy = b.y - a.y, d = Math.hypot(dx, dy) || 1e-6, nx = -dy / d, ny = dx / d;
  const c = { x: (a.x + b.x) / 2 + nx * bend * 2, y: (a.y + b.y) / 2 + ny * bend * 2 };
  const rim = (p, q) => { const l = Math.hypot(q.x - p.x, q.y - p.y) || 1e-6; return { x: p.x + ((q.x - p.x) / l) * radius, y: p.y + ((q.y - p.y) / l) * radius }; };
  const from = rim(a, c), to = rim(b, c);
  const turn = Math.atan2(dy, dx);
  return {
    from, to, c: bend ? c : null, angle: Math.atan2(b.y - c.y, b.x - c.x),
    middle: { x: (from.x + to.x) / 4 + c.x / 2, y: (from.y + to.y) / 4 + c.y / 2 }, turn: Math.abs(turn) > Math.PI / 2 ? turn + Math.PI : turn,
  };
}

/** The smallest box around places, as {x, y, width, height}. */
export function extent(places) {
  let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
  for (const p of places) {
    x0 = Math.min(x0, p.x);
    y0 = Math.min(y0, p.y);
    x1 = Math.max(x1, p.x);
    y1 = Math.max(y1, p.y);
  }
  return x0 > x1 ? { x: 0, y: 0, width: 0, height: 0 } : { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
}
