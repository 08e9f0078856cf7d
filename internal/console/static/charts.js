// Charts of what a process does: a line for each figure, the latest value beside its name.
import { el, fill } from "./dom.js";
import { linePoints, roundUp } from "./metrics.js";

const width = 300, height = 72, most = 150; // points

/** A chart of several lines; add gives each its next value. */
export class Chart {
  constructor(title, names, write) {
    this.names = names;
    this.write = write;
    this.values = names.map(() => []);
    this.svg = el("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "chart-lines", "aria-hidden": "true" });
    this.top = el("span", { class: "chart-top" });
    this.legend = el("ul", { class: "chart-legend" });
    this.element = el("figure", { class: "chart", "aria-label": title }, el("figcaption", {}, title), this.top, this.svg, this.legend);
  }

  add(values) {
    values.forEach((v, i) => { this.values[i].push(v); if (this.values[i].length > most) this.values[i].shift(); });
    const top = roundUp(Math.max(...this.values.flat().filter(Number.isFinite), 0));
    this.top.textContent = this.write(top);
    fill(this.svg, this.values.flatMap((list, i) => linePoints(list, width, height - 2, top, most).map((points) => el("polyline", { points, class: "line l" + i, "vector-effect": "non-scaling-stroke" }))));
    fill(this.legend, this.names.map((name, i) => el("li", {}, el("i", { class: "key l" + i }), name + " ", el("b", {}, Number.isFinite(values[i]) ? this.write(values[i]) : "–"))));
  }
}
