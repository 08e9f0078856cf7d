// The page of those who run the server: what runs, what was slow, what takes the time, charts, shards, flame graphs.
import { api, ask, get, send } from "./api.js";
import { announce, button, bytes, count, duration, el, fill, short, tabs } from "./dom.js";
import { Chart } from "./charts.js";
import { flameView } from "./flame.js";
import { quantile, rate, readings, sum } from "./metrics.js";
import { planView } from "./planview.js";

const every = 2000; // milliseconds between two readings

export const serverPage = {
  id: "server", title: "Server",
  make(app) {
    const panels = Object.fromEntries(["running", "slow", "top", "quotas", "charts", "shards", "flame"].map((k) => [k, el("div", { class: "panel scroll" })]));
    const names = { running: "Running", slow: "Slow log", top: "Top", quotas: "Quotas", charts: "Charts", shards: "Shards", flame: "Flame graph" };
    let at = "running", shown = false, round = 0;
    const table = (head, rows, empty) => (rows.length ? el("table", { class: "plain" }, el("thead", {}, el("tr", {}, head.map(([name, right]) => el("th", { scope: "col", class: right ? "number" : undefined }, name)))),
      el("tbody", {}, rows.map((r) => el("tr", {}, r.map((v, i) => el("td", { class: head[i][1] ? "number" : undefined }, v)))))) : el("p", { class: "quiet" }, empty));
    const code = (text) => el("code", { class: "statement-text", title: text }, text.replace(/\s+/g, " ").slice(0, 400));

    const views = {
      async running() {
        const { queries } = await get("/v1/queries");
        fill(panels.running, table([["id"], ["graph"], ["statement"], ["caller"], ["time", 1], ["rows", 1], ["memory", 1], [""]], queries.map((q) => [
          String(q.id), q.graph, code(q.statement || "(open transaction)"), [q.caller, q.client, q.agent].filter(Boolean).join(" "), duration(q.elapsedMs), count(q.rows), bytes(q.memory) + (q.operator ? " " + q.operator : ""),
          button("Kill", `Kill ${q.id}`, async () => { await send("/v1/queries/" + q.id, { method: "DELETE", body: "" }).then(() => announce("Killed"), (e) => announce(e.message)); refresh(); }, { class: "small" })]), "Nothing runs."));
        return every / 2;
      },
      async slow() {
        const { queries } = await get("/v1/slowlog", { limit: 100 });
        if (panels.slow.contains(document.activeElement) && panels.slow.childElementCount) return 0;
        const shape = el("div", {});
        fill(panels.slow, table([["time", 1], ["rows", 1], ["graph"], ["statement"], ["when"], [""]], queries.map((q) => [duration(q.elapsedMs), count(q.rows), q.graph, [code(q.statement), q.error ? el("span", { class: "failed" }, " " + q.error) : ""], new Date(q.start).toLocaleString(),
          [q.plan ? button("Plan", "Show the plan", () => { fill(shape, planView(q.plan)); shape.scrollIntoView(); }, { class: "small" }) : "", q.fingerprint ? button("Flame", "Watch the CPU while this statement runs", () => flame(q.fingerprint, q.statement), { class: "small" }) : "",
            button("Query", "Open it on the query page", () => { app.text = q.statement; app.open("query"); }, { class: "small" })]]), "No statement has been slow yet."), shape);
        return 0;
      },
      async top() {
        const { operations, intervalMs } = await get("/v1/top", { intervalMs: 1000 });
        if (!operations.length && panels.top.childElementCount) return 1;
        fill(panels.top, el("p", { class: "quiet" }, `In ${duration(intervalMs)}`), table([["kind"], ["graph"], ["operation"], ["calls/s", 1], ["errors", 1], ["rows", 1], ["mean", 1], ["p99", 1], ["share", 1], [""]], operations.map((o) => [
          o.kind, o.graph ?? "", code(o.text), short(o.rate), count(o.errors), count(o.rows), duration(o.meanMs), duration(o.p99Ms), (100 * o.share).toFixed(0) + "%",
          o.fingerprint ? button("Flame", "Watch the CPU while this statement runs", () => flame(o.fingerprint, o.text), { class: "small" }) : ""]), "Nothing has ended."));
        return 1;
      },
      async charts() {
        await read();
        return every;
      },
      async shards() {
        const { shards } = await get("/v1/shards", { graph: api.graph });
        const share = (a, b) => (a + b ? ((100 * a) / (a + b)).toFixed(1) + "%" : "–");
        fill(panels.shards, table([["shard", 1], ["disk", 1], ["read amplification", 1], ["write amplification", 1], ["topology cache", 1], ["its hits", 1], ["blocks found in memory", 1]],
          shards.map((s) => [String(s.shard), bytes(s.diskBytes), String(s.readAmplification), s.writeAmplification.toFixed(1), bytes(s.topologyCacheBytes), share(s.topologyCacheHits, s.topologyCacheMisses), share(s.blockFoundBytes, s.blockReadBytes)]), "This process knows of no shards."),
          el("p", { class: "quiet" }, "Backups and checks: graphctl backup, graphctl check."));
        return 5000;
      },
      async quotas() {
        const rows = (await ask("CALL db.quotas.list()", { readOnly: true })).map((q) => ({ ...q, amount: Number(q.amount), used: Number(q.used), remaining: Number(q.remaining) })); // floats keep their digits otherwise
        const figure = (q, n) => (q.measure === "cpu" ? duration(1000 * n) : short(n));
        fill(panels.quotas, table([["quota"], ["for"], ["account"], ["mode"], ["allowed", 1], ["used", 1], ["remaining", 1], ["begins again", 1], ["refused", 1]], rows.map((q) => [
          q.name, q.for, q.account ?? (q.each ? "" : "all together"), q.mode, `${figure(q, q.amount)} ${q.measure === "cpu" ? "CPU" : q.measure} a ${q.window}`,
          [el("meter", { min: "0", max: String(q.amount), high: String(0.9 * q.amount), value: String(Math.min(q.used, q.amount)), "aria-label": `Used of ${q.name}` }), " " + figure(q, q.used)],
          figure(q, q.remaining), q.reset === null ? "" : duration(1000 * q.reset), count(q.refused)]), "This graph has no quotas: CALL db.quotas.put or graphctl quota put adds them."));
        return every;
      },
      async flame() { return 0; },
    };

    const charts = [
      new Chart("Requests a second", ["statements", "failed"], short), new Chart("Latency", ["median", "p95", "p99"], (s) => duration(1000 * s)),
      new Chart("Running and waiting", ["running", "queued"], short), new Chart("Rows a second", ["rows"], short),
      new Chart("Memory", ["heap", "topology cache", "block cache", "queries"], bytes), new Chart("Found in caches", ["topology", "blocks"], (x) => (100 * x).toFixed(0) + "%"),
      new Chart("Disk", ["on disk", "to compact"], bytes), new Chart("Bytes written a second", ["commits", "compactions"], bytes), new Chart("Processor", ["cores in use"], short),
    ];
    fill(panels.charts, el("div", { class: "charts" }, charts.map((c) => c.element)));
    let last = null, lastAt = 0;
    async function read() {
      const now = readings(await (await send("/v1/metrics", { accept: "text/plain" })).text()), t = performance.now() / 1000;
      if (last && t > lastAt) {
        const s = t - lastAt, r = (name, pass) => rate(last, now, s, name, pass), q = (p) => quantile(last, now, "hopgate_statement_duration_seconds", p);
        const part = (a, b) => (a + b > 0 ? a / (a + b) : NaN);
        [[r("hopgate_statements_total"), r("hopgate_statements_total", (l) => l.outcome !== undefined ? l.outcome !== "ok" : l.code !== undefined && l.code !== "ok")], [q(0.5), q(0.95), q(0.99)],
          [sum(now, "hopgate_statements_running"), sum(now, "hopgate_statements_queued")], [r("hopgate_rows_total")],
          [sum(now, "go_memstats_heap_inuse_bytes"), sum(now, "hopgate_topology_cache_bytes"), sum(now, "hopgate_block_cache_bytes"), sum(now, "hopgate_query_memory_bytes")],
          [part(r("hopgate_topology_cache_hits_total"), r("hopgate_topology_cache_misses_total")), part(r("hopgate_block_cache_hits_total"), r("hopgate_block_cache_misses_total"))],
          [sum(now, "hopgate_storage_disk_bytes"), sum(now, "hopgate_storage_compaction_debt_bytes")], [r("hopgate_storage_commit_bytes_total"), r("hopgate_storage_compacted_bytes_total")], [r("process_cpu_seconds_total")],
        ].forEach((values, i) => charts[i].add(values));
      }
      last = now;
      lastAt = t;
    }

    const seconds = el("input", { type: "number", min: "1", max: "120", value: 5, "aria-label": "Seconds to watch" });
    const about = el("span", { class: "quiet" }), picture = el("div", {});
    let wanted = "";
    const watch = button("Watch", "Watch the CPU", async () => {
      watch.disabled = true;
      fill(picture, el("p", { class: "quiet" }, `Watching for ${seconds.value} s …`));
      try {
        const { tree } = await get("/v1/profile", { seconds: seconds.value, statement: wanted });
        fill(picture, tree.v ? flameView(tree) : el("p", { class: "quiet" }, "Nothing used the CPU" + (wanted ? " for this statement" : "") + " in that time."));
      } catch (e) {
        fill(picture, el("p", { class: "problem" }, e.message));
      }
      watch.disabled = false;
    }, { class: "primary" });
    fill(panels.flame, el("div", { class: "toolbar" }, el("label", { class: "check" }, seconds, "s"), watch, button("All statements", "Watch all statements", () => flame("", ""), { class: "small" }), about),
      el("p", { class: "quiet" }, "Names the statements that begin meanwhile; those that ran before are outside of statements."), picture);
    function flame(fingerprint, text) {
      wanted = fingerprint;
      about.textContent = fingerprint ? "only " + text.replace(/\s+/g, " ").slice(0, 90) : "all statements, by operator";
      bar.show(list.findIndex((l) => l.key === "flame"));
      watch.focus();
      if (fingerprint) watch.click();
    }

    async function refresh() {
      const mine = ++round;
      let wait = every;
      try {
        wait = await views[at]();
      } catch (e) {
        if (mine === round) fill(at === "charts" ? el("div") : panels[at], el("p", { class: "problem" }, e.status === 403 ? "This needs the role admin. " + e.message : e.message));
        if (e.status === 401 || e.status === 403) wait = 0;
      }
      if (shown && mine === round && wait) setTimeout(() => { if (shown && mine === round) refresh(); }, wait);
    }
    const list = Object.keys(panels).map((k) => ({ name: names[k], panel: panels[k], key: k }));
    const bar = tabs("Server", list, { onshow: (i) => { at = list[i].key; if (shown) refresh(); } });
    about.textContent = "all statements, by operator";
    bar.show(0);
    return {
      element: el("div", { class: "page server" }, bar.bar, list.map((l) => l.panel)),
      show() { shown = true; refresh(); },
      hide() { shown = false; },
    };
  },
};
