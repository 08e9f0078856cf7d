// A flame graph: who called whom, as wide as the time it took. A click shows a box with all that it calls.
import { count, el, fill } from "./dom.js";
import { fitted } from "./plan.js";

const width = 1200, line = 18, deepest = 60;

/** Gives the boxes of a tree {n, v, c} seen from a root: {frame, depth, from, to}, without those narrower than a share. */
export function boxes(root, least = 0.0008) {
  const out = [];
  (function visit(frame, depth, from) {
    const w = frame.v / (root.v || 1);
    if (w < least || depth > deepest) return;
    out.push({ frame, depth, from, to: from + w });
    let at = from;
    for (const c of frame.c ?? []) {
      visit(c, depth + 1, at);
      at += c.v / (root.v || 1);
    }
  })(root, 0, 0);
  return out;
}

const hueOf = (name) => { let h = 0; for (const c of name) h = (h * 31 + c.codePointAt(0)) >>> 0; return "p" + (h % 8); };
const shortName = (name) => name.replace(/^.*\/(?=[^/]*$)/, "");

/** Gives an element that shows a tree of a profile in nanoseconds. */
export function flameView(tree) {
  const holder = el("div", { class: "plan flame" }), about = el("p", { class: "plan-about", role: "status" });
  const say = (f) => `${f.n}: ${count(Math.round(f.v / 1e6))} ms, ${((100 * f.v) / (tree.v || 1)).toFixed(1)}%`;
  const draw = (root) => {
    const list = boxes(root), deep = Math.max(...list.map((b) => b.depth)) + 1;
    fill(holder, about, el("svg", { viewBox: `0 0 ${width} ${deep * line}`, class: "icicle", role: "img", "aria-label": "Flame graph" }, list.map((b) => {
      const w = (b.to - b.from) * width, text = fitted(b.depth < 3 ? b.frame.n : shortName(b.frame.n), w - 6, 6);
      return el("g", { "data-on": "", onclick: () => draw(b.frame === root ? tree : b.frame), onpointerenter: () => { about.textContent = say(b.frame); } }, el("title", {}, say(b.frame)),
        el("rect", { x: b.from * width, y: b.depth * line, width: Math.max(0.5, w - 0.7), height: line - 1, class: hueOf(b.frame.n) }), text && el("text", { x: b.from * width + 3, y: b.depth * line + 13 }, text));
    })));
    about.textContent = say(root);
  };
  draw(tree);
  return holder;
}
