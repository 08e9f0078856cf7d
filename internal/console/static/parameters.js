// Turns the JSON Schema of an operation's parameters into fields of a form, and what people type there into values.
import { parse } from "./rows.js";

/** Says in a word or two what values a parameter takes. */
export function typeText(schema) {
  const names = [schema.type ?? "any"].flat(), of = schema.items && (schema.items.type || schema.items.items) ? " of " + typeText(schema.items) : "";
  return names.map((n) => (n === "array" ? "list" + of : n === "object" ? "map" : n === "number" ? "float" : n)).join(" or ");
}

/** Gives the fields of a schema, those that must be filled first. */
export function fieldsOf(schema) {
  const required = new Set(schema.required ?? []);
  const all = Object.entries(schema.properties ?? {}).map(([name, s]) => ({
    name, type: typeText(s), text: [s.type].flat().includes("string"), description: s.description ?? "", required: required.has(name), fallback: "default" in s ? JSON.stringify(s.default) : "",
  }));
  return [...all.filter((f) => f.required), ...all.filter((f) => !f.required)];
}

/** Gives the value of what was typed into a field, or undefined where nothing was, so that the default holds. What is no text is JSON. */
export function valueOf(field, typed) {
  if (field.text && field.type === "string") return typed === "" && !field.required ? undefined : typed;
  if (typed.trim() === "") {
    if (field.required) throw new Error(`${field.name}: a value is needed`);
    return undefined;
  }
  try {
    const all = parse(`[${typed}]`);
    if (all.length === 1) return all[0];
  } catch { /* below */ }
  if (field.text) return typed; // of several types, one is text
  throw new Error(`${field.name}: must be ${field.type}, written as JSON`);
}
