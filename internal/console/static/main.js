// The frame of the console: pages, graph, token, theme.
import { api, ask, get } from "./api.js";
import { button, dialog, el, fill } from "./dom.js";
import { read, write } from "./store.js";
import { emptyCatalogue } from "./complete.js";
import { offerDemo } from "./demo.js";
import { fetchPage } from "./fetch.js";
import { operationsPage } from "./operations.js";
import { plansPage } from "./plans.js";
import { queryPage } from "./query.js";
import { schemaPage } from "./schema.js";
import { serverPage } from "./server.js";

const pages = [queryPage, fetchPage, schemaPage, plansPage, operationsPage, serverPage];

/** What the pages share. */
const app = {
  catalogue: emptyCatalogue(),
  tour: el("div", { class: "tour", role: "region", "aria-label": "Tour", hidden: true }),
  schema: null,
  /** Opens a page with parameters. */
  open(page, parameters = {}) { location.hash = page + (Object.keys(parameters).length ? "?" + new URLSearchParams(parameters) : ""); },
  /** Opens a page with a statement or a fetch, and runs it. */
  query(text, page = "query") { app.start = text; app.open(page); route(); },
  /** Reads again what the graph consists of. */
  async refresh() {
    try {
      const schema = await get("/v1/schema", { graph: api.graph });
      app.schema = schema;
      const c = app.catalogue;
      c.labels = schema.labels;
      c.types = schema.edgeTypes;
      c.properties = [...new Set(schema.properties.map((p) => p.property))].sort();
      c.propertiesOf = {};
      for (const p of schema.properties) (c.propertiesOf[p.label ?? p.edgeType ?? ""] ??= []).push(p.property);
      for (const f of listeners) f();
    } catch (e) {
      if (e.status !== 401) console.info("the schema cannot be read: " + e.message);
    }
  },
  /** Calls f whenever the schema has been read. */
  onschema(f) { listeners.push(f); },
};
const listeners = [];

async function loadFunctions() {
  const c = app.catalogue;
  try {
    const [functions, procedures] = await Promise.all([ask("SHOW FUNCTIONS YIELD name, signature, description"), ask("SHOW PROCEDURES YIELD name, signature, description")]);
    c.functions = functions;
    c.procedures = procedures;
  } catch (e) {
    if (e.status !== 401) console.info("the functions cannot be listed: " + e.message);
  }
}

const graphs = el("select", { "aria-label": "Graph", onchange: () => { api.graph = graphs.value; write("graph", api.graph); app.refresh(); } });

async function loadGraphs() {
  try {
    const list = await ask("SHOW GRAPHS YIELD name, default");
    const kept = read("graph", "");
    fill(graphs, list.map((g) => el("option", { value: g.default ? "" : g.name }, g.name)));
    graphs.value = list.some((g) => !g.default && g.name === kept) ? kept : "";
    api.graph = graphs.value;
  } catch (e) {
    if (e.status !== 401) console.info("the graphs cannot be listed: " + e.message);
  }
}

async function load() {
  await loadGraphs();
  await Promise.all([app.refresh(), loadFunctions()]);
  offerDemo(app);
  document.documentElement.dataset.ready = "true";
}

function askToken(failure) {
  if (document.querySelector("dialog[open]")) return;
  const field = el("input", { type: "password", autocomplete: "off", spellcheck: "false", id: "token", value: api.token });
  const keep = el("input", { type: "checkbox", id: "keep" });
  const close = dialog("Token",
    el("form", { class: "form", onsubmit: (e) => { e.preventDefault(); api.setToken(field.value.trim(), keep.checked); close(); badge(); load(); } },
      failure && el("p", { class: "problem" }, failure.message),
      el("label", { for: "token" }, "Token of this server"), field,
      el("label", { class: "check" }, keep, "Keep it until this tab closes"),
      el("footer", {}, button("Forget", "Forget the token", () => { api.setToken("", false); close(); badge(); }), el("button", { type: "submit", class: "primary" }, "Use"))));
  field.focus();
}
api.onUnauthorized = askToken;

const tokenButton = button("Token", "Give the token for this server", () => askToken(), { class: "plain" });
const badge = () => tokenButton.classList.toggle("on", Boolean(api.token));

const themes = ["auto", "light", "dark"];
const themeButton = button("◐", "", () => theme(themes[(themes.indexOf(read("theme", "auto")) + 1) % themes.length]), { class: "plain" });
function theme(name) {
  write("theme", name);
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  themeButton.textContent = { auto: "◐", light: "☀", dark: "☾" }[name];
  themeButton.title = "Colours: " + { auto: "as the system", light: "light", dark: "dark" }[name];
  themeButton.setAttribute("aria-label", themeButton.title);
  dispatchEvent(new Event("theme"));
}

const made = {};
let current = null;

/** Shows the page that the address names. */
function route() {
  const [name, rest = ""] = decodeURI(location.hash.slice(1)).split(/\?(.*)/s, 2);
  const page = pages.find((p) => p.id === name) ?? pages[0];
  if (current && current !== page) made[current.id].hide?.();
  const view = (made[page.id] ??= page.make(app));
  current = page;
  fill(document.getElementById("main"), view.element);
  document.title = page.title + " · Hopgate";
  for (const a of document.querySelectorAll("#pages a")) a.toggleAttribute("aria-current", a.dataset.page === page.id);
  for (const a of document.querySelectorAll("#pages a[aria-current]")) a.setAttribute("aria-current", "page");
  view.show?.(new URLSearchParams(location.hash.split(/\?(.*)/s, 2)[1] ?? rest));
}

fill(document.getElementById("pages"), pages.map((p) => el("a", { href: "#" + p.id, "data-page": p.id }, p.title)));
document.getElementById("main").before(app.tour);
fill(document.getElementById("tools"), graphs, tokenButton, themeButton);
theme(read("theme", "auto"));
badge();
addEventListener("hashchange", route);
route();
load();
