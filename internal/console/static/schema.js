// The page of a graph's schema: labels, edge types, properties, indexes, constraints, and a picture of what leads where.
import { api, ask } from "./api.js";
import { button, count, el, fill, short } from "./dom.js";
import { ofLabel, ofProperty, ofType, quoted } from "./lang.js";
import { Layout } from "./layout.js";
import { bends, curve, extent, inkOn, Scene } from "./scene.js";
import { coloursOf } from "./store.js";

const radius = 30;

export const schemaPage = {
  id: "schema", title: "Schema",
  make(app) {
    const element = el("div", { class: "page schema" });
    const query = (text) => app.query(text);

    async function load() {
      element.setAttribute("aria-busy", "true");
      await read().finally(() => element.setAttribute("aria-busy", "false"));
    }

    async function read() {
      await app.refresh();
      const s = app.schema;
      if (!s) {
        fill(element, el("p", { class: "problem" }, "The schema cannot be read."));
        return;
      }
      const options = { readOnly: true };
      const [constraints, indexes, meta, vertexTypes, edgeTypes] = await Promise.all([
        ask("SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties", options), ask("SHOW INDEXES YIELD name, state, type, entityType, labelsOrTypes, properties, owningConstraint", options),
        ask("CALL apoc.meta.graph()", options), ask("CALL apoc.meta.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes", options),
        ask("CALL apoc.meta.relTypeProperties() YIELD relType, propertyName, propertyTypes", options)]).catch((e) => { app.fault = e; return [[], [], [], [], []]; });
      const types = new Map();
      for (const t of vertexTypes) for (const l of t.nodeLabels) types.set(l + "\n" + t.propertyName, t.propertyTypes);
      for (const t of edgeTypes) types.set(t.relType.replace(/^:`?|`?$/g, "") + "\n" + t.propertyName, t.propertyTypes);
      fill(element,
        el("section", { class: "cards", "aria-label": "Counts" }, [["vertices", s.vertices], ["edges", s.edges], ["labels", s.labels.length], ["edge types", s.edgeTypes.length], ["indexes", indexes.length], ["constraints", constraints.length]]
          .map(([name, n]) => el("div", { class: "card" }, el("b", {}, count(n)), el("span", {}, name)))),
        picture(meta[0]),
        kinds("Labels", s.labels, s.properties.filter((p) => p.label), "label", types, ofLabel),
        kinds("Edge types", s.edgeTypes, s.properties.filter((p) => p.edgeType), "edgeType", types, ofType),
        list("Indexes", ["name", "type", "on", "state"], indexes.map((i) => [i.name, i.type, on(i), i.state])),
        list("Constraints", ["name", "type", "on"], constraints.map((c) => [c.name, c.type, on(c)])));
    }

    const on = (i) => (i.labelsOrTypes ?? []).map((l) => ":" + l).join("|") + "(" + (i.properties ?? []).join(", ") + ")";

    function kinds(title, names, properties, key, types, all) {
      return el("section", {}, el("h2", {}, title), names.length ? el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["name", "count", "properties"].map((h) => el("th", { scope: "col", class: h === "count" ? "number" : undefined }, h)))),
        el("tbody", {}, names.map((n) => el("tr", {}, el("td", {}, button(n.name, "Show some " + n.name, () => query(all(n.name)), { class: "chip link" })), el("td", { class: "number" }, count(n.count)),
          el("td", {}, properties.filter((p) => p[key] === n.name).map((p) => button(`${p.property} ${(types.get(n.name + "\n" + p.property) ?? []).join("|").toLowerCase()} ${p.count === n.count ? "" : Math.round((100 * p.count) / n.count) + "%"}`.trim(), `The commonest values of ${p.property}, which ${count(p.count)} of ${count(n.count)} have`, () => query(ofProperty(key, n.name, p.property)), { class: "chip" }))))))) : el("p", { class: "quiet" }, "None."));
    }

    const list = (title, head, rows) => el("section", {}, el("h2", {}, title), rows.length ? el("table", { class: "plain" }, el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows.map((r) => el("tr", {}, r.map((v) => el("td", {}, String(v ?? ""))))))) : el("p", { class: "quiet" }, "None."));

    // picture draws each label once, and each edge type between two of them, with their counts.
    function picture(meta) {
      if (!meta?.nodes.length) return el("p", { class: "quiet" }, "The graph is empty.");
      const scene = new Scene();
      for (const x of [...meta.nodes, ...meta.relationships]) scene.add(x);
      const ids = [...scene.vertices.keys()], number = new Map(ids.map((id, i) => [id, i])), edges = scene.drawn(), bent = bends(edges);
      const layout = new Layout(ids.length, Uint32Array.from(edges.flatMap((e) => [number.get(e.from), number.get(e.to)])));
      while (!layout.settled) layout.step();
      const at = (id) => ({ x: 2.1 * layout.x[number.get(id)], y: 1.5 * layout.y[number.get(id)] });
      const box = extent(ids.map(at)), pad = edges.some((e) => e.from === e.to) ? 150 : 80;
      const colours = coloursOf(api.graph, ids.map((id) => scene.vertices.get(id).labels[0] ?? ""));
      const go = (text) => ({ class: "go", tabindex: "0", role: "button", onclick: () => query(text), onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); query(text); } } });
      return el("section", { "aria-label": "What leads where" }, el("svg", { class: "schema-picture", role: "group", "aria-label": "Labels and the edge types between them", viewBox: `${box.x - pad} ${box.y - pad} ${box.width + 2 * pad} ${box.height + 2 * pad}` },
        edges.map((e) => {
          const c = curve(at(e.from), at(e.to), radius, { loop: bent.get(e.id).loop, bend: bent.get(e.id).bend * 1.6 }), from = scene.vertices.get(e.from).labels[0], to = scene.vertices.get(e.to).labels[0];
          const tip = [0, 2.7, -2.7].map((t, i) => `${c.to.x + (i ? 8 * Math.cos(c.angle + t) : 0)} ${c.to.y + (i ? 8 * Math.sin(c.angle + t) : 0)}`);
          const d = `M${c.from.x} ${c.from.y}` + (c.c1 ? `C${c.c1.x} ${c.c1.y} ${c.c2.x} ${c.c2.y} ${c.to.x} ${c.to.y}` : c.c ? `Q${c.c.x} ${c.c.y} ${c.to.x} ${c.to.y}` : `L${c.to.x} ${c.to.y}`);
          return el("g", { ...go(`MATCH (a${from ? ":" + quoted(from) : ""})-[r:${quoted(e.type)}]->(b${to ? ":" + quoted(to) : ""})\nRETURN a, r, b\nLIMIT 25`), "aria-label": `${from} ${e.type} ${to}` }, el("path", { d, class: "schema-edge" }), el("path", { d: `M${tip.join("L")}Z`, class: "schema-tip" }),
            el("text", { x: c.middle.x, y: c.middle.y, dy: 3, class: "schema-type" }, `${e.type} ${short(Number(e.properties.count))}`));
        }),
        ids.map((id) => {
          const v = scene.vertices.get(id), label = v.labels[0] ?? "", a = at(id), colour = colours.get(label);
          return el("g", { ...go(ofLabel(label)), "data-on": "", "aria-label": label }, el("circle", { cx: a.x, cy: a.y, r: radius, fill: colour }),
            el("text", { x: a.x, y: a.y - 1, fill: inkOn(colour), class: "schema-label" }, label), el("text", { x: a.x, y: a.y + 12, fill: inkOn(colour), class: "schema-count" }, short(Number(v.properties.count))));
        })));
    }
    return { element, show: load };
  },
};
