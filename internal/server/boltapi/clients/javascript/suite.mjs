// Tests of the JavaScript driver that run in Node and in a browser.

let neo4j, uri, driver;
let labels = 0;
const label = () => `L${Date.now()}x${labels++}`;

function check(condition, ...shown) {
  if (!condition) throw new Error("wrong: " + shown.map((v) => (typeof v === "object" ? JSON.stringify(v, plain) : String(v))).join(", "));
}
const plain = (_, v) => (typeof v === "bigint" ? `${v}n` : v instanceof Int8Array ? [...v] : v);
const text = (v) => (Object.is(v, -0) ? "-0" : typeof v === "number" ? String(v) : v === undefined ? "undefined" : JSON.stringify(v, plain));
const same = (got, wanted) => check(text(got) === text(wanted) && got?.constructor === wanted?.constructor, got, "wanted", wanted);

async function failure(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
  throw new Error("no error");
}

async function withSession(work, config = {}) {
  const session = driver.session(config);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

const one = async (statement, parameters) => (await driver.executeQuery(statement, parameters)).records[0].get(0);
const count = async (name) => (await one(`MATCH (n:${name}) RETURN count(n)`)).toNumber();

const values = () => ({
  null: null,
  true: true,
  false: false,
  ...Object.fromEntries([0n, 15n, -16n, -17n, 127n, 128n, -129n, 32768n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)].map((n) => [`integer ${n}`, neo4j.int(n)])),
  float: 0.1,
  "negative zero": -0,
  "not a number": NaN,
  infinity: -Infinity,
  "whole float": 3,
  empty: "",
  unicode: "ä€😀\u0301\0",
  ...Object.fromEntries([15, 16, 255, 256, 65535, 65536, 200000].map((n) => [`string of ${n}`, "x".repeat(n)])),
  bytes: Int8Array.from({ length: 256 }, (_, i) => i - 128),
  "many bytes": new Int8Array(70000).fill(-1),
  date: new neo4j.types.Date(neo4j.int(2020), neo4j.int(2), neo4j.int(29)),
  "local time": new neo4j.types.LocalTime(neo4j.int(23), neo4j.int(59), neo4j.int(59), neo4j.int(999999999)),
  time: new neo4j.types.Time(neo4j.int(1), neo4j.int(2), neo4j.int(3), neo4j.int(4), neo4j.int(-5400)),
  "time with seconds": new neo4j.types.Time(neo4j.int(12), neo4j.int(34), neo4j.int(56), neo4j.int(0), neo4j.int(7559)),
  "local date-time": new neo4j.types.LocalDateTime(...[2020, 2, 29, 1, 2, 3, 4].map((n) => neo4j.int(n))),
  "date-time": new neo4j.types.DateTime(...[2020, 2, 29, 1, 2, 3, 4, 7200].map((n) => neo4j.int(n))),
  "date-time with seconds": new neo4j.types.DateTime(...[1984, 10, 11, 12, 34, 56, 0, 7559].map((n) => neo4j.int(n))),
  duration: new neo4j.types.Duration(neo4j.int(14), neo4j.int(-3), neo4j.int(5), neo4j.int(7)),
  point: new neo4j.types.Point(neo4j.int(7203), 1.5, -2),
  "point in space": new neo4j.types.Point(neo4j.int(9157), 1.5, -2, 3),
  place: new neo4j.types.Point(neo4j.int(4326), 13.4, 52.5),
  "place with height": new neo4j.types.Point(neo4j.int(4979), 13.4, 52.5, 34),
});

