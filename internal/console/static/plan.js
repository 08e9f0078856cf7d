// What a plan says: times with and without inputs, shares, wrong estimates, places in an icicle or a sunburst, differences of
// two runs. Plans are those of the HTTP API. Knows no document.

/** An estimate is marked that is off by this factor. */
export const offBy = 10;

/** Lists the operators of a plan from the result down: {plan, depth, id, self, all, share, from, to, off}. Times are microseconds; from and to are the place within the whole. */
export function operators(plan) {
  const out = [];
  const measure = (p) => (p.timeUs ?? 0) + (p.children ?? []).reduce((n, c) => n + measure(c), 0);
  const total = measure(plan), profiled = plan.timeUs !== undefined;
  (function visit(p, depth, from, to, up) {
    const all = measure(p), self = p.timeUs ?? 0, id = out.length;
    out.push({ plan: p, depth, id, up, self, all, share: total ? self / total : 0, from, to, off: offOf(p), profiled });
    let at = from;
    for (const c of p.children ?? []) {
      const width = total ? ((to - from) * measure(c)) / (all || 1) : (to - from) / p.children.length;
      visit(c, depth + 1, at, at + width, id);
      at += width;
    }
  })(plan, 0, 0, 1, -1);
  return out;
}

/** Gives the factor by which an estimate is off, above 0 where there were more rows than expected, or 0 if it is good enough. */
export function offOf(p) {
  if (p.rows === undefined || p.estimatedRows === undefined) return 0;
  const expected = Math.max(1, p.estimatedRows), got = Math.max(1, p.rows);
  return got >= offBy * expected ? got / expected : expected >= offBy * got ? -expected / got : 0;
}

/** The columns of figures: [name, title, text of an operator]. Those without any figure are left out. */
export function columns(list, { count, bytes, duration }) {
  const some = (name, title, f) => (list.some((o) => f(o.plan) !== undefined) ? [[name, title, (o) => { const v = f(o.plan); return v === undefined ? "" : v; }]] : []);
  const figure = (key, write = count) => (p) => (p[key] === undefined ? undefined : write(p[key]));
  return [
    ...some("estimated", "rows that the planner expected", (p) => (p.estimatedRows === undefined ? undefined : count(Math.ceil(p.estimatedRows)))),
    ...some("rows", "rows", figure("rows")),
    ...some("time", "time of the operator alone", figure("timeUs", (us) => duration(us / 1000))),
    ...some("cache", "blocks that the cache held, of those asked for", (p) => (p.cacheHits === undefined ? undefined : p.cacheHits + p.cacheMisses ? Math.round((100 * p.cacheHits) / (p.cacheHits + p.cacheMisses)) + "%" : "")),
    ...some("requests", "requests to shards", figure("shardRequests")),
    ...some("bytes", "bytes that the shards gave", figure("bytes", bytes)),
    ...some("memory", "most bytes held at a time", figure("memory", bytes)),
    ...some("spilled", "bytes put on disk", figure("spilled", bytes)),
    ...some("compared", "vectors compared", figure("compared")),
    ...some("candidates", "candidates of an HNSW graph", figure("candidates")),
    ...some("large", "large values fetched", (p) => (p.largeValues ? count(p.largeValues) : undefined)),
    ...some("calls", "calls to other processes", figure("wireRequests")),
    ...some("sent", "bytes sent to other processes", figure("wireSent", bytes)),
    ...some("received", "bytes received from other processes", figure("wireReceived", bytes)),
    ...some("B/edge", "bytes sent and received for each edge", (p) => (p.wirePerEdge === undefined ? undefined : Number(p.wirePerEdge).toFixed(2))),
  ];
}

/** Pairs the operators of two plans by their way from the result; gives a list of {a, b}, either of which may be missing. */
export function compare(a, b) {
  const out = [];
  (function visit(x, y) {
    if (x && y && x.operator !== y.operator) {
      visit(x, null);
      visit(null, y);
      return;
    }
    out.push({ a: x, b: y });
    const m = x?.children ?? [], n = y?.children ?? [];
    for (let i = 0; i < Math.max(m.length, n.length); i++) visit(m[i] ?? null, n[i] ?? null);
  })(a, b);
  return out;
}

/** Gives the outline of a piece of a sunburst: from and to are shares of the circle, inner and outer radii. */
export function arc(from, to, inner, outer) {
  if (to - from > 0.75) { // an arc that ends where it begins is none
    const half = (from + to) / 2;
    return arc(from, half, inner, outer) + arc(half, to, inner, outer);
  }
  const at = (r, t) => `${(r * Math.sin(2 * Math.PI * t)).toFixed(2)} ${(-r * Math.cos(2 * Math.PI * t)).toFixed(2)}`;
  const wide = to - from > 0.5 ? 1 : 0;
  return `M${at(outer, from)}A${outer} ${outer} 0 ${wide} 1 ${at(outer, to)}L${at(inner, to)}` + (inner ? `A${inner} ${inner} 0 ${wide} 0 ${at(inner, from)}` : "") + "Z";
}

/** Cuts a text to about a width in pixels, or gives "" where not even three characters fit. */
export function fitted(text, width, perCharacter = 6.4) {
  const n = Math.floor(width / perCharacter);
  return n < 3 ? "" : text.length <= n ? text : text.slice(0, n - 1) + "…";
}
