// Finds what could stand at a place of a statement or a fetch. Knows no document.
import { cypher, json, keywords, quoted } from "./lang.js";

/** Makes an empty catalogue: what completion knows of the server and the graph. */
export const emptyCatalogue = () => ({ functions: [], procedures: [], labels: [], types: [], properties: [], propertiesOf: {}, parameters: [] });

const most = 60;

/** Gives {from, items: [{text, kind, detail, info}]} for a place in a text; from is where the word begins that an item replaces. */
export function complete(text, at, catalogue, language = "cypher") {
  return language === "json" ? completeFetch(text, at, catalogue) : completeCypher(text, at, catalogue);
}

function completeCypher(text, at, c) {
  const tokens = cypher(text.slice(0, at));
  let last = tokens.at(-1);
  if (last && (last.kind === "comment" || last.kind === "string" && !/^(['"])[\s\S]*\1$/.test(last.text) || last.kind === "number")) return none(at);
  let word = "", from = at;
  if (last && ["name", "keyword", "label", "property", "function", "parameter"].includes(last.kind)) {
    word = last.text;
    from = last.from;
    tokens.pop();
  }
  const solid = tokens.filter((t) => t.kind !== "space" && t.kind !== "comment");
  const before = solid.at(-1), second = solid.at(-2);
  if (word.startsWith("$")) return found(from, word, c.parameters.map((p) => item("$" + p, "parameter", "")));
  if (before?.text === "." && (second?.kind === "name" || second?.kind === "property")) {
    if (c.procedures.some((p) => p.name.toLowerCase().startsWith(second.text.toLowerCase() + "."))) return dotted(solid, word, at, c);
    return found(from, word, properties(c, labelsOf(text, second.text)));
  }
  if (before?.text === ".") return dotted(solid, word, at, c);
  const labelled = last?.kind === "label" || before?.text === ":" || (before && "|&!".includes(before.text) && inLabels(solid));
  const open = openBrackets(solid);
  if (labelled && open.at(-1)?.text !== "{" || before?.text === ":" && inLabels(solid)) {
    return found(from, word, open.at(-1)?.text === "[" ? named(c.types, "type") : open.at(-1)?.text === "(" ? named(c.labels, "label") : [...named(c.labels, "label"), ...named(c.types, "type")]);
  }
  if (open.at(-1)?.text === "{" && (before?.text === "{" || before?.text === ",")) {
    const of = patternLabels(solid, open.at(-1));
    if (of.length) return found(from, word, properties(c, of).map((i) => ({ ...i, insert: i.text + ": " })));
  }
  if (!word) return none(at);
  const calls = before?.kind === "keyword" && before.text.toUpperCase() === "CALL";
  if (calls) return found(from, word, c.procedures.map((p) => item(p.name, "procedure", p.signature, p.description, p.name + "(")));
  const variables = [...new Set(cypher(text).filter((t) => t.kind === "name" && !(t.from <= at && t.to >= at)).map((t) => t.text))];
  return found(from, word, [
    ...variables.map((v) => item(v, "variable", "")),
    ...keywords.map((k) => item(k, "keyword", "")),
    ...c.functions.map((f) => item(f.name, "function", f.signature, f.description, f.name + "(")),
  ]);
}

// dotted completes a name of several parts: that of a procedure or a function.
function dotted(solid, word, at, c) {
  let name = word, i = solid.length - 1;
  for (; i >= 0 && (solid[i].text === "." || ["name", "property", "function", "keyword"].includes(solid[i].kind)); i--) {
    if (solid[i].text !== "." && solid[i + 1]?.text !== "." && solid[i + 1] !== undefined) break;
    name = solid[i].text + name;
  }
  return found(at - name.length, name, [
    ...c.procedures.map((p) => item(p.name, "procedure", p.signature, p.description, p.name + "(")),
    ...c.functions.map((f) => item(f.name, "function", f.signature, f.description, f.name + "(")),
  ]);
}

const none = (at) => ({ from: at, items: [] });
const item = (text, kind, detail, info = "", insert = undefined) => ({ text, kind, detail, info, insert });
const named = (list, kind) => list.map((n) => item(n.name, kind, n.count === undefined ? "" : n.count.toLocaleString("en-US"), "", quoted(n.name)));

function properties(c, labels) {
  const own = [...new Set(labels.flatMap((l) => c.propertiesOf[l] ?? []))];
  const list = own.length ? own : c.properties;
  return list.map((p) => item(p, "property", own.length ? labels.join(", ") : "", "", quoted(p)));
}

// labelsOf finds the labels or types that a text gives a variable.
function labelsOf(text, variable) {
  const out = [], tokens = cypher(text).filter((t) => t.kind !== "space" && t.kind !== "comment");
  tokens.forEach((t, i) => {
    if (t.text !== variable || tokens[i + 1]?.text !== ":") return;
    for (let j = i + 2; tokens[j]?.kind === "label" || "|&:".includes(tokens[j]?.text ?? " "); j++) if (tokens[j].kind === "label") out.push(bare(tokens[j].text));
  });
  return out;
}

const bare = (name) => (name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name);

function inLabels(solid) {
  for (let i = solid.length - 1; i >= 0; i--) {
    if (solid[i].text === ":") {
      const open = openBrackets(solid.slice(0, i)).at(-1);
      return open?.text !== "{" || !["{", ","].includes(solid[i - 2]?.text);
    }
    if (solid[i].kind !== "label" && !"|&!".includes(solid[i].text)) return false;
  }
  return false;
}

function openBrackets(solid) {
  const open = [];
  for (const t of solid) {
    if (t.kind !== "bracket") continue;
    if ("([{".includes(t.text)) open.push(t);
    else open.pop();
  }
  return open;
}

// patternLabels gives the labels before the brace of a map in a pattern: (p:Person {
function patternLabels(solid, brace) {
  const out = [];
  for (let i = solid.indexOf(brace) - 1; i >= 0 && (solid[i].kind === "label" || "|&:".includes(solid[i].text)); i--) if (solid[i].kind === "label") out.push(bare(solid[i].text));
  return out;
}

/** Ranks items by how they match a word: the same beginning, then a beginning of a part, then its letters in order. */
export function found(from, word, items) {
  const w = word.toLowerCase(), ranked = [];
  for (const i of items) {
    if (i.text === word && i.kind === "variable") continue;
    const t = i.text.toLowerCase();
    const rank = t.startsWith(w) ? (i.text.startsWith(word) ? 0 : 1) : t.split(/[._]|(?<=[a-z])(?=[A-Z])/).some((p) => p.startsWith(w)) ? 2 : t.includes(w) && w.length > 1 ? 3 : w.length > 2 && w[0] === t[0] && subsequence(w, t) ? 4 : -1;
    if (rank >= 0) ranked.push({ i, rank });
  }
  ranked.sort((a, b) => a.rank - b.rank);
  const out = ranked.slice(0, most).map((r) => r.i);
  return { from, items: out.length === 1 && out[0].text === word ? [] : out };
}

function subsequence(w, t) {
  let at = 0;
  for (const ch of w) {
    at = t.indexOf(ch, at) + 1;
    if (!at) return false;
  }
  return true;
}

const arrayWords = ["count", "page", "query", "join", "hop", "start@", "depth", "end@", "find", "walk", "must"];
const objectWords = ["@column", "@order", "@group", "@having", "@combine", "@explain", "@drop", "@role", "@cast", "@key"];

function completeFetch(text, at, c) {
  const tokens = json(text.slice(0, at)), last = tokens.at(-1);
  if (!last || !last.text.startsWith('"') || last.text.length > 1 && last.text.endsWith('"') && !last.text.endsWith('\\"')) return none(at);
  const word = last.text.slice(1), open = [];
  let key = "", value = false;
  for (const t of tokens.slice(0, -1)) {
    if (t.kind === "space") continue;
    if (t.text.startsWith('"')) key = t.text.slice(1, -1);
    if (t.kind === "bracket") {
      if ("{[".includes(t.text)) open.push({ bracket: t.text, key });
      else open.pop();
    }
    value = t.text === ":";
  }
  const inside = open.at(-1), table = inside ? inside.key.replace(/[:[-].*$/, "") : "";
  const list = c.propertiesOf[table] ?? [];
  if (value) {
    if (key === "hop") return found(last.from + 1, word, c.types.flatMap((t) => [">", "<", "<>"].map((d) => item(d + t.name, "type", ""))));
    if (/^@(column|order|group)$/.test(key)) {
      const start = word.search(/[^,;]*$/);
      return found(last.from + 1 + start, word.slice(start), list.map((p) => item(p, "property", table)));
    }
    return none(at);
  }
  const isArray = /\[\]$/.test(inside?.key ?? "");
  const tables = [...named(c.labels, "label"), ...named(c.types, "type")].map((i) => ({ ...i, insert: i.text }));
  return found(last.from + 1, word, [
    ...(isArray ? [] : list.map((p) => item(p, "property", table))), ...(isArray ? arrayWords : inside?.key ? objectWords : []).map((w) => item(w, "keyword", "")),
    ...tables, ...tables.map((t) => ({ ...t, text: t.text + "[]", insert: t.text + "[]" })),
  ]);
}
