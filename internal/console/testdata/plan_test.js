import { arc, columns, compare, fitted, offOf, operators } from "../static/plan.js";
import { Digits } from "../static/rows.js";
import { holds, same } from "./check.js";

const plan = {
  operator: "Join", arguments: "", estimatedRows: 5, rows: 100, timeUs: 25, bytes: 3, children: [
    { operator: "Scan", arguments: "(n)", estimatedRows: 1000, rows: 10, timeUs: 50, bytes: 9, cacheHits: 3, cacheMisses: 1, children: [] },
    { operator: "Unit", arguments: "", rows: 1, timeUs: 25, bytes: 0, children: [] }],
};

export function times() {
  const list = operators(plan);
  same(list.map((o) => [o.plan.operator, o.depth, o.up, o.self, o.all, o.share, o.from, o.to]), [["Join", 0, -1, 25, 100, 0.25, 0, 1], ["Scan", 1, 0, 50, 50, 0.5, 0, 0.5], ["Unit", 1, 0, 25, 25, 0.25, 0.5, 0.75]]);
  same(list.map((o) => o.off), [20, -100, 0]);
}

export function explained() {
  const list = operators({ operator: "A", arguments: "", children: [{ operator: "B", arguments: "", children: [] }, { operator: "C", arguments: "", children: [] }] });
  same(list.map((o) => [o.profiled, o.from, o.to]), [[false, 0, 1], [false, 0, 0.5], [false, 0.5, 1]]);
}

export function estimates() {
  same([{ rows: 99, estimatedRows: 10 }, { rows: 100, estimatedRows: 10 }, { rows: 0, estimatedRows: 9 }, { rows: 0, estimatedRows: 30 }, { rows: 5 }].map(offOf), [0, 10, 0, -30, 0]);
}

export function figures() {
  const write = { count: String, bytes: (n) => n + "B", duration: (n) => n + "ms" }, list = operators(plan);
  same(columns(list, write).map(([name, , text]) => [name, ...list.map(text)]), [
    ["estimated", "5", "1000", ""], ["rows", "100", "10", "1"], ["time", "0.025ms", "0.05ms", "0.025ms"], ["cache", "", "75%", ""], ["bytes", "3B", "9B", "0B"]]);
}

// The parser of rows keeps the digits of 2.00 as an object, which is not a JavaScript number.
export function bytesPerEdge() {
  const write = { count: String, bytes: String, duration: String }, list = operators({ operator: "A", wirePerEdge: new Digits("2.00"), children: [{ operator: "B", wirePerEdge: 2.25 }] });
  same(columns(list, write).map(([name, , text]) => [name, ...list.map(text)]), [["B/edge", "2.00", "2.25"]]);
}

export function twoRuns() {
  const other = { ...plan, children: [{ ...plan.children[0], operator: "Seek" }] };
  same(compare(plan, other).map(({ a, b }) => [a?.operator, b?.operator]), [["Join", "Join"], ["Scan", null], [null, "Seek"], ["Unit", null]]);
}

export function pieces() {
  holds(arc(0, 1, 0, 10).split("Z").length === 3 && arc(0, 0.25, 5, 10).includes("A5 5 0 0 0 0.00 -5.00"), arc(0, 0.25, 5, 10));
  same([fitted("Expand", 100), fitted("Expand", 32), fitted("Expand", 10)], ["Expand", "Expa…", ""]);
}
