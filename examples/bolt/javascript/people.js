// Loads, queries, streams and changes a graph with Neo4j's driver: node people.js [ADDRESS]
import neo4j from "neo4j-driver";

async function load(driver, people, batch = 1000) {
  await driver.executeQuery("CREATE CONSTRAINT person IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE");
  const rows = Array.from({ length: people }, (_, i) => ({ id: neo4j.int(i), name: `P${i}`, friend: neo4j.int((i * 7 + 1) % people) }));
  const each = async (statement) => {
    for (let at = 0; at < people; at += batch) await driver.executeQuery(statement, { rows: rows.slice(at, at + batch) });
  };
  await each("UNWIND $rows AS row MERGE (p:Person {id: row.id}) SET p.name = row.name, p.coins = 10");
  await each("UNWIND $rows AS row MATCH (a:Person {id: row.id}), (b:Person {id: row.friend}) MERGE (a)-[:KNOWS]->(b)");
}

async function near(driver, id) {
  const statement = "MATCH (:Person {id: $id})-[:KNOWS*1..3]->(p) RETURN DISTINCT p.name AS name ORDER BY name";
  const { records } = await driver.executeQuery(statement, { id: neo4j.int(id) }, { routing: neo4j.routing.READ });
  return records.map((record) => record.get("name"));
}

async function total(driver, rows) {
  const session = driver.session();
  try {
    let sum = 0; // The rows come as the loop asks for them: memory holds a few thousand at a time.
    for await (const record of session.run("UNWIND range(1, $rows) AS i RETURN i", { rows: neo4j.int(rows) })) sum += record.get("i");
    return sum;
  } finally {
    await session.close();
  }
}

const give = (giver, taker, coins) => async (tx) => {
  // The driver runs this function again if the transaction conflicts with another one or loses its server.
  const change = "MATCH (p:Person {id: $id}) SET p.coins = p.coins + $coins RETURN p.coins AS left";
  const { records } = await tx.run(change, { id: neo4j.int(giver), coins: neo4j.int(-coins) });
  const left = records[0].get("left");
  if (left < 0) throw new Error(`${giver} has only ${left + coins} coins`); // rolls back
  await tx.run(change, { id: neo4j.int(taker), coins: neo4j.int(coins) });
  return left;
};

const address = process.argv[2] ?? "localhost:7687";
// Integers have 64 bits; this program's fit into numbers.
const driver = neo4j.driver(`neo4j://${address}`, neo4j.auth.basic("neo4j", "any"), { disableLosslessIntegers: true });
const session = driver.session();
try {
  await load(driver, 5000);
  console.log("near 42:", ...(await near(driver, 42)));
  console.log("total:", await total(driver, 1_000_000));
  console.log("left:", await session.executeWrite(give(42, 43, 7)));
  await session.executeWrite(give(42, 43, 7)).catch((refused) => console.log("refused:", refused.message));
} finally {
  await session.close();
  await driver.close();
}
