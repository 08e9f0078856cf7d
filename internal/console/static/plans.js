// The page of plans: those that were explained or profiled, one alone or two beside each other.
import { button, duration, el, fill } from "./dom.js";
import { operators } from "./plan.js";
import { compareView, planView } from "./planview.js";
import { read, write } from "./store.js";

const most = 30;

/** Keeps the plan of a statement that has ended. */
export function keepPlan(text, plan) {
  write("plans", [{ text, plan, at: Date.now() }, ...read("plans", [])].slice(0, most));
}

export const plansPage = {
  id: "plans", title: "Plans",
  make(app) {
    let list = [], first = null, second = null;
    const shown = el("section", { class: "plans-shown", "aria-label": "Plan" }), side = el("aside", { class: "side", "aria-label": "Kept plans" });
    const name = (p) => p.text.replace(/\s+/g, " ");
    const total = (p) => { const o = operators(p.plan)[0]; return o.profiled ? duration(o.all / 1000) : "explained"; };

    function draw() {
      fill(side, el("h2", {}, "Kept plans"), list.length ? el("ul", { class: "entries" }, list.map((p) => el("li", {},
        el("button", { type: "button", class: "entry", "aria-pressed": String(p === first), title: p.text, onclick: () => { first = p; if (second === p) second = null; draw(); } },
          el("code", {}, name(p)), el("small", {}, `${new Date(p.at).toLocaleTimeString()} · ${total(p)}`)),
        button(p === second ? "B" : "vs", p === second ? "Compare no more" : "Compare with this run", () => { second = p === second ? null : p; draw(); }, { class: "small", "aria-pressed": String(p === second), disabled: p === first }))),
      button("Clear", "Forget the plans", () => { write("plans", []); load(); }, { class: "small" })) : el("p", { class: "quiet" }, "EXPLAIN shows the plan of a statement, PROFILE runs it and measures each operator. The plans of both are kept here."));
      if (!first) {
        fill(shown, el("p", { class: "quiet" }, "No plan yet. Run a statement with ", el("b", {}, "Profile"), " on the query page."), button("Open the query page", "Open the query page", () => app.open("query")));
        return;
      }
      fill(shown, el("pre", { class: "statement" }, first.text), second ? [el("p", {}, el("b", {}, "A "), name(first), el("br"), el("b", {}, "B "), name(second)), compareView(first.plan, second.plan)] : planView(first.plan),
        el("div", { class: "toolbar" }, button("Edit", "Open the statement on the query page", () => { app.text = first.text; app.open("query"); }, { class: "small" })));
    }
    function load() {
      list = read("plans", []);
      first = list[0] ?? null;
      second = null;
      draw();
    }
    return { element: el("div", { class: "page plans" }, shown, side), show: load };
  },
};
