import { brackets, cypher, faultAt, json, placeOf, quoted, statements, suggested, tokens } from "../static/lang.js";
import { holds, same } from "./check.js";

const kinds = (text, read = cypher) => read(text).filter((t) => t.kind !== "space").map((t) => t.text + " " + t.kind);

export function classes() {
  same(kinds("MATCH (p:Person&!Bot {id: $id})-[k:KNOWS|LIKES*1..2]->(q) WHERE p.name = 'x' RETURN count(q), q.age"), [
    "MATCH keyword", "( bracket", "p name", ": operator", "Person label", "& operator", "! operator", "Bot label", "{ bracket", "id property", ": operator", "$id parameter",
    "} bracket", ") bracket", "- operator", "[ bracket", "k name", ": operator", "KNOWS label", "| operator", "LIKES label", "* operator", "1 number", ".. operator", "2 number",
    "] bracket", "-> operator", "( bracket", "q name", ") bracket", "WHERE keyword", "p name", ". operator", "name property", "= operator", "'x' string", "RETURN keyword",
    "count function", "( bracket", "q name", ") bracket", ", operator", "q name", ". operator", "age property"]);
}

export function mapsAreNotLabels() {
  same(kinds("RETURN {a: b, c: {d: e}}").filter((k) => k.endsWith("label")), []);
  same(kinds("RETURN EXISTS { (n:Label) }").filter((k) => k.endsWith("label")), ["Label label"]);
  same(kinds("MATCH (n) WHERE n:A OR n:B RETURN n").filter((k) => k.endsWith("label") || k.startsWith("OR")), ["A label", "OR keyword", "B label"]);
}

export function everyCharacterIsInOneToken() {
  for (const text of ["MATCH (n) // c\nRETURN 'a\\'b', \"c\", `d``e`, /* x */ 0xFF + .5 + 1e3", "'open", "`open", "/* open", "ü €  😀 \\ ;;", "$`a b` $", "", "[{(<>)}]"]) {
    for (const language of ["cypher", "json"]) {
      let at = 0;
      for (const t of tokens(text, language)) {
        same(t.from, at);
        holds(t.to > t.from, "an empty token in " + text);
        at = t.to;
      }
      same(at, text.length, text + " as " + language);
    }
  }
}

export function comments() {
  same(kinds("// MATCH\nRETURN /* a ; b */ 1"), ["// MATCH comment", "RETURN keyword", "/* a ; b */ comment", "1 number"]);
}

export function members() {
  same(kinds('{"User[]": {"count": 3, "User": {"id>": 1.5, "@order": "id-", "x": null}}}', json).filter((k) => /^"|null|1/.test(k)), [
    '"User[]" label', '"count" keyword', '"User" label', '"id>" property', "1.5 number", '"@order" keyword', '"id-" string', '"x" property', "null keyword"]);
}

export function pairs() {
  const text = "f(a[1], {b: ')'})", list = cypher(text);
  same(brackets(list, 1), [1, 16]);
  same(brackets(list, 17), [1, 16]);
  same(brackets(list, 3), [3, 5]);
  same(brackets(list, 0), []);
  same(brackets(cypher("(]"), 0), [0]);
  same(brackets(cypher("(("), 0), [0]);
}

export function splits() {
  same(statements("RETURN ';' ; // no; \n; MATCH (n)\nRETURN n;\n"), [{ text: "RETURN ';'", from: 0, to: 10 }, { text: "MATCH (n)\nRETURN n", from: 23, to: 41 }]);
  same(statements(" // nothing\n"), []);
}

export function places() {
  same(placeOf("ab\nc😀d", 2, 3), 6);
  same(placeOf("ab\ncd", 9, 1), 5);
  same(faultAt("MATCH (n) RETRUN n", 10), { from: 10, to: 16 });
  same(faultAt("MATCH", 5), { from: 4, to: 5 });
}

export function suggestions() {
  same(suggested("Invalid input 'RETRUN': unknown keyword; did you mean RETURN?"), "RETURN");
  same(suggested("nothing has `Persn`; did you mean `Person`?"), "Person");
  same(suggested("no"), "");
}

export function names() {
  same(["a", "Öl", "a b", "match", "a`b"].map(quoted), ["a", "Öl", "`a b`", "`match`", "`a``b`"]);
}
