// The page on which people build JSON-array fetches: the request, its rows, and the plan of each level.
import { fetchJSON } from "./api.js";
import { bytes, button, count, duration, el, fill } from "./dom.js";
import { Editor } from "./editor.js";
import { planTexts, withExplain } from "./fetchplan.js";
import { parse, pretty } from "./rows.js";
import { read, write } from "./store.js";

export const fetchPage = {
  id: "fetch", title: "Fetch",
  make(app) {
    const editor = new Editor({ label: "Fetch, as JSON", language: "json", value: read("fetch", "{\n  \n}"), rows: 10, catalogue: () => app.catalogue, oninput: (t) => write("fetch", t), onrun: () => go() });
    const method = el("select", { "aria-label": "Method" }, ["get", "head", "post", "put", "delete"].map((m) => el("option", {}, m)));
    const explain = el("input", { type: "checkbox", checked: true });
    const status = el("div", { class: "status", role: "status", "aria-label": "Answer" });
    const rows = el("pre", { class: "json", tabindex: "0", "aria-label": "Answer as JSON" }), plans = el("div", { class: "fetch-plans" });
    const label = el("select", { "aria-label": "Label", onchange: () => propose(label.value) });

    // propose writes a fetch of some rows of a label.
    function propose(name) {
      if (!name) return;
      const keys = (app.catalogue.propertiesOf[name] ?? []).slice(0, 6);
      const text = JSON.stringify({ [name + "[]"]: { count: 10, [name]: keys.length ? { "@column": keys.join(",") } : {} } }, null, 2);
      editor.replace(0, editor.value.length, text);
      label.value = "";
    }
    app.onschema(() => fill(label, el("option", { value: "" }, "Begin with …"), app.catalogue.labels.filter((l) => /^\p{Lu}/u.test(l.name)).map((l) => el("option", { value: l.name }, l.name))));
    fill(label, el("option", { value: "" }, "Begin with …"), app.catalogue.labels.filter((l) => /^\p{Lu}/u.test(l.name)).map((l) => el("option", { value: l.name }, l.name)));

    async function go() {
      editor.clear();
      let request;
      try {
        request = JSON.parse(editor.value);
      } catch (e) {
        const at = /position (\d+)/.exec(e.message);
        editor.mark(at ? Math.min(Number(at[1]), editor.value.length - 1) : Math.max(0, editor.value.length - 1), e.message);
        return;
      }
      const began = performance.now();
      fill(status, "…");
      try {
        const text = await fetchJSON(method.value, explain.checked && method.value === "get" ? JSON.stringify(withExplain(request)) : editor.value);
        const answer = parse(text), { plans: found, rest } = planTexts(answer);
        fill(status, el("b", { class: rest.ok === false ? "failed" : undefined }, rest.ok === false ? `${rest.code} ${rest.msg}` : "ok"), ` · ${duration(performance.now() - began)} · ${bytes(new Blob([text]).size)}`);
        rows.textContent = pretty(rest);
        fill(plans, found.map((p) => el("section", {}, el("h2", {}, p.path || "request"), el("pre", { class: "statement", tabindex: "0" }, p.text))));
        if (rest.ok === false) {
          const key = /"((?:[^"\\]|\\.)+)"/.exec(rest.msg ?? "")?.[1].split("/").at(-1), at = key ? editor.value.indexOf(`"${key}"`) : -1;
          if (at >= 0) editor.mark(at, rest.msg);
        }
      } catch (e) {
        fill(status, el("span", { class: "failed" }, e.message));
      }
    }

    const element = el("div", { class: "page fetch" }, el("section", { class: "work" }, editor.element,
      el("div", { class: "toolbar", role: "toolbar", "aria-label": "Fetch" }, button("Run", "Run the fetch (Ctrl+Enter)", go, { class: "primary" }), method, label, el("label", { class: "check" }, explain, "plans"),
        button("Format", "Write the request over several lines", () => { try { editor.replace(0, editor.value.length, pretty(parse(editor.value))); } catch (e) { go(); } }))),
    el("section", { class: "result", "aria-label": "Answer" }, el("div", { class: "result-bar" }, status), el("div", { class: "fetch-row" }, rows, plans)));
    return {
      element,
      show() {
        if (!app.start) return;
        editor.value = app.start;
        write("fetch", app.start);
        app.start = "";
        go();
      },
    };
  },
};
