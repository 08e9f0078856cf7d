// Draws a plan: its operators as a tree with their figures, and where the time went as an icicle or a sunburst.
import { bytes, count, duration, el, fill } from "./dom.js";
import { arc, columns, compare, fitted, operators } from "./plan.js";

const width = 960, line = 24, size = 460;
const hue = (o) => "p" + (o.id % 8);
const say = (o) => `${o.plan.operator} ${o.plan.arguments}: ` + (o.profiled ? `${count(o.plan.rows)} rows, ${duration(o.self / 1000)} (${percent(o.share)}), with inputs ${duration(o.all / 1000)}` : `about ${count(Math.ceil(o.plan.estimatedRows ?? 0))} rows`);
const percent = (x) => (100 * x).toFixed(1) + "%";

/** Gives an element that shows a plan. shape is icicle or sunburst. */
export function planView(plan, { shape = "icicle" } = {}) {
  const list = operators(plan), picture = el("div", { class: "plan-picture" }), about = el("p", { class: "plan-about", role: "status" });
  const root = el("div", { class: "plan" }, list[0].profiled ? [
    el("div", { class: "plan-shapes", role: "toolbar", "aria-label": "Picture" }, ["icicle", "sunburst"].map((s) => el("button", { type: "button", class: "small", "aria-pressed": String(s === shape), onclick: (e) => {
      for (const b of e.target.parentElement.children) b.setAttribute("aria-pressed", String(b === e.target));
      draw(s);
    } }, s)), about), picture] : null, tree(list));
  const mark = (id) => {
    for (const e of root.querySelectorAll(".on")) e.classList.remove("on");
    for (const e of root.querySelectorAll(`[data-on="${id}"]`)) e.classList.add("on");
    about.textContent = id < 0 ? "" : say(list[id]);
  };
  root.addEventListener("pointerover", (e) => mark(Number(e.target.closest("[data-on]")?.dataset.on ?? -1)));
  root.addEventListener("focusin", (e) => mark(Number(e.target.closest("[data-on]")?.dataset.on ?? -1)));
  const draw = (s) => fill(picture, s === "sunburst" ? sunburst(list) : icicle(list));
  if (list[0].profiled) draw(shape);
  return root;
}

// tree is the table of operators, those that feed one below it.
function tree(list) {
  const figures = columns(list, { count, bytes, duration }), profiled = list[0].profiled;
  return el("div", { class: "plan-scroll", tabindex: "0", role: "region", "aria-label": "Operators" }, el("table", { class: "plan-table" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "operator"), figures.map(([name, title]) => el("th", { scope: "col", title }, name)), profiled && el("th", { scope: "col", title: "share of the whole time" }, "share"))),
    el("tbody", {}, list.map((o) => {
      const name = el("td", { class: "plan-operator" }, el("b", {}, o.plan.operator), " ", el("span", {}, o.plan.arguments));
      name.style.paddingLeft = 8 + 16 * o.depth + "px";
      const bar = el("i", { class: "plan-bar " + hue(o) });
      bar.style.width = Math.round(o.share * 70) + "px";
      return el("tr", { "data-on": o.id }, name, figures.map(([column, , text]) => el("td", {}, text(o),
        column === "rows" && o.off ? el("span", { class: "plan-off", title: `${o.off > 0 ? "more" : "fewer"} rows than the planner expected` }, `${o.off > 0 ? "▲" : "▼"}${count(Math.round(Math.abs(o.off)))}×`) : null)),
      profiled && el("td", { class: "plan-share" }, bar, percent(o.share)));
    }))));
}

function icicle(list) {
  const deep = Math.max(...list.map((o) => o.depth)) + 1;
  return el("svg", { viewBox: `0 0 ${width} ${deep * line}`, class: "icicle", role: "img", "aria-label": "Icicle: each operator is as wide as the time of it and all that feeds it" },
    list.map((o) => {
      const w = (o.to - o.from) * width, text = fitted(o.plan.operator, w - 8);
      return el("g", { "data-on": o.id }, el("title", {}, say(o)), el("rect", { x: o.from * width, y: o.depth * line, width: Math.max(0.5, w - 1), height: line - 1, class: hue(o) }),
        text && el("text", { x: o.from * width + 5, y: o.depth * line + 16 }, text));
    }));
}

// sunburst shows names only where they fit.
function sunburst(list) {
  const deep = Math.max(...list.map((o) => o.depth)) + 1, ring = size / 2 / deep;
  return el("svg", { viewBox: `${-size / 2} ${-size / 2} ${size} ${size}`, class: "sunburst", role: "img", "aria-label": "Sunburst: the result in the middle, around it what feeds it" },
    list.map((o) => {
      const inner = o.depth * ring, middle = (o.from + o.to) / 2, r = o.depth ? inner + ring / 2 : 0, a = 2 * Math.PI * middle;
      const room = o.depth === 0 ? 1.7 * ring : Math.min(2 * Math.PI * r * (o.to - o.from) * Math.abs(Math.cos(a)) + ring * Math.abs(Math.sin(a)), 150);
      const text = 2 * Math.PI * r * (o.to - o.from) > 14 || !o.depth ? fitted(o.plan.operator, room - 4) : "";
      return el("g", { "data-on": o.id }, el("title", {}, say(o)), el("path", { d: arc(o.from, o.to, inner, inner + ring - 1), class: hue(o) }),
        text && el("text", { x: (r * Math.sin(a)).toFixed(1), y: (4 - r * Math.cos(a)).toFixed(1), "text-anchor": "middle" }, text));
    }));
}

/** Gives a table of two runs beside each other. */
export function compareView(a, b) {
  const change = (x, y, write) => (x === undefined || y === undefined ? "" : el("span", { class: y > 1.1 * x ? "worse" : y < 0.9 * x ? "better" : "" }, `${y >= x ? "+" : "−"}${write(Math.abs(y - x))}`));
  const cell = (v, write) => el("td", {}, v === undefined ? "" : write(v));
  const depth = new Map();
  for (const plan of [a, b]) (function visit(p, d) { depth.set(p, d); for (const c of p.children ?? []) visit(c, d + 1); })(plan, 0);
  const time = (us) => duration(us / 1000);
  return el("div", { class: "plan-scroll", tabindex: "0", role: "region", "aria-label": "Comparison" }, el("table", { class: "plan-table" },
    el("thead", {}, el("tr", {}, ["operator", "rows A", "rows B", "time A", "time B", "change", "bytes A", "bytes B"].map((n) => el("th", { scope: "col" }, n)))),
    el("tbody", {}, compare(a, b).map(({ a: x, b: y }) => {
      const p = x ?? y, name = el("td", { class: "plan-operator" }, el("b", {}, p.operator), " ", el("span", {}, p.arguments), x && y ? null : el("em", {}, x ? " only in A" : " only in B"));
      name.style.paddingLeft = 8 + 16 * depth.get(p) + "px";
      return el("tr", {}, name, cell(x?.rows, count), cell(y?.rows, count), cell(x?.timeUs, time), cell(y?.timeUs, time), el("td", {}, change(x?.timeUs, y?.timeUs, time)), cell(x?.bytes, bytes), cell(y?.bytes, bytes));
    }))));
}
