// The page of trusted operations: what there is, a form of parameters, the answer with its time and cost, how it has done.
import { api, Run, send } from "./api.js";
import { button, count, duration, el, fill } from "./dom.js";
import { quantile, readings, sum } from "./metrics.js";
import { fieldsOf, valueOf } from "./parameters.js";
import { ResultView } from "./result.js";
import { parse, pretty } from "./rows.js";

const none = new Map(); // readings of a server that has just begun

export const operationsPage = {
  id: "operations", title: "Operations",
  make(app) {
    const list = el("nav", { class: "side operation-list", "aria-label": "Trusted operations" });
    const work = el("section", { class: "work" }), figures = el("div", { class: "figures" });
    const result = new ResultView();
    let all = [], current = null, run = null, use = null;

    async function load() {
      let problem = null;
      try {
        all = (await (await send("/v1/op", { headers: graphHeader() })).json()).operations;
      } catch (e) {
        all = [];
        problem = e;
      }
      try {
        use = readings(await (await send("/v1/metrics", { accept: "text/plain" })).text());
      } catch { // only an admin sees them
        use = null;
      }
      if (problem) fill(work, el("p", { class: "problem" }, problem.message));
      current = all.find((o) => o.name === current?.name) ?? null;
      drawList();
      if (!problem && !current) all.length ? choose(all[0]) : fill(work, el("p", { class: "quiet" }, "This graph has no trusted operation that you may run: graphctl operation put adds them."));
      else if (current) drawFigures();
    }

    const graphHeader = () => (api.graph ? { "Hopgate-Graph": api.graph } : {});

    function drawList() {
      fill(list, el("h2", {}, `Operations (${all.length})`), el("ul", { class: "entries" }, all.map((o) => el("li", {},
        el("button", { type: "button", class: "entry" + (o.state === "enabled" ? "" : " failed"), "aria-current": o === current ? "true" : undefined, title: o.problem ?? o.description, onclick: () => choose(o) },
          el("code", {}, o.name), el("small", {}, [o.kind === "statement" ? "" : o.kind, o.write ? "writes" : "reads", o.state === "enabled" ? "" : o.state, o.roles.join(", ")].filter(Boolean).join(" · ")))))));
    }

    function choose(o) {
      current = o;
      drawList();
      const fields = fieldsOf(o.parameters).map((f) => ({ ...f, input: el("input", { id: "parameter-" + f.name, placeholder: f.fallback, autocomplete: "off", spellcheck: "false" }) }));
      const fault = el("p", { class: "problem", role: "alert", hidden: true });
      const go = button("Run", "Run the operation", undefined, { type: "submit", class: "primary" });
      const answer = el("pre", { class: "json", tabindex: "0", "aria-label": "Answer as JSON", hidden: true });
      const stop = button("Cancel", "Cancel", () => run?.cancel(), { disabled: true });
      async function submit(e) {
        e.preventDefault();
        fault.hidden = true;
        const parameters = {};
        try {
          for (const f of fields) {
            const v = valueOf(f, f.input.value);
            if (v !== undefined) parameters[f.name] = v;
          }
        } catch (problem) {
          fault.textContent = problem.message;
          fault.hidden = false;
          return;
        }
        go.disabled = true;
        if (o.kind === "fetch") { // its answer has a form of its own
          try {
            const text = await (await send("/v1/op/" + encodeURIComponent(o.name), { method: "POST", body: JSON.stringify(parameters), headers: graphHeader() })).text();
            answer.textContent = pretty(parse(text));
          } catch (problem) {
            answer.textContent = "";
            fault.textContent = problem.message;
            fault.hidden = false;
          }
          answer.hidden = !answer.textContent;
          go.disabled = false;
          load();
          return;
        }
        stop.disabled = false;
        run = new Run({ operation: o.name, parameters, ...(api.graph ? { graph: api.graph } : {}) }, () => { if (current?.name === o.name) result.update(); });
        result.show(run, "CALL op." + o.name);
        await run.done;
        go.disabled = false;
        stop.disabled = true;
        if (run.summary?.counters?.containsUpdates) app.refresh();
        load();
      }
      result.element.hidden = true;
      fill(work, el("header", {}, el("h1", {}, o.name), o.description && el("p", {}, o.description), o.problem && el("p", { class: "problem" }, o.problem), figures),
        el("form", { class: "form parameters", onsubmit: submit }, fields.map((f) => el("div", {}, el("label", { for: "parameter-" + f.name }, f.name + (f.required ? "" : " (optional)"), el("small", {}, " " + f.type)), f.input, f.description && el("small", {}, f.description))),
          fault, el("footer", {}, go, o.kind === "fetch" ? null : stop)), o.kind === "fetch" ? answer : result.element);
      drawFigures();
    }

    // drawFigures shows how the operation has done in this process, to those who may see metrics.
    function drawFigures() {
      const o = current, pass = (l) => l.operation === o.name && (l.graph === api.graph || !api.graph && l.graph === "default"), name = "hopgate_operation_duration_seconds";
      const calls = use ? sum(use, name + "_count", pass) : 0;
      fill(figures, el("p", { class: "quiet" }, [`version ${o.version}`, use && `${count(calls)} ${calls === 1 ? "call" : "calls"} of this process`, calls && use && `${count(sum(use, "hopgate_operation_errors_total", pass))} failed`,
        calls && use && `median ${duration(1000 * quantile(none, use, name, 0.5, pass))}, p99 ${duration(1000 * quantile(none, use, name, 0.99, pass))}`].filter(Boolean).join(" · ")));
    }

    app.onschema(() => { if (shown) load(); });
    let shown = false;
    return {
      element: el("div", { class: "page operations" }, list, work),
      show() { shown = true; load(); },
      hide() { shown = false; },
    };
  },
};
