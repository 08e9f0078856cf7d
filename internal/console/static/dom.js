// Builds elements and writes figures the way people read them.

/** Makes an element. Properties beginning with "on" are listeners; the others are attributes, or properties where true or false. */
export function el(tag, props = {}, ...children) {
  const svg = SVG.has(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean" && !name.startsWith("aria-")) e[name] = value;
    else if (name === "value") e.value = value;
    else e.setAttribute(name, value);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const SVG = new Set(["svg", "path", "rect", "circle", "line", "text", "g", "polyline", "title", "marker", "defs"]);

/** Makes a button with a text or an icon; the label is what the pointer shows. Screen readers say it after the text, unless it holds the text. */
export function button(text, label, onclick, props = {}) {
  const said = /\p{L}/u.test(text) && !label.toLowerCase().includes(text.toLowerCase()) ? `${text}: ${label}` : label;
  return el("button", { type: "button", title: label, "aria-label": said === text ? undefined : said, onclick, ...props }, text);
}

/** Replaces the content of an element. */
export function fill(e, ...children) {
  e.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const whole = new Intl.NumberFormat("en-US");

/** Writes a number with separators. */
export const count = (n) => whole.format(n);

/** Writes a number in few characters. */
export function short(n) {
  const a = Math.abs(n);
  if (a >= 1e9) return trim(n / 1e9) + "G";
  if (a >= 1e6) return trim(n / 1e6) + "M";
  if (a >= 1e4) return trim(n / 1e3) + "k";
  if (a >= 100 || Number.isInteger(n)) return whole.format(Math.round(n));
  return trim(n);
}

const trim = (n) => (Math.abs(n) >= 100 ? n.toFixed(0) : Math.abs(n) >= 10 ? n.toFixed(1) : n.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/** Writes a number of bytes. */
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return (i ? trim(n) : String(Math.round(n))) + " " + units[i];
}

/** Writes a time given in milliseconds, a number or its digits. */
export function duration(ms) {
  ms = Number(ms);
  if (ms < 1) return trim(ms * 1000) + " µs";
  if (ms < 1000) return trim(ms) + " ms";
  if (ms < 60e3) return trim(ms / 1000) + " s";
  const s = Math.round(ms / 1000);
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

/** Offers a file to keep. */
export function download(name, parts, type) {
  const url = URL.createObjectURL(parts instanceof Blob ? parts : new Blob(parts, { type }));
  const a = el("a", { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10e3);
}

/** Copies a text, and says so for a moment in the element that was used. */
export async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page that is not served securely has no clipboard
    const area = el("textarea", { value: text, class: "offscreen", "aria-hidden": "true" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce("Copied");
  if (from) {
    from.classList.add("done");
    setTimeout(() => from.classList.remove("done"), 900);
  }
}

/** Says something to screen readers, and shows it for a moment unless it can be seen elsewhere. */
export function announce(text, shown = true) {
  const e = document.getElementById("announce");
  if (!e) return;
  e.textContent = text;
  e.classList.toggle("shown", shown);
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => e.classList.remove("shown"), 2500);
}

/** Calls f once after several requests within a frame. A page that is not visible has no frames. */
export function perFrame(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    (document.hidden ? setTimeout : requestAnimationFrame)(() => { asked = false; f(); });
  };
}

/** Makes tabs: a list of {name, panel} of which one is shown. Arrow keys move between them. */
export function tabs(label, list, { onshow } = {}) {
  const bar = el("div", { role: "tablist", class: "tabs", "aria-label": label });
  const made = list.map((t, i) => {
    const id = "t" + ++tabs.made;
    t.panel.id = id + "p";
    t.panel.setAttribute("role", "tabpanel");
    t.panel.setAttribute("aria-labelledby", id);
    const b = el("button", { type: "button", role: "tab", id, "aria-controls": t.panel.id, onclick: () => show(i) }, t.name);
    bar.append(b);
    return b;
  });
  const show = (at) => {
    list.forEach((t, i) => {
      made[i].setAttribute("aria-selected", String(i === at));
      made[i].tabIndex = i === at ? 0 : -1;
      t.panel.hidden = i !== at;
    });
    onshow?.(at, list[at]);
  };
  bar.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const open = made.filter((b) => !b.hidden);
    const next = open[(open.indexOf(document.activeElement) + step + open.length) % open.length];
    next.focus();
    next.click();
  });
  return { bar, show, buttons: made };
}
tabs.made = 0;

/** Gives a colour of the style sheet as the canvas understands it. */
export function colour(name) {
  const probe = document.getElementById("probe");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** Shows a dialog that closes by Escape; gives the function that closes it. */
export function dialog(title, ...children) {
  const close = () => { d.close(); };
  const d = el("dialog", { "aria-label": title, onclose: () => d.remove() },
    el("header", {}, el("h2", {}, title), button("✕", "Close", close, { class: "plain" })), ...children);
  d.addEventListener("click", (e) => { if (e.target === d) close(); });
  document.body.append(d);
  d.showModal();
  return close;
}
