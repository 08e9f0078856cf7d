// Talks to the server over the HTTP API that every client uses.
import { Rows } from "./rows.js";

/** What the server refused, with its errors. */
export class Failure extends Error {
  constructor(errors, status) {
    super(errors[0]?.message.replace(/ \(line \d+, column \d+ \(offset: \d+\)\)\n[^]*$/, "") ?? "the server answered " + status);
    this.errors = errors;
    this.status = status;
    this.position = errors[0]?.position;
    this.code = errors[0]?.code ?? "";
  }
}

const tokenKey = "hopgate.token";
let token = sessionStorage.getItem(tokenKey) ?? "";

export const api = {
  graph: "", // "" is the default one
  onUnauthorized: () => {},
  get token() { return token; },
  /** Takes a token for all requests from now on; keep holds it until the tab closes. */
  setToken(text, keep) {
    token = text;
    if (keep && text) sessionStorage.setItem(tokenKey, text);
    else sessionStorage.removeItem(tokenKey);
  },
};

/** Sends a request; an answer that is no success is thrown as a Failure. */
export async function send(path, { method = "GET", body, accept = "application/json", signal, prefer, headers: more = {} } = {}) {
  const headers = { Accept: accept, ...more };
  if (prefer) headers.Prefer = prefer;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = "Bearer " + token;
  const answer = await fetch(path, { method, headers, body, signal, credentials: "omit", cache: "no-store" });
  if (answer.ok) return answer;
  const text = await answer.text();
  let errors = [];
  try { errors = JSON.parse(text).errors ?? []; } catch { /* a proxy's page */ }
  const failure = new Failure(errors, answer.status);
  if (answer.status === 401) api.onUnauthorized(failure);
  throw failure;
}

/** Gives the JSON of a path; query is its parameters. */
export async function get(path, query = {}, options) {
  const q = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "" && v !== undefined));
  const answer = await send(path + (q.size ? "?" + q : ""), options);
  return answer.json();
}

/** Runs a statement and gives its rows as it goes: see Run. */
export function run(statement, { parameters = {}, graph = api.graph, maxRows = 0, timeoutMs = 0, readOnly = false, onchange = () => {} } = {}) {
  const body = { statement, parameters };
  if (graph) body.graph = graph;
  if (maxRows) body.maxRows = maxRows;
  if (timeoutMs) body.timeoutMs = timeoutMs;
  if (readOnly) body.accessMode = "READ";
  return new Run(body, onchange);
}

/** A statement that runs or has run. done resolves when it has ended, however it ended. */
export class Run {
  rows = new Rows();
  summary = null;
  error = null;
  cancelled = false;
  first = 0; // milliseconds until the first row or the end
  elapsed = 0;
  #abort = new AbortController();
  #began = performance.now();

  constructor(body, onchange) {
    this.body = body;
    this.onchange = onchange;
    this.done = this.#read();
  }

  get running() { return this.elapsed === 0; }
  get milliseconds() { return this.elapsed || performance.now() - this.#began; }

  cancel() {
    if (!this.running) return;
    this.cancelled = true;
    this.#abort.abort();
  }

  async #read() {
    try {
      // Browsers send a request again by themselves that is answered by 408, so errors come as lines.
      const answer = await send("/v1/query", { method: "POST", body: stringify(this.body), accept: "application/x-ndjson", prefer: "error-lines, cost", signal: this.#abort.signal });
      const reader = answer.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const line of this.rows.push(value)) this.#meta(line);
        if (!this.first && this.rows.length) this.first = this.milliseconds;
        this.onchange(this);
      }
      if (!this.summary && !this.error) this.error = new Error("the answer broke off");
    } catch (e) {
      if (!this.cancelled) this.error = e;
    }
    this.rows.end();
    this.elapsed = Math.max(performance.now() - this.#began, 0.01);
    this.first ||= this.elapsed;
    this.onchange(this);
    return this;
  }

  #meta(line) {
    if (line.errors) this.error = new Failure(line.errors, 200);
    else if (line.fields) this.rows.fields = line.fields;
    else this.summary = line;
  }
}

/** Runs the statement of a run again, for reading alone, and gives its rows in a form that the server writes. */
export async function fileOf({ body }, accept) {
  const answer = await send("/v1/query", { method: "POST", body: stringify({ ...body, accessMode: "READ" }), accept });
  return answer.blob();
}

/** Runs a statement to its end and gives its rows as objects. */
export async function ask(statement, options = {}) {
  const r = await run(statement, options).done;
  if (r.error) throw r.error;
  const out = [];
  for (let i = 0; i < r.rows.length; i++) out.push(Object.fromEntries(r.rows.row(i).map((v, c) => [r.rows.fields[c], v])));
  return out;
}

// A whole number beyond 2^53 in a parameter keeps its digits.
const stringify = (v) => JSON.stringify(v, (_, x) => (typeof x === "bigint" ? JSON.rawJSON(String(x)) : x));

/** Runs a JSON-array fetch and gives the text of its answer. */
export async function fetchJSON(method, body, { graph = api.graph, signal } = {}) {
  const answer = await send("/" + method + (graph ? "?graph=" + encodeURIComponent(graph) : ""), { method: "POST", body, signal });
  return answer.text();
}
