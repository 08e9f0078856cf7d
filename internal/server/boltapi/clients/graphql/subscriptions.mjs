// Subscriptions of @neo4j/graphql, which polls the changes of the graph. Writes "pass NAME" or "fail NAME" for each test.
import assert from "node:assert/strict";
import { Neo4jGraphQL, Neo4jGraphQLSubscriptionsCDCEngine } from "@neo4j/graphql";
import { parse, subscribe } from "graphql";
import neo4j from "neo4j-driver";

const driver = neo4j.driver(`neo4j://${process.argv[2]}`, neo4j.auth.basic("neo4j", "any"));
const run = (statement) => driver.executeQuery(statement);
await run("ALTER DATABASE neo4j SET OPTION txLogEnrichment 'FULL'"); // an update tells all fields
const engine = new Neo4jGraphQLSubscriptionsCDCEngine({ driver, pollTime: 50 });
const typeDefs = "type Show @node @subscription { title: String! seasons: Int }";
const schema = await new Neo4jGraphQL({ typeDefs, driver, features: { subscriptions: engine } }).getSchema();

// next returns a function that waits for the next event of a subscription.
async function next(text) {
  const events = await subscribe({ schema, document: parse(`subscription { ${text} }`), contextValue: {} });
  assert.ok(!events.errors, JSON.stringify(events.errors));
  return async () => {
    const late = new Promise((_, fail) => setTimeout(fail, 30e3, new Error("no event within 30 s")).unref());
    const { value: { data, errors } } = await Promise.race([events.next(), late]);
    assert.ok(!errors, JSON.stringify(errors));
    return Object.values(JSON.parse(JSON.stringify(data)))[0];
  };
}

// begin waits until the library has begun to poll: what was there before gives no event.
async function begin() {
  const created = await next(`showCreated(where: {title: {startsWith: "begin"}}) { createdShow { title } }`);
  let began = false;
  const first = created().then(() => (began = true));
  while (!began) {
    await run("CREATE (:Show {title: 'begin'})");
    await Promise.race([first, new Promise((done) => setTimeout(done, 100))]);
  }
}

const tests = {
  async "subscribe to created"() {
    const created = await next(`showCreated { event timestamp createdShow { title seasons } }`);
    await begin();
    await run("CREATE (:Show {title: 'Dark', seasons: 3})-[:LIKE]->(:Other)");
    let event;
    do event = await created(); while (event.createdShow.title === "begin");
    assert.ok(Math.abs(event.timestamp - Date.now()) < 3600e3);
    assert.deepEqual([event.event, event.createdShow], ["CREATE", { title: "Dark", seasons: 3 }]);
  },
  async "subscribe to updated"() {
    const updated = await next(`showUpdated(where: {title: {eq: "Dark"}}) { event previousState { title seasons } updatedShow { title seasons } }`);
    await run("MATCH (s:Show {title: 'Dark'}) SET s.seasons = 4");
    assert.deepEqual(await updated(), { event: "UPDATE", previousState: { title: "Dark", seasons: 3 }, updatedShow: { title: "Dark", seasons: 4 } });
  },
  async "subscribe to deleted"() {
    const deleted = await next(`showDeleted(where: {title: {eq: "Dark"}}) { event deletedShow { title seasons } }`);
    await run("MATCH (s:Show {title: 'Dark'}) DETACH DELETE s");
    assert.deepEqual(await deleted(), { event: "DELETE", deletedShow: { title: "Dark", seasons: 4 } });
  },
};
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`pass ${name}`);
  } catch (e) {
    console.error(`${name}: ${e.stack}`);
    console.log(`fail ${name}`);
  }
}
process.exit(0);
