// A table of which only the visible rows are in the document. Arrow keys move, Enter opens a cell, Ctrl-C copies it.
import { announce, button, copy, count, dialog, el, fill, perFrame } from "./dom.js";
import { kindOf, order, pretty, reveal, show, visible } from "./rows.js";

const rowHeight = 24;
const narrowest = 48, widest = 420;

export class Table {
  #order = null; // row numbers in the order of the sort, or null
  #sort = { column: -1, descending: false };
  #widths = [];
  #at = { row: 0, column: 0 };
  #pool = [];

  constructor({ label, onvalue = () => {} }) {
    this.onvalue = onvalue;
    this.rows = null;
    this.head = el("div", { class: "thead", role: "row" });
    this.body = el("div", { class: "tbody", role: "rowgroup" });
    this.spacer = el("div", { class: "spacer", role: "presentation" }, this.body);
    this.scroller = el("div", { class: "tscroll", role: "presentation", onscroll: () => { this.head.style.transform = `translateX(${-this.scroller.scrollLeft}px)`; this.draw(); } }, this.spacer);
    this.element = el("div", { class: "table", role: "grid", tabindex: "0", "aria-label": label, onkeydown: (e) => this.#key(e) },
      el("div", { role: "rowgroup", class: "theadbox" }, this.head), this.scroller);
    this.draw = perFrame(() => this.#draw());
    new ResizeObserver(this.draw).observe(this.scroller);
    this.body.addEventListener("click", (e) => {
      const cell = e.target.closest("[role=gridcell]");
      if (cell) this.#move(Number(cell.parentElement.dataset.row), Number(cell.dataset.column));
    });
    this.body.addEventListener("dblclick", (e) => { if (e.target.closest("[role=gridcell]")) this.#open(); });
  }

  /** The order in which the rows are shown, or null. */
  get order() { return this.#order; }

  /** Shows rows; the same ones again shows what has been added. */
  set(rows) {
    const fresh = rows !== this.rows;
    this.rows = rows;
    if (fresh) {
      this.#order = null;
      this.#sort = { column: -1, descending: false };
      this.#at = { row: 0, column: 0 };
      this.#widths = [];
      this.#clear();
      fill(this.head);
      this.spacer.style.height = "0";
      this.scroller.scrollTop = this.scroller.scrollLeft = 0;
    }
    if (!this.#widths.length && rows.fields.length) this.#header();
    if (this.#widths.length && !this.sized && rows.length) this.#fit();
    this.element.setAttribute("aria-rowcount", rows.length + 1);
    this.element.setAttribute("aria-colcount", rows.fields.length + 1);
    this.draw();
  }

  #clear() {
    fill(this.body);
    this.#pool = [];
    this.element.removeAttribute("aria-activedescendant");
  }

  #header() {
    const { fields } = this.rows;
    this.sized = false;
    this.#widths = fields.map((f) => Math.min(widest, Math.max(narrowest, f.length * 8 + 30)));
    fill(this.head, el("div", { role: "columnheader", class: "cell num", "aria-label": "Row" }, "#"), fields.map((f, c) => {
      const handle = el("span", { class: "resize", role: "separator", "aria-orientation": "vertical", "aria-label": "Width of " + f, onpointerdown: (e) => this.#resize(e, c), ondblclick: () => this.#fit(c) });
      return el("div", { role: "columnheader", class: "cell", "aria-sort": "none" }, el("button", { type: "button", class: "plain", title: "Sort by " + f, onclick: () => this.sort(c) }, f), handle);
    }));
    this.#clear();
    this.#measure();
  }

  // fit makes columns as wide as what the first rows show.
  #fit(only = -1) {
    this.sized = true;
    const n = Math.min(this.rows.length, 60);
    for (let i = 0; i < n; i++) {
      this.rows.row(i).forEach((v, c) => {
        if (only < 0 || c === only) this.#widths[c] = Math.max(this.#widths[c], Math.min(widest, show(v).slice(0, 80).length * 7.3 + 18));
      });
    }
    this.#measure();
  }

  #measure() {
    const number = Math.max(40, String(this.rows.length).length * 8 + 16);
    const all = [number, ...this.#widths];
    this.spacer.style.width = all.reduce((a, b) => a + b, 0) + "px";
    for (const line of [this.head, ...this.#pool]) [...line.children].forEach((cell, i) => { cell.style.width = all[i] + "px"; });
  }

  #resize(e, column) {
    e.preventDefault();
    const from = e.clientX, width = this.#widths[column], handle = e.target;
    handle.setPointerCapture(e.pointerId);
    handle.onpointermove = (m) => { this.#widths[column] = Math.max(narrowest, width + m.clientX - from); this.#measure(); };
    handle.onpointerup = () => { handle.onpointermove = null; };
  }

  /** Sorts by a column: upwards, downwards, as the rows came. */
  sort(column) {
    const s = this.#sort;
    this.#sort = s.column !== column ? { column, descending: false } : !s.descending ? { column, descending: true } : { column: -1, descending: false };
    const { column: by, descending } = this.#sort;
    this.#order = by < 0 ? null : order(this.rows, by, descending);
    [...this.head.children].slice(1).forEach((h, i) => h.setAttribute("aria-sort", i !== by ? "none" : descending ? "descending" : "ascending"));
    announce(by < 0 ? "In the order of the result" : `Sorted by ${this.rows.fields[by]}, ${descending ? "descending" : "ascending"}`, false);
    this.draw();
  }

  #row(i) { return this.rows.row(this.#order && i < this.#order.length ? this.#order[i] : i); }

  #geometry() { return { scrollTop: this.scroller.scrollTop, viewport: this.scroller.clientHeight, rowHeight, rows: this.rows.length }; }

  #draw() {
    if (!this.#widths.length || !this.element.isConnected) return;
    const w = visible(this.#geometry());
    this.spacer.style.height = w.height + "px";
    this.body.style.transform = `translateY(${w.offset}px)`;
    while (this.#pool.length < w.count) {
      const line = el("div", { role: "row", class: "trow" }, el("div", { role: "rowheader", class: "cell num" }),
        this.rows.fields.map((_, c) => el("div", { role: "gridcell", class: "cell", "data-column": c })));
      this.#pool.push(line);
      this.body.append(line);
      this.grown = true;
    }
    if (this.grown) { this.grown = false; this.#measure(); }
    this.#pool.forEach((line, n) => {
      line.hidden = n >= w.count;
      if (line.hidden) {
        for (const cell of line.children) cell.removeAttribute("id");
        return;
      }
      const i = w.first + n, cells = line.children;
      line.dataset.row = i;
      line.setAttribute("aria-rowindex", i + 2);
      cells[0].textContent = count(i + 1);
      this.#row(i).forEach((v, c) => {
        const cell = cells[c + 1], kind = kindOf(v), text = show(v);
        cell.className = "cell v-" + kind;
        cell.textContent = text.length > 300 ? text.slice(0, 300) + "…" : text;
        const on = i === this.#at.row && c === this.#at.column;
        cell.setAttribute("aria-selected", String(on));
        if (on) cell.id = "active-cell";
        else cell.removeAttribute("id");
      });
    });
    if (this.body.querySelector("#active-cell")) this.element.setAttribute("aria-activedescendant", "active-cell");
    else this.element.removeAttribute("aria-activedescendant");
  }

  #move(row, column) {
    this.#at = { row: Math.max(0, Math.min(row, this.rows.length - 1)), column: Math.max(0, Math.min(column, this.rows.fields.length - 1)) };
    this.scroller.scrollTop = reveal(this.#geometry(), this.#at.row);
    const number = this.head.children[0].offsetWidth;
    const left = this.#widths.slice(0, this.#at.column).reduce((a, b) => a + b, number), width = this.#widths[this.#at.column];
    if (left - number < this.scroller.scrollLeft) this.scroller.scrollLeft = left - number;
    else if (left + width > this.scroller.scrollLeft + this.scroller.clientWidth) this.scroller.scrollLeft = left + width - this.scroller.clientWidth;
    this.#draw();
    this.onvalue(this.#row(this.#at.row)[this.#at.column]);
  }

  #key(e) {
    if (!this.rows?.length || e.target !== this.element) return;
    const { row, column } = this.#at, page = Math.max(1, Math.floor(this.scroller.clientHeight / rowHeight) - 1);
    const moves = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
      PageDown: [row + page, column], PageUp: [row - page, column],
      Home: [e.ctrlKey ? 0 : row, 0], End: [e.ctrlKey ? this.rows.length - 1 : row, this.rows.fields.length - 1],
    };
    if (moves[e.key]) {
      e.preventDefault();
      this.#move(...moves[e.key]);
    } else if (e.key === "Enter") {
      e.preventDefault();
      this.#open();
    } else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "c" && !String(getSelection())) {
      e.preventDefault();
      copy(show(this.#row(row)[column]));
    }
  }

  #open() {
    const { row, column } = this.#at, v = this.#row(row)[column], text = typeof v === "string" ? v : pretty(v);
    dialog(`${this.rows.fields[column]}, row ${count(row + 1)}`, el("p", { class: "quiet" }, kindOf(v)), el("pre", { class: "detail", tabindex: "0" }, text),
      el("footer", {}, button("Copy", "Copy", (e) => copy(text, e.target))));
  }
}
