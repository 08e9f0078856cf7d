import { fieldsOf, typeText, valueOf } from "../static/parameters.js";
import { parse } from "../static/rows.js";
import { holds, same } from "./check.js";

const schema = { type: "object", required: ["id", "name"], properties: {
  most: { type: "integer", default: 10, description: "how many" }, id: { type: "integer" }, name: { type: "string" }, tags: { type: ["array", "null"], items: { type: "string" } }, any: {},
} };

export function fields() {
  const all = fieldsOf(schema);
  same(all.map((f) => [f.name, f.type, f.required, f.fallback, f.description]), [["id", "integer", true, "", ""], ["name", "string", true, "", ""], ["most", "integer", false, "10", "how many"], ["tags", "list of string or null", false, "", ""], ["any", "any", false, "", ""]]);
  same(typeText({ type: "array", items: { type: "array", items: { type: "number" } } }), "list of list of float");
}

export function values() {
  const [id, name, most, tags, any] = fieldsOf(schema);
  same([valueOf(id, " 42 "), valueOf(name, "12"), valueOf(name, ""), valueOf(tags, '["a"]'), valueOf(tags, "null"), valueOf(any, '{"a":1}')], [42, "12", "", ["a"], null, { a: 1 }]);
  same([valueOf(most, ""), valueOf(tags, " ")], [undefined, undefined]);
  same(String(valueOf(id, "9007199254740993")), String(parse("9007199254740993")), "digits as the result shows them");
  for (const [f, typed, about] of [[id, "", "id: a value is needed"], [id, "x", "id: must be integer"], [tags, "[a", "tags: must be list of string or null"], [id, "1, 2", "id: must be integer"]]) {
    let message = "";
    try { valueOf(f, typed); } catch (e) { message = e.message; }
    holds(message.startsWith(about), message);
  }
}
