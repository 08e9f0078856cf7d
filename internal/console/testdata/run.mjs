// Runs the unit tests under Node.
import { test } from "node:test";
import { all } from "./all_test.js";

for (const [name, f] of Object.entries(all)) test(name, f);
