// Draws a scene: on a canvas, and as SVG. Both take the same places, colours and curves.
import { captionOf, curve, extent, inkOn, labelOf } from "./scene.js";

export const radius = 16;
const sizes = { small: 0.7, medium: 1, large: 1.5 };

/** The way a vertex is drawn. looks has the colour of each label, what was chosen for it, and the colours of values if a property decides. */
export function lookOf(v, looks) {
  const l = looks[labelOf(v)], colour = l.values?.get(String(v.properties[l.by])) ?? l.colour;
  return { colour, ink: inkOn(colour), caption: l.caption, radius: radius * (sizes[l.size] ?? 1) };
}

/** Cuts a text to what fits within a width. */
const fit = (text, width) => { const n = Math.max(3, Math.floor(width / 5.2)); return text.length > n ? text.slice(0, n - 1) + "…" : text; };

/** Draws a picture {vertices, edges, at, bends, looks, colours, chosen, found, paths} with a transform {k, x, y} on a canvas of width by height. */
export function paint(g, p, { k, x, y }, width, height, ratio) {
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = p.colours.bg;
  g.fillRect(0, 0, width, height);
  g.setTransform(k * ratio, 0, 0, k * ratio, x * ratio, y * ratio);
  const x0 = -x / k - 40, y0 = -y / k - 40, x1 = (width - x) / k + 40, y1 = (height - y) / k + 40;
  const seen = (a) => a.x > x0 && a.x < x1 && a.y > y0 && a.y < y1;
  const detailed = k > 0.45, named = k > 0.75;
  const rest = [], marked = [];
  for (const e of p.edges) {
    const a = p.at(e.from), b = p.at(e.to);
    if (!seen(a) && !seen(b)) continue;
    (p.chosen === e.id || p.paths.has(e.id) ? marked : rest).push([e, a, b]);
  }
  const lines = (list, colour, thick) => {
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = thick;
    g.beginPath();
    const curves = [];
    for (const [e, a, b] of list) {
      const bend = p.bends.get(e.id);
      if (!detailed && !bend.loop) { // from afar edges are lines
        g.moveTo(a.x, a.y);
        g.lineTo(b.x, b.y);
        continue;
      }
      const c = curve(a, b, lookOf(p.vertices.get(e.to), p.looks).radius, bend);
      curves.push([e, c]);
      g.moveTo(c.from.x, c.from.y);
      if (c.c1) g.bezierCurveTo(c.c1.x, c.c1.y, c.c2.x, c.c2.y, c.to.x, c.to.y);
      else if (c.c) g.quadraticCurveTo(c.c.x, c.c.y, c.to.x, c.to.y);
      else g.lineTo(c.to.x, c.to.y);
    }
    g.stroke();
    g.beginPath();
    for (const [, c] of curves) {
      for (const [i, [l, turn]] of [[0, 0], [7, 2.7], [7, -2.7]].entries()) g[i ? "lineTo" : "moveTo"](c.to.x + l * Math.cos(c.angle + turn), c.to.y + l * Math.sin(c.angle + turn));
      g.closePath();
    }
    g.fill();
    return curves;
  };
  const curves = [...lines(rest, p.colours.edge, 1), ...lines(marked, p.colours.accent, 2.5)];
  if (named) {
    g.font = "9px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "middle";
    for (const [e, c] of curves) {
      g.save();
      g.translate(c.middle.x, c.middle.y);
      g.rotate(c.turn);
      const w = g.measureText(e.type).width;
      g.fillStyle = p.colours.bg;
      g.fillRect(-w / 2 - 2, -5, w + 4, 10);
      g.fillStyle = p.colours.quiet;
      g.fillText(e.type, 0, 0);
      g.restore();
    }
  }
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const v of p.vertices.values()) {
    const a = p.at(v.id);
    if (!seen(a)) continue;
    const look = lookOf(v, p.looks), faint = p.found && !p.found.has(v.id);
    g.globalAlpha = faint ? 0.2 : 1;
    g.fillStyle = look.colour;
    g.beginPath();
    g.arc(a.x, a.y, look.radius, 0, 2 * Math.PI);
    g.fill();
    if (p.chosen === v.id || p.paths.has(v.id) || p.found?.has(v.id)) {
      g.strokeStyle = p.colours.accent;
      g.lineWidth = 3;
      g.stroke();
    }
    if (p.pinned.has(v.id)) {
      g.fillStyle = look.ink;
      g.beginPath();
      g.arc(a.x, a.y - look.radius + 5, 2, 0, 2 * Math.PI);
      g.fill();
    }
    if (look.radius * k > 9) {
      g.fillStyle = look.ink;
      g.font = "9.5px system-ui, sans-serif";
      g.fillText(fit(captionOf(v, look.caption), 2 * look.radius), a.x, a.y);
    }
    g.globalAlpha = 1;
  }
}

/** Gives a picture as the text of an SVG file. */
export function svgOf(p) {
  const escape = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const n = (v) => v.toFixed(1);
  const box = extent([...p.vertices.keys()].map((id) => p.at(id))), pad = 60;
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="${n(box.x - pad)} ${n(box.y - pad)} ${n(box.width + 2 * pad)} ${n(box.height + 2 * pad)}" font-family="system-ui, sans-serif" font-size="9.5" text-anchor="middle">`,
    `<rect x="${n(box.x - pad)}" y="${n(box.y - pad)}" width="${n(box.width + 2 * pad)}" height="${n(box.height + 2 * pad)}" fill="${p.colours.bg}"/>`];
  for (const e of p.edges) {
    const c = curve(p.at(e.from), p.at(e.to), lookOf(p.vertices.get(e.to), p.looks).radius, p.bends.get(e.id));
    const d = `M${n(c.from.x)} ${n(c.from.y)}` + (c.c1 ? `C${n(c.c1.x)} ${n(c.c1.y)} ${n(c.c2.x)} ${n(c.c2.y)} ${n(c.to.x)} ${n(c.to.y)}` : c.c ? `Q${n(c.c.x)} ${n(c.c.y)} ${n(c.to.x)} ${n(c.to.y)}` : `L${n(c.to.x)} ${n(c.to.y)}`);
    const tip = [2.7, -2.7].map((turn) => `${n(c.to.x + 7 * Math.cos(c.angle + turn))} ${n(c.to.y + 7 * Math.sin(c.angle + turn))}`);
    parts.push(`<path d="${d}" fill="none" stroke="${p.colours.edge}"/><path d="M${n(c.to.x)} ${n(c.to.y)}L${tip[0]}L${tip[1]}Z" fill="${p.colours.edge}"/>`,
      `<text x="${n(c.middle.x)}" y="${n(c.middle.y)}" transform="rotate(${n((c.turn * 180) / Math.PI)} ${n(c.middle.x)} ${n(c.middle.y)})" dy="3" font-size="8" fill="${p.colours.quiet}" stroke="${p.colours.bg}" stroke-width="3" paint-order="stroke">${escape(e.type)}</text>`);
  }
  for (const v of p.vertices.values()) {
    const a = p.at(v.id), look = lookOf(v, p.looks);
    parts.push(`<circle cx="${n(a.x)}" cy="${n(a.y)}" r="${n(look.radius)}" fill="${look.colour}"/><text x="${n(a.x)}" y="${n(a.y)}" dy="3.5" fill="${look.ink}">${escape(fit(captionOf(v, look.caption), 2 * look.radius))}</text>`);
  }
  return parts.join("\n") + "\n</svg>\n";
}
