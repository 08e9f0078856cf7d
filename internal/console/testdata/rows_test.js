import { duration } from "../static/dom.js";
import { compare, csv, csvField, Digits, highest, json, kindOf, order, parse, pretty, reveal, Rows, show, visible } from "../static/rows.js";
import { holds, same } from "./check.js";

const encoder = new TextEncoder();

function rowsOf(lines, chunk = 7) {
  const rows = new Rows(), data = encoder.encode(lines.map((l) => JSON.stringify(l) + "\n").join("")), others = [];
  for (let i = 0; i < data.length; i += chunk) others.push(...rows.push(data.slice(i, i + chunk)));
  rows.end();
  return { rows, others };
}

export function chunks() {
  for (const size of [1, 3, 7, 1000]) {
    const { rows, others } = rowsOf([{ fields: ["ä"] }, ["😀"], [[1, { x: "\n" }]], { counters: {} }], size);
    same(others, [{ fields: ["ä"] }, { counters: {} }]);
    same([rows.length, rows.row(0), rows.row(1)], [2, ["😀"], [[1, { x: "\n" }]]]);
  }
}

export function manyBlocks() {
  const long = "x".repeat(700e3), { rows } = rowsOf([[1, long], [2, long], [3, long + "y"]], 65536);
  same([rows.row(1)[0], rows.row(2)[1].length, rows.row(2)[1].at(-1)], [2, 700001, "y"]);
}

export function digits() {
  const [big, float, plain] = parse("[9007199254740993, 1.0, 7]");
  if (!(big instanceof Digits)) return; // a browser that does not give the source of a number
  same([String(big), String(float), plain], ["9007199254740993", "1.0", 7]);
  same(show(parse("[1.0]")), "[1.0]");
  holds(compare(parse("9007199254740993"), parse("9007199254740992")) > 0 || !(parse("9007199254740992") instanceof Digits), "digits are compared");
  same(pretty({ a: float, b: [big] }), '{\n  "a": 1.0,\n  "b": [\n    9007199254740993\n  ]\n}');
}

const ann = { elementId: "v0", labels: ["Person"], properties: { name: "Ann" } }, bob = { elementId: "v1", labels: [], properties: {} };
const knows = { elementId: "e0", startNodeElementId: "v1", endNodeElementId: "v0", type: "KNOWS", properties: {} };

export function kinds() {
  same([null, 1, "a", true, [1], {}, ann, knows, [ann, knows, bob], [ann]].map(kindOf), ["null", "number", "string", "boolean", "list", "map", "node", "relationship", "path", "list"]);
  same(show([ann, knows, bob]), '(:Person {name: "Ann"})<-[:KNOWS]-()');
  same(show({ a: ["x", null, { b: 1 }] }), '{a: ["x", null, {b: 1}]}');
}

export function sorts() {
  const { rows } = rowsOf([[3, "b"], [1, null], [2, "a"], [1, "c"]]);
  same([...order(rows, 0, false)], [1, 3, 2, 0]);
  same([...order(rows, 0, true)], [0, 2, 1, 3]);
  same([...order(rows, 1, false)], [2, 0, 3, 1]);
  same([...order(rows, 1, true)], [1, 3, 0, 2]);
  same([true, "a", 1, null, [1], ann].sort(compare).map(kindOf), ["node", "list", "string", "boolean", "number", "null"]);
}

export function writesCSV() {
  same([1, "a,b", 'say "x"', "", null, true, ["p", 1], "two\nlines"].map((v) => csvField(v)), ["1", '"a,b"', '"say ""x"""', '""', "", "true", '"[""p"",1]"', '"two\nlines"']);
  const { rows } = rowsOf([[1, "x"], [2, null]]);
  rows.fields = ["n", "a,b"];
  same([...csv(rows)].join(""), 'n,"a,b"\r\n1,x\r\n2,\r\n');
  same([...csv(rows, [1, 0])].join(""), 'n,"a,b"\r\n2,\r\n1,x\r\n');
  same([...csv(rows, null, "\t")].join(""), 'n\ta,b\r\n1\tx\r\n2\t\r\n');
  same(csvField("a\tb", "\t"), '"a\tb"');
  same(JSON.parse([...json(rows)].join("")), [{ n: 1, "a,b": "x" }, { n: 2, "a,b": null }]);
}

export function windows() {
  const g = { viewport: 240, rowHeight: 24 };
  same(visible({ ...g, scrollTop: 0, rows: 3 }), { first: 0, count: 3, offset: 0, height: 72 });
  same(visible({ ...g, scrollTop: 36, rows: 100 }), { first: 1, count: 11, offset: 24, height: 2400 });
  same(visible({ ...g, scrollTop: 0, rows: 0 }).count, 0);
  const rows = 1e6, most = visible({ ...g, scrollTop: highest - 240, rows });
  same(most.height, highest);
  same(most.first + most.count, rows, "the end can be scrolled to");
  let last = -1;
  for (let top = 0; top <= highest - 240; top += 99991) {
    const w = visible({ ...g, scrollTop: top, rows });
    holds(w.first >= last && w.offset <= top + 1e-6 && w.offset > top - 25, "rows move with the scroll bar at " + top);
    last = w.first;
  }
}

export function reveals() {
  for (const rows of [1000, 1e6]) {
    for (const row of [0, 5, 500, rows - 1]) {
      const g = { viewport: 240, rowHeight: 24, rows }, w = visible({ ...g, scrollTop: reveal({ ...g, scrollTop: 0 }, row) });
      holds(w.first <= row && row < w.first + w.count, `row ${row} of ${rows} is visible`);
    }
  }
}

export function durations() {
  same(["0.0", "0.25", "2.0", "12.50", "1500.0"].map((d) => duration(new Digits(d))), ["0 µs", "250 µs", "2 ms", "12.5 ms", "1.5 s"]);
}
