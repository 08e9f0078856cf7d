// The graph of a result on a canvas: people zoom, move, pin, hide, search, follow edges and keep the picture.
import { api, ask, run } from "./api.js";
import { announce, button, colour, count, download, el, fill, perFrame } from "./dom.js";
import { lookOf, paint, svgOf } from "./draw.js";
import { quoted } from "./lang.js";
import { show } from "./rows.js";
import { bends, captionOf, curve, extent, labelOf, mostVertices, Scene } from "./scene.js";
import { coloursOf, read, write } from "./store.js";

const mostValues = 100; // of a property that have colours of their own; the others have the label's

const help = "Arrow keys move, plus and minus zoom, N and P go through the vertices, Enter shows neighbours, F pins, Delete hides.";

export class GraphView {
  scene = new Scene();
  #at = new Map(); // id → {x, y}
  #pinned = new Set();
  #hidden = [];
  #bends = new Map();
  #edges = [];
  #numbers = []; // the ids of the vertices in the order of the layout
  #view = { k: 1, x: 0, y: 0 };
  #chosen = "";
  #found = null;
  #path = -1;
  #generation = 0;
  #follow = true; // the view follows the layout until somebody moves it
  #chosenLooks = read("looks", {}); // by label, for all graphs
  #looks = {}; // of the labels of the scene

