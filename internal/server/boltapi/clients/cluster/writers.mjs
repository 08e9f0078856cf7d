// Does what writers.py does: node writers.mjs ADDRESS,… PREFIX
import { createRequire } from "node:module";

const neo4j = createRequire(process.env.CACHE + "/")("neo4j-driver");
const [addresses, prefix] = process.argv.slice(2);
let stopped = false;
process.stdin.on("end", () => (stopped = true)).resume();

async function write(driver, worker, key) {
  let tries = 0;
  let outcome = "written";
  const session = driver.session();
  try {
    await session.executeWrite(async (tx) => {
      tries++;
      await tx.run("CREATE (:Written {key: $key, worker: $worker})", { key, worker });
      await tx.run("MERGE (w:Worker {name: $worker}) SET w.n = coalesce(w.n, 0) + 1", { worker });
    });
  } catch (e) {
    // A key that is there was written by an earlier try, whose answer was lost.
    outcome = e.code === "Neo.ClientError.Schema.ConstraintValidationFailed" ? "found" : `${e.code}:${e.message}`.replace(/\s/g, "_");
  } finally {
    await session.close();
  }
  console.log(key, outcome, tries);
}

const driver = neo4j.driver("neo4j://gateways", undefined, { resolver: () => addresses.split(","), maxTransactionRetryTime: 120000 });
await Promise.all(Array.from({ length: 4 }, async (_, i) => {
  for (let n = 0; !stopped; n++) await write(driver, `${prefix}-${i}`, `${prefix}-${i}-${n}`);
}));
await driver.close();
