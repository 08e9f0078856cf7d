// All unit tests, by name.
import * as lang from "./lang_test.js";
import * as complete from "./complete_test.js";
import * as graph from "./graph_test.js";
import * as operations from "./operations_test.js";
import * as parameters from "./parameters_test.js";
import * as plan from "./plan_test.js";
import * as rows from "./rows_test.js";

const modules = { lang, complete, graph, operations, parameters, plan, rows };

/** The tests of all modules. */
export const all = Object.fromEntries(Object.entries(modules).flatMap(([m, tests]) => Object.entries(tests).map(([n, f]) => [m + "." + n, f])));
