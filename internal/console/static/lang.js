// Reads openCypher and JSON as far as an editor needs: tokens, brackets, statements. Knows no document.

const words = `ADD ALL AND ANALYZE AS ASC ASCENDING BY CALL CASE COMMIT CONSTRAINT CONSTRAINTS CONTAINS COUNT CREATE CSV CYPHER DATABASE DATABASES DELETE DESC DESCENDING
DETACH DISTINCT DROP EACH ELSE END ENDS EXISTS EXPLAIN FALSE FIELDTERMINATOR FINISH FOR FOREACH FROM FUNCTIONS GRAPH GRAPHS HEADERS IF IN INDEX INDEXES INSERT
IS KEY LIMIT LOAD MATCH MERGE NODE NOT NULL OF OFFSET ON OPTIONAL OPTIONS OR ORDER POINT PROCEDURES PROFILE RANGE RELATIONSHIP REMOVE REQUIRE RETURN ROWS SET
SETTINGS SHORTEST SHOW SKIP STARTS TERMINATE TEXT THEN TO TRANSACTION TRANSACTIONS TRUE UNION UNIQUE UNWIND USE USING WHEN WHERE WITH XOR YIELD`;

/** The keywords of openCypher. */
export const keywords = words.split(/\s+/);
const isKeyword = new Set(keywords);
const alsoFunctions = new Set(["ALL", "COUNT", "EXISTS", "POINT", "RANGE"]);

