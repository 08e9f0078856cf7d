// What a statement has given: its rows in several forms, its figures, its notifications.
import { fileOf } from "./api.js";
import { announce, button, bytes, copy, count, download, duration, el, fill, perFrame, tabs } from "./dom.js";
import { csv, json, pretty } from "./rows.js";
import { GraphView } from "./graph.js";
import { planView } from "./planview.js";
import { drawable } from "./scene.js";
import { documentOf } from "./start.js";
import { Table } from "./table.js";

const shownJSON = 200; // rows

// costText says what a request took.
const costText = (c) => `${count(c.visits)} visits and ${count(c.rows)} rows, ${duration(c.cpuMs)} of CPU, ${duration(c.queueMs)} in the queue` + (c.estimate === undefined ? "" : `; ${count(c.estimate)} units were estimated`);

export class ResultView {
  #run = null;
  #text = "";

  /** onfix, if any, puts what the server suggests, a name, at a position of a run's statement. */
  constructor(onfix) {
    this.onfix = onfix;
    this.status = el("div", { class: "status", role: "status", "aria-label": "Result" });
    this.notes = el("ul", { class: "notes", "aria-label": "Notifications" });
    this.fault = el("div", { class: "explained", role: "region", "aria-label": "Error", hidden: true });
    this.table = new Table({ label: "Rows of the result" });
    this.json = el("pre", { class: "json", tabindex: "0", "aria-label": "Rows as JSON" });
    this.graph = new GraphView();
    this.views = [
      { name: "Table", panel: el("div", { class: "panel" }, this.table.element), draw: () => this.table.set(this.#run.rows) },
      { name: "JSON", panel: el("div", { class: "panel" }, this.json), draw: () => this.#drawJSON() },
      { name: "Graph", panel: el("div", { class: "panel" }, this.graph.element), draw: () => this.#drawGraph() },
      { name: "Plan", panel: el("div", { class: "panel" }), draw: () => this.#drawPlan() },
    ];
    this.tabs = tabs("Forms of the result", this.views, { onshow: (i) => { this.at = i; this.#draw(); } });
    this.tabs.bar.addEventListener("click", () => { this.wanted = this.views[this.at].name; });
    this.canDraw = null; // whether the rows can be drawn, once there are rows
    const name = () => "result-" + new Date().toISOString().slice(0, 19).replaceAll(":", "");
    const file = (text, what, media, end) => button(text, `Run the statement again, and download the rows as ${what}`, () => fileOf(this.#run, media).then((b) => download(name() + end, b), (e) => announce(e.message)), { class: "small" });
    this.files = [file("Arrow", "an Arrow stream", "application/vnd.apache.arrow.stream", ".arrows"), file("Parquet", "a Parquet file", "application/vnd.apache.parquet", ".parquet")];
    this.tools = el("div", { class: "tools" },
      button("Copy", "Copy the rows as tab-separated text", (e) => copy([...csv(this.#run.rows, this.table.order, "\t")].join(""), e.target), { class: "small" }),
      button("CSV", "Download the rows as CSV", () => download(name() + ".csv", [...csv(this.#run.rows, this.table.order)], "text/csv"), { class: "small" }),
      button("JSON", "Download the rows as JSON", () => download(name() + ".json", [...json(this.#run.rows, this.table.order)], "application/json"), { class: "small" }), this.files);
    this.bar = el("div", { class: "result-bar" }, this.tabs.bar, this.status, this.tools);
    this.element = el("section", { class: "result", "aria-label": "Result" }, this.bar, this.fault, this.notes, this.views.map((v) => v.panel));
    this.update = perFrame(() => this.#update());
    this.element.hidden = true;
    this.tabs.show(0);
  }

  get run() { return this.#run; }

  /** Shows a run, and follows it while it runs. */
  show(run, text) {
    this.#run = run;
    this.#text = text;
    this.canDraw = null;
    this.element.hidden = false;
    this.update();
    const tick = () => {
      if (this.#run !== run || !run.running) return;
      this.#figures();
      setTimeout(tick, 100);
    };
    tick();
  }

  #update() {
    const { onfix } = this;
    this.#figures();
    const run = this.#run;
    fill(this.notes, (run.summary?.notifications ?? []).map((n) => el("li", { class: n.severity === "WARNING" ? "warning" : "information" },
      el("strong", {}, n.title), el("span", {}, (n.position ? `${n.position.line}:${n.position.column} ` : "") + n.description),
      onfix && n.suggestion && n.position && button("Use " + n.suggestion, "Replace by " + n.suggestion, () => onfix(run, n.position, n.suggestion), { class: "small suggestion" }))));
    this.#explain();
    for (const b of this.files) b.hidden = !run.summary || Boolean(run.summary.counters?.containsUpdates); // a statement that writes does not run again
    this.#offer();
    this.#draw();
  }

  // explain says what the code of an error means and what to do, in place of rows if there are none.
  async #explain() {
    const run = this.#run, { error } = run, code = error?.code;
    this.fault.hidden = !error;
    this.element.classList.toggle("empty", Boolean(error && !run.rows.length));
    if (this.explained === error) return;
    this.explained = error;
    if (!error) return;
    fill(this.fault, el("p", { class: "problem" }, error.message));
    if (!code) return;
    const { meanings } = await import("./errors.js");
    if (this.#run !== run) return;
    const text = (meanings[code] ?? "").split("`").map((t, i) => (i % 2 ? el("code", {}, t) : t)); // code is between backticks
    this.fault.append(el("p", {}, text), el("a", { href: documentOf("reference/errors.md#" + code.toLowerCase().replaceAll(".", "")), target: "_blank", rel: "noreferrer" }, code));
  }

  // offer shows the forms that the result can take, and the graph unless another form was asked for.
  #offer() {
    const { rows } = this.#run, graph = 2, plan = 3, planned = Boolean(this.#run.summary?.plan);
    if (this.canDraw === null && (rows.length || !this.#run.running)) {
      this.canDraw = drawable(rows);
      this.tabs.buttons[graph].hidden = !this.canDraw;
      if (this.canDraw && (this.wanted ?? "Graph") === "Graph") this.tabs.show(graph);
      else if (!this.canDraw && this.at === graph) this.tabs.show(0);
    }
    this.tabs.buttons[plan].hidden = !planned;
    if (planned && this.planOf !== this.#run) {
      this.planOf = this.#run;
      this.tabs.show(plan);
    } else if (!planned && this.at === plan) this.tabs.show(0);
  }

  #drawPlan() {
    const { summary } = this.#run;
    if (summary?.plan && this.planned !== summary) {
      this.planned = summary;
      fill(this.views[3].panel, planView(summary.plan));
    }
  }

  #drawGraph() {
    if (this.#run.running || this.drawn === this.#run) return;
    this.drawn = this.#run;
    this.graph.set(this.#run.rows);
  }

  #draw() {
    if (this.#run && this.at !== undefined) this.views[this.at].draw();
  }

  #figures() {
    const r = this.#run, parts = [];
    this.element.dataset.state = r.running ? "running" : r.error ? "failed" : r.cancelled ? "cancelled" : "done";
    if (r.error) parts.push(el("span", { class: "failed" }, r.error.position ? "failed" : r.error.message));
    else if (r.cancelled) parts.push("cancelled");
    const rows = r.rows.length;
    parts.push(el("b", {}, `${count(rows)} ${rows === 1 ? "row" : "rows"}`));
    parts.push(r.running ? duration(r.milliseconds) + " …" : `${duration(r.elapsed)}${rows ? `, first after ${duration(r.first)}` : ""}`);
    parts.push(bytes(r.rows.bytes));
    const c = r.summary?.cost;
    if (c) parts.push(el("span", { title: costText(c) }, `${count(c.visits + c.rows)} units`));
    const { maxRows, timeoutMs } = r.body;
    const budget = [maxRows && `${count(maxRows)} rows`, timeoutMs && duration(timeoutMs)].filter(Boolean).join(", ");
    if (budget) parts.push("of at most " + budget);
    if (r.summary?.truncated) parts.push(el("span", { class: "warning" }, "cut off: there are more rows"));
    const changes = Object.entries(r.summary?.counters ?? {}).filter(([k, v]) => k !== "containsUpdates" && v).map(([k, v]) => `${count(v)} ${k.replace(/([A-Z])/g, " $1").toLowerCase()}`);
    fill(this.status, [...parts, ...changes].flatMap((p, i) => (i ? [el("i", { class: "dot" }, " · "), p] : [p])));
  }

  #drawJSON() {
    const { rows } = this.#run, n = Math.min(rows.length, shownJSON), list = [];
    for (let i = 0; i < n; i++) list.push(Object.fromEntries(rows.row(i).map((v, c) => [rows.fields[c], v])));
    this.json.textContent = pretty(list) + (n < rows.length ? `\n… ${count(rows.length - n)} more rows are in the download` : "");
  }
}
