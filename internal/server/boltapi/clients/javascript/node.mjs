import { createRequire } from "node:module";
import { appendFileSync } from "node:fs";
import { run } from "./suite.mjs";

const neo4j = createRequire(process.env.CACHE + "/")("neo4j-driver");
await run(neo4j, process.env.BOLT, (outcome, name, error) => {
  appendFileSync(process.env.RESULTS, `${outcome} ${name}\n`);
  if (error) console.log(`${name}: ${error}`);
});
