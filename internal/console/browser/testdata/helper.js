// Finds elements as people do, by role and name, and checks what everybody must be able to read.
"use strict";
window.$t = {
  role(e) {
    const own = e.getAttribute("role");
    if (own) return own;
    const tag = e.tagName.toLowerCase();
    if (tag === "input") return { checkbox: "checkbox", number: "spinbutton", range: "slider", search: "searchbox", color: "color" }[e.type] ?? "textbox";
    return { a: "link", button: "button", select: "combobox", textarea: "textbox", nav: "navigation", main: "main", dialog: "dialog", h1: "heading", h2: "heading", h3: "heading", table: "table", aside: "complementary", progress: "progressbar", meter: "meter" }[tag] ?? "";
  },
  name(e) {
    const by = e.getAttribute("aria-labelledby");
    if (e.getAttribute("aria-label")) return e.getAttribute("aria-label");
    if (by) return by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    if (e.labels?.length) return [...e.labels].map((l) => l.textContent).join(" ").trim();
    const text = ["SELECT", "TEXTAREA", "INPUT"].includes(e.tagName) ? "" : e.textContent.trim();
    return text || e.getAttribute("title") || e.getAttribute("alt") || "";
  },
  visible(e) { return e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0; },
  all(role, name) {
    return [...document.querySelectorAll("*")].filter((e) => $t.role(e) === role && $t.visible(e) && (name === undefined || $t.name(e) === name || $t.name(e).startsWith(name)))
      .sort((a, b) => ($t.name(b) === name) - ($t.name(a) === name));
  },
  find(role, name) { return $t.all(role, name)[0] ?? null; },
  box(role, name) {
    const e = $t.find(role, name);
    if (!e) return null;
    e.scrollIntoView({ block: "nearest", inline: "nearest" });
    const r = e.getBoundingClientRect();
    return e.disabled ? null : { x: r.x + r.width / 2, y: r.y + r.height / 2 };
  },
  rgba(text) {
    const c = ($t.canvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }));
    c.clearRect(0, 0, 1, 1);
    c.fillStyle = text;
    c.fillRect(0, 0, 1, 1);
    const d = c.getImageData(0, 0, 1, 1).data;
    return [d[0], d[1], d[2], d[3] / 255];
  },
  over(top, below) { return [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1); },
  background(e) {
    if (!e) return $t.rgba(getComputedStyle(document.documentElement).colorScheme.startsWith("dark") ? "#000" : "#fff");
    const own = $t.rgba(getComputedStyle(e).backgroundColor);
    return own[3] === 1 ? own : $t.over(own, $t.background(e.parentElement));
  },
  luminance(c) {
    const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  },
  contrast(a, b) {
    const [x, y] = [$t.luminance(a), $t.luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  },
  // Says what is wrong with what has the focus, or "".
  focusFault() {
    const e = document.activeElement, s = getComputedStyle(e), box = e.closest(".editor") ? getComputedStyle(e.closest(".editor")) : s;
    if (!$t.name(e)) return "no name: " + e.outerHTML.slice(0, 120);
    const outlined = (x) => x.outlineStyle !== "none" && parseFloat(x.outlineWidth) > 0;
    return outlined(s) || outlined(box) || s.boxShadow !== "none" ? "" : "the focus cannot be seen: " + e.outerHTML.slice(0, 120);
  },
  // Lists what is wrong: controls without a name, unknown states, text that is hard to read, names that occur twice.
  audit() {
    const faults = [];
    const controls = "a[href], button, input, select, textarea, [tabindex='0'], [role=tab], [role=option], [role=gridcell], canvas, svg[role], [role=dialog], dialog";
    for (const e of document.querySelectorAll(controls)) {
      if (!$t.visible(e)) continue;
      if (["gridcell"].includes($t.role(e))) continue;
      if (!$t.name(e)) faults.push("no name: " + e.outerHTML.slice(0, 120));
    }
    for (const e of document.querySelectorAll("[role=tab]")) if (!e.hasAttribute("aria-selected")) faults.push("tab without aria-selected: " + e.outerHTML.slice(0, 80));
    for (const e of document.querySelectorAll("[aria-controls], [aria-labelledby], [aria-describedby], [aria-activedescendant]")) {
      for (const a of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant"]) {
        for (const id of (e.getAttribute(a) ?? "").split(" ").filter(Boolean)) if (!document.getElementById(id)) faults.push(`${a} names ${id}, which is not there`);
      }
    }
    const parents = { option: "listbox", tab: "tablist", menuitem: "menu", gridcell: "row", rowheader: "row", columnheader: "row", row: "rowgroup" };
    for (const e of document.querySelectorAll(Object.keys(parents).map((r) => `[role=${r}]`).join())) {
      if (!e.parentElement.closest(`[role=${parents[e.getAttribute("role")]}]`)) faults.push(`${e.getAttribute("role")} outside of ${parents[e.getAttribute("role")]}`);
    }
    for (const e of document.querySelectorAll("[aria-hidden=true] :is(a[href], button, input, select, textarea, [tabindex='0'])")) if ($t.visible(e)) faults.push("hidden from readers, yet reached by Tab: " + e.outerHTML.slice(0, 80));
    for (const e of document.querySelectorAll("button[aria-label]")) {
      const text = e.textContent.trim();
      if ($t.visible(e) && /\p{L}/u.test(text) && !e.getAttribute("aria-label").toLowerCase().includes(text.toLowerCase())) faults.push(`"${text}" is called ${e.getAttribute("aria-label")}`);
    }
    for (const e of document.querySelectorAll("table th:not([scope])")) faults.push("heading of a table without scope: " + e.textContent);
    for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) faults.push("image without alt: " + e.outerHTML.slice(0, 80));
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
    if (twice.length) faults.push("ids that occur twice: " + [...new Set(twice)]);
    if (document.querySelectorAll("main").length !== 1) faults.push("there is not one main");
    if (!document.documentElement.lang || !document.title) faults.push("no language or no title");
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
      const e = node.parentElement, style = getComputedStyle(e);
      if (!node.data.trim() || !$t.visible(e) || e.closest(":disabled, textarea, option, #announce, .offscreen, noscript") || style.opacity === "0") continue;
      const svg = e instanceof SVGElement, back = $t.background(svg ? e.closest("svg").parentElement : e);
      if (svg && (e.closest("[data-on]") || e.tagName === "title")) continue; // its ground is a shape
      const colour = $t.over($t.rgba(svg ? style.fill : style.color), back);
      const ratio = $t.contrast(colour, back), px = parseFloat(style.fontSize);
      const enough = px >= 24 || px >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
      if (ratio < enough) faults.push(`contrast ${ratio.toFixed(2)} of "${node.data.trim().slice(0, 30)}" in ${e.tagName}.${e.className?.baseVal ?? e.className}`);
    }
    return [...new Set(faults)];
  },
};
document.addEventListener("securitypolicyviolation", (e) => ((window.$violations ??= []).push(`${e.violatedDirective}: ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)));
