// Plans of JSON-array fetches: asks for them, and takes them out of an answer. Knows no document.

/** Asks for the plan of each array of a request and of each single object. */
export function withExplain(request) {
  const out = {};
  for (const [key, v] of Object.entries(request)) {
    const table = /^(\p{Lu}\w*(:\w+)?)$/u.test(key);
    out[key] = v && typeof v === "object" && !Array.isArray(v) ? withExplain(v) : v;
    if (table && v && typeof v === "object" && !Array.isArray(v)) out[key] = { ...out[key], "@explain": true };
  }
  return out;
}

/** Takes the plans out of an answer: {plans: [{path, text}], rest}. */
export function planTexts(answer) {
  const plans = [];
  const visit = (v, path) => {
    if (Array.isArray(v)) return v.map((x, i) => (i < 1 ? visit(x, path) : clean(x)));
    if (v === null || typeof v !== "object" || Object.getPrototypeOf(v) !== Object.prototype) return v;
    const out = {};
    for (const [key, x] of Object.entries(v)) {
      if (key !== "@explain") out[key] = visit(x, path ? path + "/" + key : key);
      else if (Array.isArray(x?.list)) plans.push({ path, text: x.list.join("\n") });
      else if (x && typeof x === "object") for (const [k, one] of Object.entries(x)) if (Array.isArray(one?.list)) plans.push({ path: k, text: one.list.join("\n") });
    }
    return out;
  };
  const clean = (v) => visit(v, "");
  return { rest: visit(answer, ""), plans: plans.filter((p, i) => plans.findIndex((q) => q.path === p.path && q.text === p.text) === i) };
}
