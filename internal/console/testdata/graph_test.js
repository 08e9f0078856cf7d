import { svgOf } from "../static/draw.js";
import { Layout } from "../static/layout.js";
import { bends, captionOf, curve, extent, giveColours, inkOn, Scene } from "../static/scene.js";
import { holds, same } from "./check.js";

const node = (i, labels = ["A"], properties = {}) => ({ elementId: "v" + i, labels, properties });
const edge = (i, from, to, type = "T") => ({ elementId: "e" + i, startNodeElementId: "v" + from, endNodeElementId: "v" + to, type, properties: {} });
const rows = (list) => ({ length: list.length, row: (i) => list[i] });

export function collects() {
  const s = new Scene().addRows(rows([[node(1), { a: [node(2)] }, 3], [[node(1), edge(1, 2, 1), node(2)], edge(2, 2, 9), null]]));
  same([...s.vertices.keys()], ["v1", "v2"]);
  same(s.paths, [["v1", "e1", "v2"]]);
  same(s.missing(), ["v9"]);
  same(s.drawn().map((e) => e.id), ["e1"]);
  s.remove("v2");
  same([s.vertices.size, s.edges.size], [1, 0]);
}

export function leavesOut() {
  const s = new Scene().addRows(rows(Array.from({ length: 30 }, (_, i) => [node(i % 20)])), 5);
  same([s.vertices.size, s.left], [5, 15]);
}

export function captions() {
  same(captionOf(node(1, ["A"], { id: 3, name: "x" })), "x");
  same(captionOf(node(1, ["A"], { id: 3, name: "x" }), "id"), "3");
  same(captionOf(node(1, ["A"], { q: 1 }), ":label"), "A");
  same(captionOf(node(1, ["A"])), "A");
  same([inkOn("#ffffff"), inkOn("#000000")], ["#000000", "#ffffff"]);
}

export function colours() {
  const kept = new Map(), names = Array.from({ length: 60 }, (_, i) => "L" + i);
  holds(giveColours(["Person", "City"], kept) && kept.get("Person") !== kept.get("City"), "labels differ");
  const person = kept.get("Person");
  giveColours(names, kept);
  same([kept.get("Person"), new Set(kept.values()).size], [person, 62]);
  holds([...kept.values()].every((c) => /^#[0-9a-f]{6}$/.test(c)), "colours are written as canvas and fields take them");
  same(giveColours(names, kept), false);
  kept.delete("Person");
  giveColours(["Ship"], kept);
  same(kept.get("Ship"), person, "a free colour comes first");
}

export function parallel() {
  const s = new Scene().addRows(rows([[edge(1, 1, 2), edge(2, 2, 1), edge(3, 1, 2), edge(4, 3, 3), edge(5, 3, 3), edge(6, 1, 3)]])), b = bends(s.edges.values());
  same(["e1", "e2", "e3", "e6"].map((e) => b.get(e).bend), [-22, -0, 22, 0]);
  same(["e4", "e5", "e1"].map((e) => b.get(e).loop), [1, 2, 0]);
}

export function curves() {
  const a = { x: 0, y: 0 }, b = { x: 100, y: 0 }, straight = curve(a, b, 10, { bend: 0, loop: 0 });
  same([straight.from, straight.to, straight.c, straight.middle], [{ x: 10, y: 0 }, { x: 90, y: 0 }, null, { x: 50, y: 0 }]);
  const up = curve(a, b, 10, { bend: 20, loop: 0 }), back = curve(b, a, 10, { bend: 20, loop: 0 });
  holds(up.middle.y > 5 && back.middle.y < -5, "edges there and back bend apart");
  const loop = curve(a, a, 10, { bend: 0, loop: 1 });
  holds(loop.c1.y < -10 && Math.abs(Math.hypot(loop.to.x, loop.to.y) - 10) < 1e-9, "a loop leaves and meets the rim");
}

export function settles() {
  const ring = Array.from({ length: 40 }, (_, i) => [i, (i + 1) % 40]).flat(), l = new Layout(40, Uint32Array.from(ring));
  while (!l.settled) l.step();
  const d = (i, j) => Math.hypot(l.x[i] - l.x[j], l.y[i] - l.y[j]);
  let near = 0, far = 0;
  for (let i = 0; i < 40; i++) { near += d(i, (i + 1) % 40) / 40; far += d(i, (i + 20) % 40) / 40; }
  holds(near > 15 && far > 2 * near, `neighbours are near (${near}) and others far (${far})`);
}

export function treeAgreesWithSums() {
  // With one vertex far from a cluster, the push of the cluster is nearly that of all its vertices one by one.
  const n = 60, l = new Layout(n, new Uint32Array(0), Float64Array.from({ length: 2 * n }, (_, i) => (i < 2 ? 4000 : ((i * 7919) % 97))));
  l.tree.build(l.x, l.y, n);
  l.tree.push(0, l.x, l.y, 10, l.vx, l.vy);
  let fx = 0;
  for (let j = 1; j < n; j++) { const dx = l.x[j] - l.x[0], dy = l.y[j] - l.y[0]; fx -= dx / (dx * dx + dy * dy); }
  holds(Math.abs(l.vx[0] / fx - 1) < 0.01, `${l.vx[0]} is about ${fx}`);
}

export function samePlace() {
  const l = new Layout(30, new Uint32Array(0), new Float64Array(60));
  for (let i = 0; i < 50; i++) l.step();
  const places = new Set(Array.from(l.x, (x, i) => Math.round(x) + "," + Math.round(l.y[i])));
  holds([...l.x].every(Number.isFinite) && places.size > 5, "vertices at one place go apart");
}

export function fixedStay() {
  const l = new Layout(3, Uint32Array.from([0, 1, 1, 2]));
  l.fixed[0] = 1;
  const x = l.x[0];
  for (let i = 0; i < 20; i++) l.step();
  same(l.x[0], x);
}

export function pictures() {
  const s = new Scene().addRows(rows([[node(1, ["A"], { name: "<&>" }), node(2), edge(1, 1, 2, "X\"Y")]]));
  const at = { v1: { x: 0, y: 0 }, v2: { x: 100, y: 50 } };
  const text = svgOf({ vertices: s.vertices, edges: s.drawn(), at: (id) => at[id], bends: bends(s.drawn()), looks: { A: { colour: "#3b82a0" } }, colours: { bg: "#fff", edge: "#999", quiet: "#666" } });
  holds(text.includes("&lt;&amp;&gt;") && text.includes("X&quot;Y") && !text.includes("<&>"), text);
  same(extent([]), { x: 0, y: 0, width: 0, height: 0 });
  same(extent(Object.values(at)), { x: 0, y: 0, width: 100, height: 50 });
}