  constructor() {
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "graph", "aria-label": "Graph", onkeydown: (e) => this.#key(e) });
    this.search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search vertices", oninput: () => this.#seek() });
    this.cap = el("select", { "aria-label": "Most neighbours" }, [10, 25, 50, 100, 250].map((n) => el("option", { value: n }, `${n} neighbours`)));
    this.cap.value = 25;
    this.notice = el("div", { class: "graph-notice", role: "status" });
    this.legend = el("div", { class: "legend" });
    this.detail = el("div", { class: "graph-detail", "aria-live": "polite" });
    this.menu = el("div", { class: "menu", role: "menu", "aria-label": "Neighbours", hidden: true });
    this.pathButton = button("Paths", "Highlight the paths, one after the other", () => this.#nextPath(), { class: "small", hidden: true });
    const bar = el("div", { class: "graph-bar", role: "toolbar", "aria-label": "Graph" }, this.search, this.cap,
      button("Connect", "Add the edges between what is drawn", () => this.#connect(), { class: "small" }), this.pathButton,
      button("Show hidden", "Bring back what was hidden", () => this.#unhide(), { class: "small" }), el("span", { class: "gap" }),
      button("−", "Zoom out", () => this.#zoom(1 / 1.3), { class: "small" }), button("+", "Zoom in", () => this.#zoom(1.3), { class: "small" }),
      button("Fit", "Show all", () => { this.#follow = true; this.#fit(); this.draw(); }, { class: "small" }),
      button("PNG", "Download the picture as PNG", () => this.#png(), { class: "small" }),
      button("SVG", "Download the picture as SVG", () => download("graph.svg", [svgOf(this.#picture())], "image/svg+xml"), { class: "small" }));
    this.stage = el("div", { class: "stage" }, this.canvas, this.menu, this.notice);
    this.element = el("div", { class: "graph" }, bar, el("div", { class: "graph-row" }, this.stage, el("aside", { class: "graph-side", "aria-label": "Labels and selection" }, this.legend, this.detail)));
    this.draw = perFrame(() => this.#paint());
    this.#pointer();
    new ResizeObserver(() => { if (this.#follow) this.#fit(); this.draw(); }).observe(this.stage);
    addEventListener("theme", () => { this.colours = null; this.draw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours = null; this.draw(); });
  }

  /** Draws the graph of rows. */
  async set(rows) {
    this.scene = new Scene().addRows(rows);
    this.graph = api.graph;
    this.#at.clear();
    this.#pinned.clear();
    this.#hidden = [];
    this.#chosen = "";
    this.#path = -1;
    this.#follow = true;
    this.search.value = "";
    this.#found = null;
    const scene = this.scene, missing = scene.missing().slice(0, mostVertices - scene.vertices.size);
    this.#changed(1);
    if (missing.length) await this.#add("MATCH (n) WHERE elementId(n) IN $ids RETURN n", { ids: missing }, scene);
  }

  // add runs a statement and adds what it gives; parents are where new vertices begin.
  async #add(statement, parameters, scene = this.scene, beside = "") {
    const r = await run(statement, { parameters, readOnly: true }).done;
    if (r.error) {
      announce(r.error.message);
      return 0;
    }
    if (scene !== this.scene) return 0;
    const before = scene.vertices.size + scene.edges.size, near = this.#at.get(beside), old = new Set(scene.vertices.keys());
    scene.addRows(r.rows);
    if (near) {
      let i = 0;
      for (const id of scene.vertices.keys()) if (!old.has(id)) { const a = i++ * 2.4, d = 50 + 4 * Math.sqrt(i); this.#at.set(id, { x: near.x + d * Math.cos(a), y: near.y + d * Math.sin(a) }); }
    }
    this.#changed(beside ? 0.4 : 1);
    return scene.vertices.size + scene.edges.size - before;
  }

  // changed begins the layout of what is drawn now.
  #changed(heat) {
    this.#numbers = [...this.scene.vertices.keys()];
    this.#edges = this.scene.drawn();
    this.#dress();
    this.#bends = bends(this.#edges);
    const number = new Map(this.#numbers.map((id, i) => [id, i])), n = this.#numbers.length;
    const places = new Float64Array(2 * n).fill(NaN), fixed = new Uint8Array(n), edges = new Uint32Array(2 * this.#edges.length);
    this.#numbers.forEach((id, i) => {
      const p = this.#at.get(id);
      if (p) { places[2 * i] = p.x; places[2 * i + 1] = p.y; }
      fixed[i] = this.#pinned.has(id) ? 1 : 0;
    });
    this.#edges.forEach((e, i) => { edges[2 * i] = number.get(e.from); edges[2 * i + 1] = number.get(e.to); });
    this.number = number;
    this.canvas.setAttribute("aria-label", `Graph of ${count(n)} ${n === 1 ? "vertex" : "vertices"} and ${count(this.#edges.length)} ${this.#edges.length === 1 ? "edge" : "edges"}. ${help}`);
    fill(this.notice, this.scene.left ? `The first ${count(mostVertices)} vertices are drawn; ${count(this.scene.left)} or more were left out.` : null);
    this.pathButton.hidden = !this.scene.paths.length;
    this.#drawLegend();
    this.#drawDetail();
    this.settled = false;
    this.steps = 0;
    this.worker ??= this.#start();
    this.worker.postMessage({ do: "begin", n, edges, places, fixed, heat, generation: ++this.#generation });
  }

  // dress gives each label of the scene its look: its colour in this graph, and over it what was chosen.
  #dress() {
    const labels = this.scene.counts().labels.map(([l]) => l).sort(), colours = coloursOf(this.graph, labels);
    this.#looks = Object.fromEntries(labels.map((l) => [l, { colour: colours.get(l), ...this.#chosenLooks[l] }]));
    for (const [label, look] of Object.entries(this.#looks)) {
      if (!look.by) continue;
      const values = new Set([...this.scene.vertices.values()].filter((v) => labelOf(v) === label && v.properties[look.by] !== undefined).map((v) => String(v.properties[look.by])));
      const given = [...values].sort().slice(0, mostValues), own = coloursOf(JSON.stringify([this.graph, label, look.by]), given);
      look.values = new Map(given.map((v) => [v, own.get(v)]));
    }
  }

  #start() {
    const w = new Worker(new URL("./layout-worker.js", import.meta.url), { type: "module" });
    w.onmessage = ({ data }) => {
      if (data.generation !== this.#generation) return;
      this.#numbers.forEach((id, i) => { if (id !== this.dragged) this.#at.set(id, { x: data.places[2 * i], y: data.places[2 * i + 1] }); });
      this.steps += data.steps;
      this.settled = data.settled;
      if (this.#follow) this.#fit();
      this.draw();
      if (!data.settled) requestAnimationFrame(() => w.postMessage({ do: "next" }));
    };
    return w;
  }

  #place(id) { return this.#at.get(id) ?? { x: 0, y: 0 }; }

  #picture() {
    this.colours ??= { bg: colour("bg"), edge: colour("edge"), quiet: colour("quiet"), accent: colour("accent") };
    return {
      vertices: this.scene.vertices, edges: this.#edges, at: (id) => this.#place(id), bends: this.#bends, looks: this.#looks, colours: this.colours,
      chosen: this.#chosen, found: this.#found, pinned: this.#pinned, paths: new Set(this.scene.paths[this.#path] ?? []),
    };
  }

  #paint() {
    const { clientWidth: w, clientHeight: h } = this.stage, ratio = devicePixelRatio || 1;
    if (!w || !h || !this.element.isConnected) return;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
    }
    paint(this.canvas.getContext("2d"), this.#picture(), this.#view, w, h, ratio);
    this.frames = (this.frames ?? 0) + 1;
  }

  #fit() {
    const box = extent(this.#at.values()), { clientWidth: w, clientHeight: h } = this.stage;
    if (!w || !this.#at.size) return;
    const k = Math.min(w / (box.width + 90), h / (box.height + 90), 1.6);
    this.#view = { k, x: w / 2 - k * (box.x + box.width / 2), y: h / 2 - k * (box.y + box.height / 2) };
  }

  #zoom(by, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    this.#follow = false;
    const v = this.#view, k = Math.max(0.02, Math.min(8, v.k * by));
    this.#view = { k, x: x - ((x - v.x) * k) / v.k, y: y - ((y - v.y) * k) / v.k };
    this.draw();
  }

  // hit finds the vertex or the edge at a point of the canvas.
  #hit(x, y) {
    const { k } = this.#view, p = { x: (x - this.#view.x) / k, y: (y - this.#view.y) / k };
    for (const id of this.#numbers.toReversed()) {
      const a = this.#place(id);
      if (Math.hypot(a.x - p.x, a.y - p.y) <= lookOf(this.scene.vertices.get(id), this.#looks).radius) return id;
    }
    let best = "", near = 7 / k;
    for (const e of this.#edges) {
      const a = this.#place(e.from), b = this.#place(e.to), c = curve(a, b, 0, this.#bends.get(e.id));
      for (const q of [c.middle, { x: (c.from.x + c.middle.x) / 2, y: (c.from.y + c.middle.y) / 2 }, { x: (c.to.x + c.middle.x) / 2, y: (c.to.y + c.middle.y) / 2 }]) {
        const d = Math.hypot(q.x - p.x, q.y - p.y);
        if (d < near) { near = d; best = e.id; }
      }
    }
    return best;
  }

  #pointer() {
    const c = this.canvas;
    let last = null;
    c.addEventListener("wheel", (e) => { e.preventDefault(); this.#zoom(Math.exp(-e.deltaY / 400), e.offsetX, e.offsetY); }, { passive: false });
    c.addEventListener("pointerdown", (e) => {
      this.menu.hidden = true;
      const id = this.#hit(e.offsetX, e.offsetY);
      last = { x: e.offsetX, y: e.offsetY, id: this.scene.vertices.has(id) ? id : "", moved: false };
      c.setPointerCapture(e.pointerId);
      this.choose(id);
    });
    c.addEventListener("pointermove", (e) => {
      if (!last) return;
      const dx = e.offsetX - last.x, dy = e.offsetY - last.y;
      if (!last.moved && Math.hypot(dx, dy) < 3) return;
      last = { ...last, x: e.offsetX, y: e.offsetY, moved: true };
      if (last.id) {
        const p = this.#place(last.id);
        this.dragged = last.id;
        this.#at.set(last.id, { x: p.x + dx / this.#view.k, y: p.y + dy / this.#view.k });
        this.#follow = false;
        this.#tell(last.id, true, 0.25);
      } else {
        this.#follow = false;
        this.#view.x += dx;
        this.#view.y += dy;
      }
      this.draw();
    });
    c.addEventListener("pointerup", () => {
      if (last?.id && last.moved) this.pin(last.id, true); // what was put somewhere stays there
      this.dragged = "";
      last = null;
    });
    c.addEventListener("dblclick", (e) => {
      const id = this.#hit(e.offsetX, e.offsetY);
      if (this.scene.vertices.has(id)) this.#neighbours(id, e.offsetX, e.offsetY);
    });
  }

  #tell(id, fixed, heat) {
    const p = this.#place(id), idle = this.settled;
    this.worker.postMessage({ do: "move", vertex: this.number.get(id), x: p.x, y: p.y, fixed: fixed ? 1 : 0, heat, generation: this.#generation });
    this.settled = false;
    if (idle) this.worker.postMessage({ do: "next" });
  }

  /** Pins a vertex where it is, or lets it go. */
  pin(id, on = !this.#pinned.has(id)) {
    if (on) this.#pinned.add(id);
    else this.#pinned.delete(id);
    this.#tell(id, on, on ? 0 : 0.2);
    this.#drawDetail();
    this.draw();
  }

  /** Selects a vertex or an edge. */
  choose(id) {
    this.#chosen = id;
    this.#drawDetail();
    this.draw();
  }

  hide(id) {
    const v = this.scene.vertices.get(id);
    if (!v) return;
    this.#hidden.push({ v, edges: [...this.scene.edges.values()].filter((e) => e.from === id || e.to === id) });
    this.scene.remove(id);
    this.#at.delete(id);
    this.#chosen = "";
    this.#changed(0.1);
    this.draw();
  }

  #unhide() {
    for (const { v, edges } of this.#hidden) {
      this.scene.vertices.set(v.id, v);
      for (const e of edges) this.scene.edges.set(e.id, e);
    }
    this.#hidden = [];
    this.#changed(0.3);
  }

  // neighbours shows what leads to others, by type and direction, to choose from.
  async #neighbours(id, x, y) {
    const list = await ask("MATCH (n)-[r]-() WHERE elementId(n) = $id RETURN type(r) AS type, startNode(r) = n AS out, count(*) AS n ORDER BY type, out DESC", { parameters: { id }, readOnly: true });
    if (!list.length) {
      announce("It has no edges");
      return;
    }
    const close = () => { this.menu.hidden = true; this.canvas.focus(); };
    const item = (text, pattern) => el("button", { type: "button", role: "menuitem", onclick: async () => {
      close();
      const added = await this.#add(`MATCH (n)${pattern}(m) WHERE elementId(n) = $id RETURN r, m LIMIT ${Number(this.cap.value)}`, { id }, this.scene, id);
      announce(added ? `${count(added)} more` : "Nothing new");
    } }, text);
    fill(this.menu, item("All types", "-[r]-"), list.map((t) => item(`${t.out ? "→" : "←"} ${t.type} (${count(Number(t.n))})`, t.out ? `-[r:${quoted(t.type)}]->` : `<-[r:${quoted(t.type)}]-`)));
    this.menu.hidden = false;
    this.menu.style.left = Math.min(x, this.stage.clientWidth - this.menu.offsetWidth - 8) + "px";
    this.menu.style.top = Math.min(y, this.stage.clientHeight - this.menu.offsetHeight - 8) + "px";
    this.menu.onkeydown = (e) => {
      const items = [...this.menu.children], i = items.indexOf(document.activeElement);
      if (e.key === "Escape") close();
      if (e.key === "ArrowDown") items[(i + 1) % items.length].focus();
      if (e.key === "ArrowUp") items[(i + items.length - 1) % items.length].focus();
    };
    this.menu.firstChild.focus();
  }

  async #connect() {
    const added = await this.#add("MATCH (a)-[r]->(b) WHERE elementId(a) IN $ids AND elementId(b) IN $ids RETURN r LIMIT 10000", { ids: this.#numbers });
    announce(added ? `${count(added)} more edges` : "No more edges");
  }

  #nextPath() {
    this.#path = this.#path + 1 >= this.scene.paths.length ? -1 : this.#path + 1;
    this.pathButton.textContent = this.#path < 0 ? "Paths" : `Path ${this.#path + 1} of ${this.scene.paths.length}`;
    this.pathButton.setAttribute("aria-label", this.pathButton.textContent + ", highlight the next");
    this.draw();
  }

  #seek() {
    const text = this.search.value.trim().toLowerCase();
    this.#found = text ? new Set([...this.scene.vertices.values()].filter((v) =>
      [v.labels.join(" "), ...Object.values(v.properties).map(show)].some((s) => s.toLowerCase().includes(text))).map((v) => v.id)) : null;
    announce(this.#found ? `${count(this.#found.size)} found` : "", false);
    this.search.dataset.found = this.#found?.size ?? "";
    this.draw();
  }

  #key(e) {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[e.key];
    const id = this.scene.vertices.has(this.#chosen) ? this.#chosen : "";
    if (step) {
      this.#follow = false;
      this.#view.x += step[0];
      this.#view.y += step[1];
      this.draw();
    } else if (e.key === "+" || e.key === "=") this.#zoom(1.2);
    else if (e.key === "-") this.#zoom(1 / 1.2);
    else if (e.key === "n" || e.key === "p") {
      const i = this.#numbers.indexOf(id), n = this.#numbers.length;
      if (n) this.choose(this.#numbers[(i + (e.key === "n" ? 1 : n - 1) + n) % n]);
    } else if (e.key === "f" && id) this.pin(id);
    else if (e.key === "Delete" && id) this.hide(id);
    else if (e.key === "Enter" && id) {
      const p = this.#place(id);
      this.#neighbours(id, p.x * this.#view.k + this.#view.x, p.y * this.#view.k + this.#view.y);
    } else return;
    e.preventDefault();
  }

  #drawLegend() {
    const { labels, types } = this.scene.counts();
    fill(this.legend, labels.map(([label, n]) => {
      const look = this.#looks[label];
      const b = el("button", { type: "button", class: "chip", "aria-expanded": String(this.editing === label), title: "Colour, caption and size of " + (label || "vertices without label"), onclick: () => { this.editing = this.editing === label ? null : label; this.#drawLegend(); } }, el("i", { class: "swatch" }), label || "(none)", el("small", {}, count(n)));
      b.firstChild.style.background = look.colour;
      const values = [...(look.values ?? [])].slice(0, 20).map(([value, c]) => {
        const chip = el("span", { class: "chip value" }, el("i", { class: "swatch" }), value);
        chip.firstChild.style.background = c;
        return chip;
      });
      return this.editing === label || values.length ? el("div", {}, b, this.editing === label && this.#styleOf(label, look), values) : b;
    }), types.map(([type, n]) => el("span", { class: "chip type" }, "→ " + type, el("small", {}, count(n)))));
  }

  #styleOf(label, look) {
    const set = (change) => { this.#chosenLooks = { ...this.#chosenLooks, [label]: { ...this.#chosenLooks[label], ...change } }; write("looks", this.#chosenLooks); this.#dress(); this.#drawLegend(); this.draw(); };
    const keys = [...new Set([...this.scene.vertices.values()].filter((v) => labelOf(v) === label).slice(0, 200).flatMap((v) => Object.keys(v.properties)))].sort();
    const caption = el("select", { "aria-label": "Caption of " + label, onchange: () => set({ caption: caption.value || undefined }) }, el("option", { value: "" }, "usual"), el("option", { value: ":label" }, "the label"), keys.map((k) => el("option", { value: k }, k)));
    caption.value = look.caption ?? "";
    const size = el("select", { "aria-label": "Size of " + label, onchange: () => set({ size: size.value }) }, ["small", "medium", "large"].map((s) => el("option", { value: s }, s)));
    const by = el("select", { "aria-label": "Property that colours " + label, onchange: () => set({ by: by.value || undefined }) }, el("option", { value: "" }, "one colour"), keys.map((k) => el("option", { value: k }, "by " + k)));
    by.value = look.by ?? "";
    size.value = this.#looks[label]?.size ?? "medium";
    return el("div", { class: "style" }, el("input", { type: "color", "aria-label": "Colour of " + label, value: look.colour, onchange: (e) => set({ colour: e.target.value }) }), by, caption, size);
  }

  #drawDetail() {
    const v = this.scene.vertices.get(this.#chosen), e = this.scene.edges.get(this.#chosen), x = v ?? e;
    if (!x) {
      fill(this.detail, el("p", { class: "quiet" }, "Click a vertex or an edge; double click a vertex for its neighbours."));
      return;
    }
    fill(this.detail, el("h3", {}, v ? ":" + v.labels.join(":") : x.type), el("dl", {}, Object.entries(x.properties).flatMap(([k, value]) => [el("dt", {}, k), el("dd", {}, show(value))])),
      v && el("p", { class: "quiet" }, x.id),
      v && el("div", { class: "toolbar" }, button("Neighbours", "Show neighbours", () => { const p = this.#place(v.id); this.#neighbours(v.id, p.x * this.#view.k + this.#view.x, p.y * this.#view.k + this.#view.y); }, { class: "small" }),
        button(this.#pinned.has(v.id) ? "Let go" : "Pin", this.#pinned.has(v.id) ? "Let go" : "Pin", () => this.pin(v.id), { class: "small" }), button("Hide", "Hide", () => this.hide(v.id), { class: "small" })));
  }

  async #png() {
    const box = extent(this.#at.values()), k = 2, pad = 60, w = (box.width + 2 * pad) * k, h = (box.height + 2 * pad) * k;
    const shrink = Math.min(1, 8000 / Math.max(w, h)), c = new OffscreenCanvas(Math.ceil(w * shrink), Math.ceil(h * shrink));
    paint(c.getContext("2d"), { ...this.#picture(), chosen: "" }, { k: k * shrink, x: (pad - box.x) * k * shrink, y: (pad - box.y) * k * shrink }, c.width, c.height, 1);
    download("graph.png", await c.convertToBlob({ type: "image/png" }));
  }

  /** Where a vertex with a caption is on the page, for those who drive it. */
  where(caption) {
    const r = this.canvas.getBoundingClientRect();
    for (const v of this.scene.vertices.values()) {
      if (captionOf(v, lookOf(v, this.#looks).caption) === caption) {
        const p = this.#place(v.id);
        return { x: r.x + p.x * this.#view.k + this.#view.x, y: r.y + p.y * this.#view.k + this.#view.y, k: this.#view.k, pinned: this.#pinned.has(v.id) };
      }
    }
    return null;
  }
}