const cypherToken = /(\s+)|(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^'\\]|\\[\s\S])*(?:'|$)|"(?:[^"\\]|\\[\s\S])*(?:"|$))|(`(?:[^`]|``)*(?:`|$))|(\$(?:`[^`]*`?|[\p{L}\p{N}_]*))|(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|([()[\]{}])|(->|<-|<>|<=|>=|=~|\.\.|\+=|\|\||::|[^\s])/uy;

/** Splits openCypher into tokens {kind, from, to}. Every character is in one. */
export function cypher(text) {
  const tokens = [], open = [];
  let labels = false, before = null; // before is the last token that is no space or comment
  cypherToken.lastIndex = 0;
  for (let from = 0, m; from < text.length; from = cypherToken.lastIndex) {
    m = cypherToken.exec(text);
    const t = { kind: "operator", from, to: cypherToken.lastIndex, text: m[0] };
    tokens.push(t);
    if (m[1]) { t.kind = "space"; continue; }
    if (m[2]) { t.kind = "comment"; continue; }
    const inMap = open.at(-1) === "{" || open.at(-1) === "{map";
    if (m[3]) t.kind = "string";
    else if (m[5]) t.kind = "parameter";
    else if (m[6]) t.kind = "number";
    else if (m[4] || m[7]) {
      t.kind = labels ? "label" : before?.text === "." ? "property" : "name";
      if (t.kind === "name" && m[7] && isKeyword.has(m[7].toUpperCase())) t.kind = "keyword";
      const next = /\s*(\(|:(?!:)|\.)?/y;
      next.lastIndex = t.to;
      const follows = next.exec(text)[1];
      if (follows === "(" && (t.kind === "name" || t.kind === "property" || t.kind === "keyword" && alsoFunctions.has(t.text.toUpperCase()))) t.kind = "function";
      else if (inMap && follows === ":" && (before?.text === "{" || before?.text === ",")) {
        t.kind = "property";
        open[open.length - 1] = "{map";
      }
      if (labels && before?.text !== ":" && !"|&!(".includes(before?.text ?? "")) t.kind = isKeyword.has(t.text.toUpperCase()) ? "keyword" : "name";
    } else if (m[8]) {
      t.kind = "bracket";
      if ("([{".includes(m[0])) open.push(m[0]);
      else open.pop();
    }
    if (m[0] === ":") labels = open.at(-1) !== "{map";
    else if (!(t.kind === "label" || labels && "|&!".includes(m[0]))) labels = false;
    before = t;
  }
  return tokens;
}

const jsonToken = /(\s+)|("(?:[^"\\\n]|\\.)*(?:"|$|(?=\n)))|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)\b|([[\]{}])|([\s\S])/uy;

/** Splits JSON into tokens; names of members are properties, those of tables labels, words with @ keywords. */
export function json(text) {
  const tokens = [];
  jsonToken.lastIndex = 0;
  for (let from = 0, m; from < text.length; from = jsonToken.lastIndex) {
    m = jsonToken.exec(text);
    const t = { kind: "operator", from, to: jsonToken.lastIndex, text: m[0] };
    tokens.push(t);
    if (m[1]) t.kind = "space";
    else if (m[2]) {
      const member = /\s*:/y;
      member.lastIndex = t.to;
      t.kind = !member.test(text) ? "string" : /^"@/.test(m[0]) || fetchWord.test(m[0]) ? "keyword" : /^"(\p{Lu}|\[\])/u.test(m[0]) ? "label" : "property";
    } else if (m[3]) t.kind = "number";
    else if (m[4]) t.kind = "keyword";
    else if (m[5]) t.kind = "bracket";
  }
  return tokens;
}

const fetchWord = /^"(count|page|query|join|hop|start@?|depth|end@?|find|walk|must|format|tag|from|range)"$/;

/** Gives the tokens of a language. */
export const tokens = (text, language) => (language === "json" ? json(text) : cypher(text));

const pairs = { "(": ")", "[": "]", "{": "}" };

/** Finds the bracket beside a place and its partner; [] if there is none, one place if it has no partner. */
export function brackets(list, at) {
  const near = list.filter((t) => t.kind === "bracket");
  const i = near.findIndex((t) => t.to === at), j = i >= 0 ? i : near.findIndex((t) => t.from === at);
  if (j < 0) return [];
  const step = pairs[near[j].text] ? 1 : -1;
  for (let k = j, depth = 0; k >= 0 && k < near.length; k += step) {
    depth += pairs[near[k].text] ? step : -step;
    if (depth === 0) {
      const [a, b] = step > 0 ? [near[j], near[k]] : [near[k], near[j]];
      return pairs[a.text] === b.text ? [a.from, b.from] : [near[j].from];
    }
  }
  return [near[j].from];
}

/** Splits a text into its statements {text, from, to}, without those that are empty. */
export function statements(text) {
  const out = [];
  let from = 0, full = false;
  const end = (to) => {
    if (full) {
      const raw = text.slice(from, to), lead = raw.length - raw.trimStart().length;
      out.push({ text: raw.trim(), from: from + lead, to: from + raw.trimEnd().length });
    }
    full = false;
  };
  for (const t of cypher(text)) {
    if (t.text === ";") { end(t.from); from = t.to; } else if (t.kind !== "space" && t.kind !== "comment") full = true;
  }
  end(text.length);
  return out;
}

/** Gives the place in a text of a line and a column, both from 1; columns count characters, not halves of them. */
export function placeOf(text, line, column) {
  let at = 0;
  for (let n = 1; n < line; n++) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  for (let n = 1; n < column && at < text.length && text[at] !== "\n"; n++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

/** Gives the range of a fault at a place: the token there, at least one character. */
export function faultAt(text, at, language) {
  const t = tokens(text, language).find((x) => x.to > at);
  if (!t || t.kind === "space") return { from: Math.max(0, Math.min(at, text.length - 1)), to: Math.max(1, Math.min(at + 1, text.length)) };
  return { from: at, to: t.to };
}

/** Gives the word that a message suggests, or "". */
export const suggested = (message) => /did you mean [`'"]?([^`'"?]+)[`'"]?\?/.exec(message)?.[1] ?? "";

/** Statements that show some vertices of a label, some edges of a type, and the commonest values of a property. */
export const ofLabel = (name) => `MATCH (n:${quoted(name)})\nRETURN n\nLIMIT 25`;
export const ofType = (name) => `MATCH (a)-[r:${quoted(name)}]->(b)\nRETURN a, r, b\nLIMIT 25`;
export const ofProperty = (key, name, property) => (key === "label" ? `MATCH (n:${quoted(name)})\nRETURN n` : `MATCH ()-[r:${quoted(name)}]->()\nRETURN r`) + `.${quoted(property)} AS value, count(*) AS n\nORDER BY n DESC\nLIMIT 25`;

/** Writes a name as openCypher needs it. */
export const quoted = (name) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !isKeyword.has(name.toUpperCase()) ? name : "`" + name.replaceAll("`", "``") + "`");