const tests = {
  async "the server"() {
    const info = await driver.getServerInfo();
    check(info.agent.startsWith("Neo4j/") && String(info.protocolVersion ?? "").length > 0, info.agent, info.protocolVersion);
    check(await driver.verifyAuthentication());
    check(await driver.supportsMultiDb());
  },

  async "zones"() {
    const at = new neo4j.types.DateTime(...[2020, 7, 3, 4, 5, 6, 7].map((n) => neo4j.int(n)), undefined, "Europe/Berlin");
    const got = await one("RETURN $v", { v: at });
    check(got.toString().endsWith("[Europe/Berlin]") && got.timeZoneId === "Europe/Berlin" && got.hour.toNumber() === 4, got);
    check(await one("RETURN $v = datetime('2020-07-03T04:05:06.000000007[Europe/Berlin]')", { v: at }));
  },

  async "lists and maps"() {
    const v = { list: [neo4j.int(1), 2.5, "x", null, [], {}], deep: [[[[[{ a: [true] }]]]]], "": neo4j.int(0) };
    same(await one("RETURN $v", { v }), v);
    check((await one("RETURN $v", { v: Array.from({ length: 70000 }, (_, i) => neo4j.int(i)) })).length === 70000);
  },

  async "graph values"() {
    const name = label();
    const { records } = await driver.executeQuery(
      `CREATE p = (a:${name}:B {n: 1})-[r:KNOWS {since: 2}]->(b:${name} {n: 2})<-[:LIKES]-(a) RETURN a, r, b, p`);
    const { a, r, b, p } = records[0].toObject();
    check(neo4j.isNode(a) && neo4j.isRelationship(r) && neo4j.isPath(p));
    same(a.labels.toSorted?.() ?? [...a.labels].sort(), [name, "B"].sort());
    same(a.properties.n, neo4j.int(1));
    check(r.type === "KNOWS" && r.startNodeElementId === a.elementId && r.endNodeElementId === b.elementId && r.properties.since.toNumber() === 2);
    check(p.length === 2 && p.segments[0].relationship.elementId === r.elementId && p.segments[1].end.elementId === a.elementId);
    check(p.segments[1].relationship.startNodeElementId === a.elementId, "the second edge leads back");
    check((await one("MATCH (n) WHERE elementId(n) = $id RETURN n", { id: a.elementId })).properties.n.toNumber() === 1);
  },

  async "counters"() {
    const name = label();
    const { summary } = await driver.executeQuery(`UNWIND [1, 2] AS i CREATE (:${name} {i: i})`);
    const counters = summary.counters.updates();
    check(counters.nodesCreated === 2 && counters.propertiesSet === 2 && counters.labelsAdded === 2 && summary.queryType === "w", counters, summary.queryType);
  },

  async "streams"() {
    for (const fetchSize of [1000, -1]) {
      await withSession(async (session) => {
        let sum = 0;
        for await (const record of session.run("UNWIND range(1, 20000) AS i RETURN i")) sum += record.get(0).toNumber();
        check(sum === 200010000, sum);
      }, { fetchSize });
    }
  },

  async "a stream that the client leaves"() {
    await withSession(async (session) => {
      for await (const record of session.run("UNWIND range(1, 100000000) AS i RETURN i")) if (record.get(0).toNumber() === 10) break;
    });
    check((await one("RETURN 1")).toNumber() === 1);
  },

  async "results side by side"() {
    await withSession(async (session) => {
      const tx = await session.beginTransaction();
      const results = await Promise.all([4000, 3, 2500].map((n) => tx.run("UNWIND range(1, $n) AS i RETURN i", { n: neo4j.int(n) })));
      same(results.map((r) => r.records.length), [4000, 3, 2500]);
      await tx.commit();
    });
  },

  async "rollback"() {
    const name = label();
    await withSession(async (session) => {
      const tx = await session.beginTransaction();
      await tx.run(`CREATE (:${name})`);
      await tx.rollback();
      const left = await session.beginTransaction();
      await left.run(`CREATE (:${name})`);
      await left.close();
    });
    check((await count(name)) === 0);
  },

  async "managed transactions"() {
    const name = label();
    let tries = 0;
    const done = await withSession((session) =>
      session.executeWrite(async (tx) => {
        await tx.run(`CREATE (:${name})`);
        if (++tries < 2) throw new neo4j.Neo4jError("again", "Neo.TransientError.Transaction.DeadlockDetected", "50N42", "again");
        return "done";
      }));
    check(done === "done" && tries === 2 && (await count(name)) === 1, tries);
    check((await withSession((session) => session.executeRead((tx) => tx.run("RETURN 1")))).records.length === 1);
  },

  async "conflicts are tried again"() {
    const name = label();
    await driver.executeQuery(`CREATE (:${name} {n: 0})`);
    const add = () =>
      withSession((session) =>
        session.executeWrite(async (tx) => {
          const n = (await tx.run(`MATCH (c:${name}) RETURN c.n`)).records[0].get(0).toNumber();
          await tx.run(`MATCH (c:${name}) SET c.n = $n`, { n: neo4j.int(n + 1) });
        }));
    await Promise.all(Array.from({ length: 4 }, async () => { for (let i = 0; i < 4; i++) await add(); }));
    check((await one(`MATCH (c:${name}) RETURN c.n`)).toNumber() === 16);
  },

  async "reading transactions do not write"() {
    const name = label();
    const e = await failure(withSession((session) => session.executeRead((tx) => tx.run(`CREATE (:${name})`))));
    check(e.code === "Neo.ClientError.Statement.AccessMode" && (await count(name)) === 0, e.code);
  },

  async "bookmarks"() {
    const name = label();
    const bookmarks = await withSession(async (session) => {
      await session.run(`CREATE (:${name})`);
      return session.lastBookmarks();
    });
    check(bookmarks.length === 1, bookmarks);
    await withSession(async (session) => check((await session.run(`MATCH (n:${name}) RETURN count(n)`)).records[0].get(0).toNumber() === 1), { bookmarks });
    const e = await failure(withSession((session) => session.run("RETURN 1"), { bookmarks: ["no bookmark"] }));
    check(e.code === "Neo.ClientError.Transaction.InvalidBookmark", e.code);
  },

  async "errors"() {
    const wanted = {
      "RETRUN 1": "Neo.ClientError.Statement.SyntaxError",
      "RETURN $missing": "Neo.ClientError.Statement.ParameterMissing",
      "RETURN $one / 0": "Neo.ClientError.Statement.ArithmeticError",
      "CALL no.such.procedure()": "Neo.ClientError.Procedure.ProcedureNotFound",
    };
    for (const [statement, code] of Object.entries(wanted)) {
      for (const way of ["session", "transaction", "query"]) {
        const e = await failure(
          way === "session" ? withSession((s) => s.run(statement, { one: neo4j.int(1) }))
            : way === "transaction" ? withSession((s) => s.executeWrite((tx) => tx.run(statement, { one: neo4j.int(1) })))
              : driver.executeQuery(statement, { one: neo4j.int(1) }));
        check(e.code === code && e.message && !e.retriable && e.gqlStatus.length === 5, statement, way, e.code, e.gqlStatus);
      }
    }
  },

  async "constraints"() {
    const name = label();
    await driver.executeQuery(`CREATE CONSTRAINT ${name} FOR (n:${name}) REQUIRE n.k IS UNIQUE`);
    await driver.executeQuery(`CREATE (:${name} {k: 1})`);
    const e = await failure(driver.executeQuery(`CREATE (:${name} {k: 1})`));
    check(e.code === "Neo.ClientError.Schema.ConstraintValidationFailed" && e.message.includes("already exists with label"), e.code, e.message);
    await driver.executeQuery(`DROP CONSTRAINT ${name}`);
  },

  async "notifications"() {
    const name = label();
    const { summary } = await driver.executeQuery(`MATCH (n:${name}) RETURN n.a`);
    check(summary.notifications.some((n) => n.code === "Neo.ClientNotification.Statement.UnknownLabelWarning"), summary.notifications);
    check(summary.gqlStatusObjects.some((s) => s.gqlStatus === "02000") && summary.gqlStatusObjects.some((s) => s.gqlStatus === "01N50"));
  },

  async "timeouts"() {
    const endless = "UNWIND range(1, 100000000) AS a WITH a WHERE a < 0 RETURN count(*)";
    const e = await failure(withSession((session) => session.run(endless, {}, { timeout: 200 })));
    check(e.code === "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", e.code);
  },

  async "databases"() {
    const name = label().toLowerCase();
    await driver.executeQuery(`CREATE DATABASE ${name}`, {}, { database: "system" });
    await driver.executeQuery(`CREATE (:${name})`, {}, { database: name });
    check((await count(name)) === 0, "the label is in the other graph alone");
    await driver.executeQuery(`DROP DATABASE ${name}`, {}, { database: "system" });
    const e = await failure(driver.executeQuery("RETURN 1", {}, { database: name }));
    check(e.code === "Neo.ClientError.Database.DatabaseNotFound", e.code);
  },

  async "many sessions"() {
    const sums = await Promise.all(Array.from({ length: 30 }, () => one("UNWIND range(1, 3000) AS i RETURN sum(i)")));
    check(sums.every((s) => s.toNumber() === 4501500), sums);
  },

  async "other integers"() {
    for (const [config, wanted] of [[{ disableLosslessIntegers: true }, 7], [{ useBigInt: true }, 7n]]) {
      const other = neo4j.driver(uri, neo4j.auth.none(), config);
      try {
        same((await other.executeQuery("RETURN $v", { v: wanted === 7 ? neo4j.int(7) : 7n })).records[0].get(0), wanted);
      } finally {
        await other.close();
      }
    }
  },
};

// run runs every test over bolt:// and neo4j:// and reports each: "pass" or "fail", its name, what is wrong.
export async function run(library, address, report) {
  neo4j = library;
  for (const scheme of ["bolt", "neo4j"]) {
    uri = `${scheme}://${address}`;
    driver = neo4j.driver(uri, neo4j.auth.basic("neo4j", "any"));
    const all = { ...tests };
    for (const [name, v] of Object.entries(values())) {
      all[`value: ${name}`] = async () => {
        same(await one("RETURN $v", { v }), v);
        if (v !== null) same(await one(`CREATE (n:${label()} {v: $v}) RETURN n.v`, { v }), v);
      };
    }
    for (const [name, test] of Object.entries(all)) {
      try {
        await test();
        report("pass", `${scheme} ${name}`);
      } catch (e) {
        report("fail", `${scheme} ${name}`, e.stack ?? e);
      }
    }
    await driver.close();
  }
}
