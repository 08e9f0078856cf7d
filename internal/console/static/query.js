// The page on which people write statements and see what they give.
import { api, run } from "./api.js";
import { announce, button, copy, count, el, fill } from "./dom.js";
import { Editor } from "./editor.js";
import { faultAt, placeOf, quoted, statements } from "./lang.js";
import { keepPlan } from "./plans.js";
import { ResultView } from "./result.js";
import { parse } from "./rows.js";
import { schemaList, startView } from "./start.js";
import { read, remember, save, write } from "./store.js";

const example = "MATCH (n)\nRETURN n\nLIMIT 25";
const limits = [["100", 100], ["1,000", 1000], ["10,000", 10000], ["100,000", 100000], ["1,000,000", 1000000], ["all", 0]];

export const queryPage = {
  id: "query", title: "Query",
  make(app) {
    let runs = [], history = read("history", []), saved = read("saved", []);
    const editor = new Editor({ label: "Statement", value: read("draft", example), rows: 5, catalogue: () => app.catalogue, oninput: (t) => write("draft", t), onrun: (one) => runAll(one) });
    const parameters = new Editor({ label: "Parameters, as JSON", language: "json", value: read("parameters", "{}"), rows: 4, oninput: (t) => { write("parameters", t); readParameters(); }, onrun: () => runAll(false) });
    const limit = el("select", { "aria-label": "Most rows", onchange: () => write("limit", Number(limit.value)) }, limits.map(([text, n]) => el("option", { value: n }, text + (n ? " rows" : " rows"))));
    limit.value = read("limit", 1000);
    const timeout = el("input", { type: "number", min: "0", step: "1", "aria-label": "Seconds until a statement ends; 0 is the server's default", value: read("timeout", 0), onchange: () => write("timeout", Number(timeout.value)) });
    const readOnly = el("input", { type: "checkbox", checked: read("readOnly", false), onchange: () => write("readOnly", readOnly.checked) });
    const go = button("Run", "Run all statements, or the selection (Ctrl+Enter)", () => runAll(false), { class: "primary" });
    const stop = button("Cancel", "Cancel", () => runs.forEach((r) => r.run?.cancel()), { disabled: true });
    const strip = el("div", { class: "strip", role: "toolbar", "aria-label": "Results of the statements", hidden: true });
    const result = new ResultView(fix);
    const start = startView(app), schema = schemaList(app);
    const side = el("aside", { class: "side", "aria-label": "Schema, parameters, history and saved queries" });

    function readParameters() {
      parameters.clear();
      try {
        const v = parse(parameters.value.trim() || "{}");
        if (v === null || typeof v !== "object" || Array.isArray(v)) throw new Error("must be an object, such as {\"id\": 933}");
        app.catalogue.parameters = Object.keys(v);
        return v;
      } catch (e) {
        const at = /position (\d+)/.exec(e.message);
        parameters.mark(at ? Number(at[1]) : Math.max(0, parameters.value.length - 1), e.message);
        return null;
      }
    }

    async function runAll(one) {
      if (runs.some((r) => r.run?.running)) return;
      const values = readParameters();
      if (!values) { show("parameters"); return; }
      editor.clear();
      const picked = editor.selection.trim(), at = picked ? editor.area.selectionStart : 0;
      let list = statements(picked ? editor.selection : editor.value).map((s) => ({ ...s, from: s.from + at }));
      if (one && !picked) list = list.filter((s, i) => i === list.findLastIndex((x) => x.from <= editor.caret) || list.length === 1);
      if (!list.length) return;
      start.hidden = true;
      runs = list.map((s) => ({ ...s, run: null }));
      go.disabled = true;
      stop.disabled = false;
      let wrote = false;
      for (const [i, r] of runs.entries()) {
        r.run = run(r.text, { parameters: values, maxRows: Number(limit.value), timeoutMs: Number(timeout.value) * 1000, readOnly: readOnly.checked, onchange: () => { if (runs[shown] === r) result.update(); } });
        choose(i);
        const done = await r.run.done;
        wrote ||= Boolean(done.summary?.counters?.containsUpdates);
        history = remember(history, { text: r.text, graph: api.graph, at: Date.now(), ms: Math.round(done.elapsed * 10) / 10, rows: done.rows.length, error: done.error?.message });
        if (done.summary?.plan) keepPlan(r.text, done.summary.plan);
        drawStrip();
        if (done.error || done.cancelled) break;
      }
      runs = runs.filter((r) => r.run);
      write("history", history);
      go.disabled = false;
      stop.disabled = true;
      drawStrip();
      drawSide();
      const last = runs.at(-1);
      mark(last);
      announce(last.run.error ? last.run.error.message : last.run.cancelled ? "Cancelled" : `${count(last.run.rows.length)} rows`, false);
      if (wrote) app.refresh();
    }

    // mark underlines the place of an error in the text of the editor, of which the statement is a part.
    function mark(r) {
      const position = r.run.error?.position;
      if (position) editor.mark(r.from + placeOf(r.text, position.line, position.column), r.run.error.message, r.run.error.code);
    }

    // fix puts a name at a position of a statement that has run, if the editor still has it there.
    function fix(of, { line, column }, name) {
      const r = runs.find((x) => x.run === of);
      if (!r || editor.value.slice(r.from, r.from + r.text.length) !== r.text) {
        announce("The statement has changed");
        return;
      }
      const { from, to } = faultAt(editor.value, r.from + placeOf(r.text, line, column), "cypher");
      editor.replace(from, to, quoted(name));
    }

    let shown = 0;
    function choose(i) {
      shown = i;
      result.show(runs[i].run, runs[i].text);
      drawStrip();
    }

    function drawStrip() {
      strip.hidden = runs.length < 2;
      fill(strip, runs.map((r, i) => button(`${i + 1} ${r.text.replace(/\s+/g, " ").slice(0, 28)}`, `${i + 1} ${r.text}`, () => choose(i), {
        "aria-pressed": String(i === shown), class: r.run?.error ? "small failed" : "small", disabled: !r.run,
      })));
    }

    const open = { schema: read("side", "schema") === "schema", parameters: read("side", "schema") === "parameters", history: read("side", "schema") === "history", saved: read("side", "") === "saved" };
    function show(name) {
      for (const k of Object.keys(open)) open[k] = k === name && !open[k] || k === name && name === "parameters";
      write("side", Object.keys(open).find((k) => open[k]) ?? "");
      drawSide();
    }

    const use = (text) => { editor.replace(0, editor.value.length, text); editor.focus(); };
    const entry = (text, title, note, failed, remove) => el("li", {},
      el("button", { type: "button", class: "entry" + (failed ? " failed" : ""), title, onclick: () => use(text) }, el("code", {}, text.replace(/\s+/g, " ").slice(0, 120)), el("small", {}, note)),
      button("✕", "Remove", remove, { class: "plain" }));

    function drawSide() {
      const section = (name, title, ...content) => [
        el("h2", {}, el("button", { type: "button", class: "plain fold", "aria-expanded": String(open[name]), onclick: () => show(name) }, title)),
        open[name] ? el("div", { class: "fold-body" }, ...content) : null];
      const name = el("input", { "aria-label": "Name of the query", placeholder: "Name" });
      fill(side,
        section("schema", "Schema", schema),
        section("parameters", "Parameters", parameters.element),
        section("history", `History (${history.length})`, history.length ? [el("ul", { class: "entries" }, history.slice(0, 100).map((h) =>
          entry(h.text, h.error ?? h.text, `${new Date(h.at).toLocaleTimeString()} · ${h.error ? "failed" : `${count(h.rows)} rows, ${h.ms} ms`}`, h.error, () => { history = history.filter((x) => x !== h); write("history", history); drawSide(); }))),
          button("Clear the history", "Clear the history", () => { history = []; write("history", history); drawSide(); }, { class: "small" })] : el("p", { class: "quiet" }, "What you run is kept here, in this browser.")),
        section("saved", `Saved (${saved.length})`, el("form", { class: "inline", onsubmit: (e) => {
          e.preventDefault();
          if (!name.value.trim()) return;
          saved = save(saved, { name: name.value.trim(), text: editor.value });
          write("saved", saved);
          drawSide();
          announce("Saved");
        } }, name, el("button", { type: "submit" }, "Save")), el("ul", { class: "entries" }, saved.map((s) =>
          entry(s.text, s.text, s.name, false, () => { saved = saved.filter((x) => x !== s); write("saved", saved); drawSide(); })))));
    }

    const link = button("Link", "Copy a link that opens this query", (e) => {
      const q = new URLSearchParams({ q: editor.value });
      if (api.graph) q.set("graph", api.graph);
      if (parameters.value.trim() !== "{}") q.set("parameters", parameters.value);
      copy(location.origin + location.pathname + "#query?" + q, e.target);
    });
    const prefixed = (word) => {
      const list = statements(editor.selection.trim() ? editor.selection : editor.value);
      if (!list.length) return;
      const text = list.at(0).text.replace(/^(EXPLAIN|PROFILE)\s+/i, "");
      editor.value = `${word} ${text}`;
      write("draft", editor.value);
      runAll(false);
    };
    const toolbar = el("div", { class: "toolbar", role: "toolbar", "aria-label": "Run" }, go, stop,
      button("Explain", "Show the plan without running it", () => prefixed("EXPLAIN")), button("Profile", "Run the first statement and measure its operators", () => prefixed("PROFILE")),
      el("span", { class: "gap" }), button("Guides", "Show or hide the guides and documents", () => { start.hidden = !start.hidden; }), el("label", { class: "check", title: "The server refuses statements that write" }, readOnly, "read only"), limit,
      el("label", { class: "check", title: "Seconds until a statement ends; 0 is the server's default" }, timeout, "s"), link);
    drawSide();
    readParameters();
    const element = el("div", { class: "page query" }, el("section", { class: "work" }, editor.element, toolbar, strip, start, result.element), side);
    return {
      element, editor, result,
      show(q) {
        if (q.has("q")) {
          editor.value = q.get("q");
          write("draft", editor.value);
          if (q.has("graph")) api.graph = q.get("graph");
          if (q.has("parameters")) { parameters.value = q.get("parameters"); readParameters(); }
          globalThis.history.replaceState(null, "", "#query");
        }
        if (app.text) {
          editor.value = app.text;
          write("draft", app.text);
          app.text = "";
        }
        if (app.start) {
          editor.value = app.start;
          write("draft", app.start);
          app.start = "";
          runAll(false);
        }
        if (matchMedia("(pointer: fine)").matches) editor.focus();
      },
    };
  },
};
