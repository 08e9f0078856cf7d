// An editor: a text area, over it the same text in colours. The text area keeps what browsers do well: input, undo, selection.
import { el, fill, button } from "./dom.js";
import { brackets, faultAt, suggested, tokens } from "./lang.js";
import { complete } from "./complete.js";

const longest = 200e3; // characters that are still coloured
const closers = { "(": ")", "[": "]", "{": "}" };

export class Editor {
  #fault = null;
  #popup = null; // {from, items, at}
  #tokens = [];

  constructor({ label, language = "cypher", value = "", rows = 6, catalogue = () => null, oninput = () => {}, onrun = () => {} }) {
    this.language = language;
    this.catalogue = catalogue;
    this.oninput = oninput;
    this.rows = rows;
    this.list = el("ul", { class: "completions", role: "listbox", id: "c" + ++Editor.made, "aria-label": "Completions", hidden: true });
    this.info = el("div", { class: "completion-info", hidden: true });
    this.area = el("textarea", {
      "aria-label": label, "aria-autocomplete": "list", "aria-controls": this.list.id, spellcheck: "false", autocomplete: "off", autocapitalize: "off", autocorrect: "off", wrap: "off",
      oninput: () => this.#changed(), onscroll: () => this.#scrolled(), onkeydown: (e) => this.#key(e, onrun),
      onclick: () => { this.#close(); this.#paint(); }, onblur: () => this.#close(),
    });
    this.code = el("pre", { class: "code", "aria-hidden": "true" });
    this.gutter = el("div", { class: "gutter", "aria-hidden": "true" });
    this.problem = el("div", { class: "problem", role: "alert", id: this.list.id + "p" });
    this.box = el("div", { class: "editor-box" }, this.code, this.area, this.list, this.info);
    this.element = el("div", { class: "editor" }, el("div", { class: "editor-row" }, this.gutter, this.box), this.problem);
    document.addEventListener("selectionchange", () => { if (document.activeElement === this.area) this.#paint(); });
    this.value = value;
  }

  get value() { return this.area.value; }
  set value(text) {
    this.area.value = text;
    this.clear();
    this.#changed(false);
  }

  /** The text that is selected, or "". */
  get selection() { return this.value.slice(this.area.selectionStart, this.area.selectionEnd); }
  get caret() { return this.area.selectionStart; }

  focus() { this.area.focus(); }

  /** Puts a text in place of a range; undo takes it back. */
  replace(from, to, text) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) this.area.setRangeText(text, from, to, "end");
    this.#changed();
  }

  /** Underlines what is wrong at a place, and says what. */
  mark(at, message, code = "") {
    const fault = { ...faultAt(this.value, at, this.language), message };
    this.#fault = fault;
    const word = suggested(message);
    fill(this.problem, el("span", { class: "where" }, this.#line(at)), el("span", { class: "message" }, message), code && el("code", {}, code),
      word && button("Use " + word, "Replace by " + word, () => { this.replace(fault.from, fault.to, word); this.clear(); }, { class: "small suggestion" }));
    this.area.setAttribute("aria-invalid", "true");
    this.area.setAttribute("aria-describedby", this.problem.id);
    this.#paint();
  }

  /** Forgets the fault. */
  clear() {
    this.#fault = null;
    fill(this.problem);
    this.area.removeAttribute("aria-invalid");
    this.area.removeAttribute("aria-describedby");
    this.#paint();
  }

  #line(at) {
    const before = this.value.slice(0, at).split("\n");
    return `${before.length}:${before.at(-1).length + 1}`;
  }

  #changed(byHand = true) {
    const text = this.value;
    this.#tokens = text.length > longest ? [{ kind: "name", from: 0, to: text.length, text }] : tokens(text, this.language);
    if (this.#fault && byHand) this.clear();
    const lines = text.split("\n").length;
    this.gutter.textContent = Array.from({ length: lines }, (_, i) => i + 1).join("\n");
    this.area.rows = Math.max(this.rows, Math.min(lines + 1, 24));
    this.#paint();
    if (byHand) {
      this.oninput(text);
      const typed = text[this.caret - 1] ?? "";
      if (/[\p{L}\p{N}_.:$"@<>]/u.test(typed)) this.suggest(false);
      else this.#close();
    }
  }

  #scrolled() {
    this.code.scrollTop = this.gutter.scrollTop = this.area.scrollTop;
    this.code.scrollLeft = this.area.scrollLeft;
  }

  #paint() {
    const focused = document.activeElement === this.area, caret = this.caret;
    const match = focused && this.area.selectionEnd === caret ? brackets(this.#tokens, caret) : [];
    const fault = this.#fault, parts = [];
    for (const t of this.#tokens) {
      let kind = t.kind === "space" || t.kind === "operator" || t.kind === "name" ? "" : "k-" + t.kind;
      if (match.includes(t.from)) kind += match.length === 2 ? " match" : " mismatch";
      if (fault && t.from < fault.to && t.to > fault.from) kind += " fault";
      parts.push(kind ? el("span", { class: kind.trim(), title: kind.includes("fault") ? fault.message : undefined }, t.text) : t.text);
    }
    fill(this.code, parts, "\n");
    this.#scrolled();
  }

  #key(e, onrun) {
    const popup = this.#popup;
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      this.#close();
      onrun(e.shiftKey);
    } else if (e.key === " " && e.ctrlKey) {
      e.preventDefault();
      this.suggest(true);
    } else if (popup && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      const n = popup.items.length;
      this.#choose((popup.at + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
    } else if (popup && (e.key === "Tab" || e.key === "Enter") && !e.shiftKey) {
      e.preventDefault();
      this.#accept(popup.at);
    } else if (e.key === "Escape" && popup) {
      e.preventDefault();
      this.#close();
    } else if (e.key === "Enter" && !e.shiftKey) {
      const line = this.value.slice(0, this.caret).split("\n").at(-1), indent = /^\s*/.exec(line)[0], opens = /[([{]\s*$/.test(line);
      if (!indent && !opens) return;
      e.preventDefault();
      const next = this.value[this.area.selectionEnd];
      const closes = opens && next === closers[line.trimEnd().at(-1)];
      this.replace(this.caret, this.area.selectionEnd, "\n" + indent + (opens ? "  " : "") + (closes ? "\n" + indent : ""));
      if (closes) this.area.setSelectionRange(this.caret - indent.length - 1, this.caret - indent.length - 1);
    }
  }

  /** Shows what could stand at the caret; asked shows it for an empty word too. */
  suggest(asked) {
    const catalogue = this.catalogue();
    if (!catalogue || this.area.selectionEnd !== this.caret) return;
    const { from, items } = complete(this.value, this.caret, catalogue, this.language);
    if (!items.length || !asked && from === this.caret && !/[.:$"@]/.test(this.value[from - 1] ?? "")) {
      this.#close();
      return;
    }
    this.#popup = { from, items, at: 0 };
    fill(this.list, items.map((i, n) => el("li", { role: "option", id: this.list.id + "-" + n, onmousedown: (e) => { e.preventDefault(); this.#accept(n); } },
      el("span", { class: "kind kind-" + i.kind, "aria-hidden": "true" }, i.kind[0]), el("span", { class: "text" }, i.text), el("span", { class: "detail" }, i.detail.length > 60 ? i.detail.slice(0, 59) + "…" : i.detail))));
    this.list.hidden = false;
    const place = this.#place(from);
    this.list.style.left = Math.max(0, Math.min(place.left, this.box.clientWidth - this.list.offsetWidth)) + "px";
    this.list.style.top = place.top + "px";
    this.#choose(0);
  }

  // place gives the point below a character, by a range over the coloured text.
  #place(at) {
    const walker = document.createTreeWalker(this.code, NodeFilter.SHOW_TEXT), range = document.createRange();
    for (let node; (node = walker.nextNode()); at -= node.length) {
      if (at <= node.length) {
        range.setStart(node, at);
        range.setEnd(node, at);
        break;
      }
    }
    const r = range.getBoundingClientRect(), b = this.box.getBoundingClientRect();
    return { left: r.left - b.left, top: (r.bottom || b.top + 24) - b.top + 2 };
  }

  #choose(n) {
    const popup = this.#popup;
    popup.at = n;
    [...this.list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === n)));
    this.list.children[n].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", this.list.id + "-" + n);
    const i = popup.items[n];
    fill(this.info, el("code", {}, i.detail || i.text), i.info && el("p", {}, i.info));
    this.info.hidden = !i.info;
    this.info.style.left = this.list.offsetLeft + this.list.offsetWidth + 4 + "px";
    this.info.style.top = this.list.offsetTop + "px";
    if (this.list.offsetLeft + this.list.offsetWidth + 260 > this.box.clientWidth) {
      this.info.style.left = this.list.offsetLeft + "px";
      this.info.style.top = this.list.offsetTop + this.list.offsetHeight + 4 + "px";
    }
  }

  #accept(n) {
    const { from, items } = this.#popup, i = items[n];
    const to = this.caret, text = i.insert ?? i.text;
    this.#close();
    this.replace(from, to, text);
    this.#close();
  }

  #close() {
    this.#popup = null;
    this.list.hidden = this.info.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }
}
Editor.made = 0;
