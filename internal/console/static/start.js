// Where people begin: what the graph consists of, guides over the demo network, the documents.
import { guides, isDemo } from "./demodata.js";
import { tour } from "./demo.js";
import { button, count, el, fill, short } from "./dom.js";
import { ofLabel, ofProperty, ofType } from "./lang.js";

const most = 100; // labels, and edge types, that the list shows
const documents = [["Cypher", "cypher.md"], ["Fetches", "fetch.md"], ["Search", "search.md"], ["Loading data", "load.md"], ["HTTP", "http.md"], ["Drivers", "drivers.md"], ["Console", "console.md"], ["Errors", "reference/errors.md"], ["All documents", "README.md"]];

/** The address of a document. */
export const documentOf = (name) => "https://github.com/hopgate/hopgate/blob/main/docs/" + name;

/** Shows the labels, edge types and properties of the graph with their counts; a click queries one. */
export function schemaList(app) {
  const element = el("div", { class: "schema-list" });
  const draw = () => {
    const s = app.schema;
    if (!s) return;
    const property = (key, n, p) => button(p.property, `The commonest values of ${p.property}, which ${count(p.count)} of ${count(n.count)} have`, () => app.query(ofProperty(key, n.name, p.property)), { class: "chip" });
    const item = (key, n, all) => el("li", {}, button(n.name, "Show some " + n.name, () => app.query(all(n.name)), { class: "chip link" }), el("small", {}, short(n.count)),
      s.properties.filter((p) => p[key] === n.name).map((p) => property(key, n, p)));
    const list = (title, names, key, all) => [el("h3", {}, title), el("ul", { class: "entries" }, names.slice(0, most).map((n) => item(key, n, all))),
      names.length > most && el("p", {}, el("a", { href: "#schema" }, `all ${count(names.length)}`))];
    fill(element, list(`Labels, ${count(s.vertices)} vertices`, s.labels, "label", ofLabel), list(`Edge types, ${count(s.edges)} edges`, s.edgeTypes, "edgeType", ofType));
  };
  app.onschema(draw);
  draw();
  return element;
}

/** Shows the guides and the documents. */
export function startView(app) {
  const cards = el("div", { class: "cards" }), note = el("p", { class: "quiet" }, "The guides use the demo network, which the console offers to load into an empty graph.");
  const draw = () => {
    note.hidden = isDemo(app.catalogue);
    fill(cards, guides.map((g) => el("button", { type: "button", class: "card guide", disabled: !note.hidden, onclick: () => tour(app, g.steps) }, el("b", {}, g.name), " ", el("span", {}, g.about))));
  };
  app.onschema(draw);
  draw();
  const version = document.querySelector(".brand small").textContent;
  return el("section", { class: "start", "aria-label": "Start" }, el("h2", {}, "Guides"), cards, note,
    el("h2", {}, "Documents"), el("p", { class: "links" }, documents.map(([text, name]) => el("a", { href: documentOf(name), target: "_blank", rel: "noreferrer" }, text))), el("p", { class: "quiet" }, "Hopgate " + version));
}
