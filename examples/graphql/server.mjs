// Serves GraphQL over a graph by Neo4j's library: node server.mjs [BOLT ADDRESS] [PORT]
import { readFileSync } from "node:fs";
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { Neo4jGraphQL } from "@neo4j/graphql";
import neo4j from "neo4j-driver";

const [address = "localhost:7687", port = "4000"] = process.argv.slice(2);
const driver = neo4j.driver(`neo4j://${address}`, neo4j.auth.basic("neo4j", process.env.HOPGATE_TOKEN ?? "any"));
await driver.executeQuery("CREATE FULLTEXT INDEX titles IF NOT EXISTS FOR (m:Movie) ON EACH [m.title]");
const library = new Neo4jGraphQL({ typeDefs: readFileSync(new URL("movies.graphql", import.meta.url), "utf8"), driver });
const server = new ApolloServer({ schema: await library.getSchema() });
await library.assertIndexesAndConstraints();
const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: Number(port) } });
console.log(`GraphQL at ${url}`);
process.once("SIGTERM", () => server.stop().then(() => driver.close()));
