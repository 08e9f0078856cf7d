import { complete, emptyCatalogue, found } from "../static/complete.js";
import { same } from "./check.js";

const catalogue = {
  ...emptyCatalogue(),
  functions: [{ name: "count", signature: "count(x) :: INTEGER", description: "" }, { name: "coalesce", signature: "", description: "" }, { name: "point.distance", signature: "", description: "" }],
  procedures: [{ name: "db.labels", signature: "db.labels()", description: "" }, { name: "db.info", signature: "", description: "" }],
  labels: [{ name: "Person", count: 5 }, { name: "Big City", count: 1 }], types: [{ name: "KNOWS", count: 2 }, { name: "LIKES", count: 2 }],
  properties: ["age", "name", "since"], propertiesOf: { Person: ["age", "name"], KNOWS: ["since"] }, parameters: ["id"],
};

// The place is where | stands.
const at = (text, language) => {
  const i = text.indexOf("|"), r = complete(text.slice(0, i) + text.slice(i + 1), i, catalogue, language);
  return [r.from, ...r.items.map((x) => x.text)];
};

export function labels() {
  same(at("MATCH (p:|"), [9, "Person", "Big City"]);
  same(at("MATCH (p:Per|)"), [9, "Person"]);
  same(at("MATCH (p:X&Pe|)"), [11, "Person"]);
  same(at("MATCH ()-[:|]-()"), [11, "KNOWS", "LIKES"]);
  same(at("MATCH ()-[r:KNOWS&L|]-()"), [18, "LIKES"]);
  same(complete("MATCH (p:b", 10, catalogue).items[0].insert, "`Big City`");
}

export function properties() {
  same(at("MATCH (p:Person) RETURN p.|"), [26, "age", "name"]);
  same(at("MATCH (p:Person)-[k:KNOWS]->() RETURN k.s|"), [40, "since"]);
  same(at("MATCH (x) RETURN x.n|"), [19, "name"]);
  same(at("MATCH (p:Person {|})"), [17, "age", "name"]);
  same(at("MATCH (p:Person {age: 1, n|})"), [25, "name"]);
}

export function words() {
  same(at("matc|"), [0, "MATCH"]);
  same(at("MATCH (person) RETURN per|")[1], "person");
  same(at("RETURN cou|"), [7, "count", "COUNT"]);
  same(at("RETURN coal|"), [7, "coalesce"]);
  same(at("RETURN $|"), [7, "$id"]);
  same(at("CALL db.la|"), [5, "db.labels"]);
  same(at("CALL db.|"), [5, "db.labels", "db.info"]);
  same(at("RETURN 'per|'"), [11]);
  same(at("// per|"), [6]);
  same(at("RETURN 12|"), [9]);
}

export function ranks() {
  const items = ["startNode", "nodes", "Nodal", "xnode"].map((text) => ({ text, kind: "function" }));
  same(found(0, "node", items).items.map((i) => i.text), ["nodes", "startNode", "xnode"]);
}

export function fetches() {
  same(at('{"Per|', "json").slice(0, 3), [2, "Person", "Person[]"]);
  same(at('{"Person": {"na|', "json").slice(0, 2), [13, "name"]);
  same(at('{"Person": {"@column": "age,n|', "json"), [28, "name"]);
  same(at('{"f[]": {"hop": ">K|', "json"), [17, ">KNOWS", "<>KNOWS"]);
  same(at('{"Person[]": {"cou|', "json").slice(0, 2), [15, "count"]);
  same(at('{"a": "Per|', "json"), [10]);
}
