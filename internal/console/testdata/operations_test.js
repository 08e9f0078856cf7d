import { guides, isDemo, overview, rowsOf, steps } from "../static/demodata.js";
import { planTexts, withExplain } from "../static/fetchplan.js";
import { boxes } from "../static/flame.js";
import { linePoints, quantile, rate, readings, roundUp, sum } from "../static/metrics.js";
import { holds, same } from "./check.js";

const text = (n) => `# HELP a x\n# TYPE a counter\na{code="ok",text="say \\"x\\", y"} ${n}\na{code="bad"} 2\nb 1.5e3\nh_bucket{le="0.1"} ${n}\nh_bucket{le="1"} ${2 * n}\nh_bucket{le="+Inf"} ${2 * n}\n`;

export function parses() {
  const r = readings(text(3));
  same(r.get("a"), [{ labels: { code: "ok", text: 'say "x", y' }, value: 3 }, { labels: { code: "bad" }, value: 2 }]);
  same([sum(r, "a"), sum(r, "a", (l) => l.code === "ok"), sum(r, "b"), sum(r, "none")], [5, 3, 1500, 0]);
}

export function rates() {
  same(rate(readings(text(3)), readings(text(13)), 2, "a"), 5);
  same(rate(readings(text(13)), readings(text(3)), 1, "a"), 5, "a counter that began again");
}

export function quantiles() {
  const a = readings(text(0)), b = readings(text(10));
  same(quantile(a, b, "h", 0.5), 0.1);
  same(Math.round(100 * quantile(a, b, "h", 0.75)), 55);
  holds(Number.isNaN(quantile(b, b, "h", 0.5)), "nothing new");
}

export function lines() {
  same(linePoints([0, 10, NaN, 5], 30, 10, 10, 4), ["0.0,10.0 10.0,0.0", "30.0,5.0"]);
  same([0, 0.3, 1, 1.1, 7, 45].map(roundUp), [1, 0.5, 1, 2, 10, 50]);
}

export function flames() {
  const tree = { n: "all", v: 100, c: [{ n: "a", v: 60, c: [{ n: "b", v: 60 }] }, { n: "c", v: 40 }, { n: "d", v: 0 }] };
  same(boxes(tree).map((b) => [b.frame.n, b.depth, b.from, b.to]), [["all", 0, 0, 1], ["a", 1, 0, 0.6], ["b", 2, 0, 0.6], ["c", 1, 0.6, 1]]);
}

export function explains() {
  same(withExplain({ "User[]": { count: 2, User: { id: 1 } }, User: {}, n: 1 }), { "User[]": { count: 2, User: { id: 1, "@explain": true } }, User: { "@explain": true }, n: 1 });
  same(planTexts({ "P[]": [{ name: "x" }], P: { name: "x", "@explain": { list: ["A", " B"] } }, "@explain": { "P[]": { list: ["C"] } }, ok: true }),
    { rest: { "P[]": [{ name: "x" }], P: { name: "x" }, ok: true }, plans: [{ path: "P", text: "A\n B" }, { path: "P[]", text: "C" }] });
}

export function demoRows() {
  same(rowsOf("id:ID(Person){id-type:long},firstName,:LABEL\n1,Ann,Person\n2,Bo,Person\n"), [[1, "Ann", "Person"], [2, "Bo", "Person"]]);
  same(rowsOf(":START_ID(Person),:END_ID(City),:TYPE\n1,2,T\n"), [[1, 2, "T"]]);
  same([steps.length, overview.length, guides.length], [6, 5, 5]);
  const named = (...names) => names.map((name) => ({ name }));
  same([["Person", "City", "Tag"], ["Person", "City"]].map((l) => isDemo({ labels: named(...l), types: named("KNOWS", "HAS_INTEREST") })), [true, false]);
}
