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

/** The tour: what a query shows, and the query. */
export const tour = [
  ["A vertex and what it leads to. Double click a vertex for more; drag to move it.", "MATCH (p:Person {id: 1})-[r]->(x)\nRETURN p, r, x\nLIMIT 20"],
  ["Who lives where: groups and counts. Click a column to sort.", "MATCH (p:Person)-[:LIVES_IN]->(c:City)\nRETURN c.name AS city, count(p) AS people\nORDER BY people DESC"],
  ["Friends of friends who share an interest, and are not friends yet.", "MATCH (me:Person {id: 1})-[:KNOWS]-(friend)-[:KNOWS]-(other),\n      (me)-[:HAS_INTEREST]->(tag)<-[:HAS_INTEREST]-(other)\nWHERE other <> me AND NOT (me)-[:KNOWS]-(other)\nRETURN other.firstName AS name, count(DISTINCT tag) AS shared, count(DISTINCT friend) AS friends\nORDER BY shared DESC, friends DESC, name\nLIMIT 20"],
  ["The shortest paths between two people, as paths.", "MATCH p = allShortestPaths((a:Person {id: 2})-[:KNOWS*..4]-(b:Person {id: 400}))\nRETURN p\nLIMIT 10"],
  ["Where the time goes: each operator with its rows, time, cache and memory.", "PROFILE MATCH (p:Person)-[:KNOWS]->(q:Person)-[:HAS_INTEREST]->(t:Tag)\nRETURN t.name AS tag, count(DISTINCT q) AS people\nORDER BY people DESC\nLIMIT 10"],
];
