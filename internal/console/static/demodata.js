// What the demo consists of: the statements that load it, and a tour of queries. Knows no document.

const edges = (from, type, to, properties = "") => `UNWIND $rows AS r MATCH (a:${from} {id: r[0]}), (b:${to} {id: r[1]}) CREATE (a)-[:${type}${properties}]->(b)`;

/** The files of the network in the order of their load: {file, statement}. */
export const steps = [
  { file: "person.csv", statement: "UNWIND $rows AS r CREATE (:Person {id: r[0], firstName: r[1], lastName: r[2], gender: r[3], birthday: r[4], creationDate: r[5], locationIP: r[6], browserUsed: r[7]})" },
  { file: "city.csv", statement: "UNWIND $rows AS r CREATE (:City {id: r[0], name: r[1]})" },
  { file: "tag.csv", statement: "UNWIND $rows AS r CREATE (:Tag {id: r[0], name: r[1]})" },
  { file: "person_knows_person.csv", statement: edges("Person", "KNOWS", "Person", " {creationDate: r[2]}") },
  { file: "person_livesIn_city.csv", statement: edges("Person", "LIVES_IN", "City") },
  { file: "person_hasInterest_tag.csv", statement: edges("Person", "HAS_INTEREST", "Tag") },
];

/** Reads the rows of a file of the network: numbers where its header says so, without the header. */
export function rowsOf(csv) {
  const [head, ...lines] = csv.trim().split("\n");
  const whole = head.split(",").map((h) => /long|_ID\(/.test(h));
  return lines.map((l) => l.split(",").map((v, i) => (whole[i] ? Number(v) : v)));
}

/** Says whether a graph has what the guides ask for. */
export const isDemo = ({ labels, types }) => ["Person", "City", "Tag"].every((n) => labels.some((l) => l.name === n)) && ["KNOWS", "HAS_INTEREST"].every((n) => types.some((t) => t.name === n));

/** The tour: what a query shows, and the query. */
export const overview = [
  ["A vertex and what it leads to. Double click a vertex for more; drag to move it.", "MATCH (p:Person {id: 1})-[r]->(x)\nRETURN p, r, x\nLIMIT 20"],
  ["Who lives where: groups and counts. Click a column to sort.", "MATCH (p:Person)-[:LIVES_IN]->(c:City)\nRETURN c.name AS city, count(p) AS people\nORDER BY people DESC"],
  ["Friends of friends who share an interest, and are not friends yet.", "MATCH (me:Person {id: 1})-[:KNOWS]-(friend)-[:KNOWS]-(other),\n      (me)-[:HAS_INTEREST]->(tag)<-[:HAS_INTEREST]-(other)\nWHERE other <> me AND NOT (me)-[:KNOWS]-(other)\nRETURN other.firstName AS name, count(DISTINCT tag) AS shared, count(DISTINCT friend) AS friends\nORDER BY shared DESC, friends DESC, name\nLIMIT 20"],
  ["The shortest paths between two people, as paths.", "MATCH p = allShortestPaths((a:Person {id: 2})-[:KNOWS*..4]-(b:Person {id: 400}))\nRETURN p\nLIMIT 10"],
  ["Where the time goes: each operator with its rows, time, cache and memory.", "PROFILE MATCH (p:Person)-[:KNOWS]->(q:Person)-[:HAS_INTEREST]->(t:Tag)\nRETURN t.name AS tag, count(DISTINCT q) AS people\nORDER BY people DESC\nLIMIT 10"],
];

const shared = "MATCH (p:Person)-[:HAS_INTEREST]->(t:Tag)\nWHERE p.firstName = 'Aino'\nRETURN t.name AS tag, count(*) AS people\nORDER BY people DESC";

/** The guides: each a name, what it is about, and steps like those of the tour; a fetch says so. */
export const guides = [
  { name: "Hops", about: "From a person to those she knows, one step and several", steps: [
    ["Whom a person knows: one hop.", "MATCH (p:Person {id: 1})-[r:KNOWS]-(friend)\nRETURN p, r, friend\nLIMIT 25"],
    ["Two hops: friends of friends, by the number of ways that lead to them.", "MATCH (p:Person {id: 1})-[:KNOWS]-(:Person)-[:KNOWS]-(other)\nWHERE other <> p AND NOT (p)-[:KNOWS]-(other)\nRETURN other.firstName AS name, other.id AS id, count(*) AS ways\nORDER BY ways DESC, name\nLIMIT 20"],
    ["One to three hops: how many people a message reaches.", "MATCH (p:Person {id: 1})-[:KNOWS]-{1,3}(other)\nRETURN count(DISTINCT other) AS people"],
  ] },
  { name: "Paths", about: "The shortest ways between two people", steps: [
    ["The three shortest paths. Paths, above the graph, highlights one after the other.", "MATCH p = SHORTEST 3 (a:Person {id: 2})-[:KNOWS]-+(b:Person {id: 400})\nRETURN p"],
    ["A path of a given form: a friend who shares an interest with somebody.", "MATCH p = (a:Person {id: 2})-[:KNOWS]-(:Person)-[:HAS_INTEREST]->(:Tag)<-[:HAS_INTEREST]-(b:Person {id: 400})\nRETURN p\nLIMIT 10"],
  ] },
  { name: "Profile", about: "Where the time of a statement goes, and what an index saves", steps: [
    ["Each operator with its rows and time. The first reads every person.", "PROFILE " + shared],
    ["An index of the first names.", "CREATE INDEX firstNames IF NOT EXISTS FOR (p:Person) ON (p.firstName)"],
    ["The same statement again: it begins with the index.", "PROFILE " + shared],
  ] },
  { name: "Fetch", about: "The same graph by one JSON document", steps: [
    ["Rows of a label with some of their properties.", '{\n  "Person[]": {\n    "count": 5,\n    "Person": {"@column": "id,firstName,lastName"}\n  }\n}', "fetch"],
    ["A person and those within two hops of her.", '{\n  "Person": {"id": 1, "@column": "id,firstName"},\n  "friends[]": {\n    "count": 10, "hop": "<>KNOWS", "start@": "Person/id", "depth": "1..2",\n    "Person:f": {"@column": "id,firstName,@depth", "@order": "id+"}\n  }\n}', "fetch"],
  ] },
  { name: "Search", about: "People by the words of their names", steps: [
    ["A full-text index of the names.", "CREATE FULLTEXT INDEX people IF NOT EXISTS FOR (p:Person) ON EACH [p.firstName, p.lastName]"],
    ["Beginnings and words that are nearly right, the best first.", "CALL db.index.fulltext.queryNodes('people', 'san* OR akria~') YIELD node, score\nRETURN node.firstName AS first, node.lastName AS last, score\nLIMIT 20"],
    ["A search, and hops from what it finds.", "CALL db.index.fulltext.queryNodes('people', '+aino +s*', {limit: 3}) YIELD node\nMATCH (node)-[r:HAS_INTEREST]->(tag)\nRETURN node, r, tag"],
  ] },
];
