import static org.neo4j.driver.Values.parameters;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.neo4j.driver.*;
import org.neo4j.driver.Record;
import org.neo4j.driver.exceptions.*;
import org.neo4j.driver.summary.QueryType;

/** Uses the driver as its users do, and appends "pass NAME" or "fail NAME" to the file $RESULTS for each check. */
public class Checks {
  interface Check {
    void run() throws Exception;
  }

  static Driver driver;
  static final Map<String, Check> checks = new LinkedHashMap<>();

  static void expect(Object want, Object got) {
    if (!Objects.deepEquals(want, got)) throw new AssertionError("want " + want + ", got " + got);
  }

  static <E extends Throwable> E expectThrows(Class<E> type, Check f) throws Exception {
    try {
      f.run();
    } catch (Throwable e) {
      if (type.isInstance(e)) return type.cast(e);
      throw new AssertionError("want " + type + ", got " + e, e);
    }
    throw new AssertionError("want " + type + ", got no exception");
  }

  static Record single(String query, Object... params) {
    try (Session s = driver.session()) {
      return s.run(query, parameters(params)).single();
    }
  }

  static Value roundTrip(Object v) {
    return single("RETURN $v AS v", "v", v).get("v");
  }

  static void list() {
    checks.put("connects", driver::verifyConnectivity);
    List<Object> values = Arrays.asList(
        true, false, 0L, -1L, Long.MAX_VALUE, Long.MIN_VALUE, 1.5, -0.0, Double.NaN, Double.POSITIVE_INFINITY, "", "grün 𝄞", "x".repeat(70_000),
        List.of(1L, "a", List.of(true)), Map.of("a", 1L, "b", List.of(2.5)), LocalDate.of(-4, 2, 29), LocalTime.of(1, 2, 3, 4),
        OffsetTime.of(1, 2, 3, 4, ZoneOffset.ofHours(-7)), LocalDateTime.of(2020, 1, 2, 3, 4, 5, 6),
        ZonedDateTime.of(2020, 1, 2, 3, 4, 5, 6, ZoneOffset.ofHoursMinutes(5, 30)), ZonedDateTime.of(2024, 7, 1, 12, 0, 0, 0, ZoneId.of("Europe/Stockholm")),
        ZonedDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999, ZoneId.of("America/New_York")));
    for (Object v : values) {
      String name = v.toString();
      checks.put("value " + v.getClass().getSimpleName() + " " + name.substring(0, Math.min(40, name.length())), () -> expect(v, roundTrip(v).asObject()));
    }
    checks.put("value null", () -> expect(true, roundTrip(null).isNull()));
    checks.put("value bytes", () -> {
      byte[] b = new byte[70_000];
      new Random(1).nextBytes(b);
      expect(b, roundTrip(b).asByteArray());
    });
    checks.put("value duration", () -> {
      Value d = Values.isoDuration(14, 3, 5, 6);
      expect(d.asIsoDuration(), roundTrip(d.asIsoDuration()).asIsoDuration());
    });
    for (int srid : new int[] {4326, 7203}) {
      checks.put("value point " + srid, () -> expect(Values.point(srid, 1.5, 2.5).asPoint(), roundTrip(Values.point(srid, 1.5, 2.5)).asPoint()));
    }
    for (int srid : new int[] {4979, 9157}) {
      checks.put("value point " + srid, () -> expect(Values.point(srid, 1.5, 2.5, 3.5).asPoint(), roundTrip(Values.point(srid, 1.5, 2.5, 3.5)).asPoint()));
    }
    checks.put("graph values", () -> {
      Record r = single("CREATE p = (a:A:B {x: 1})-[r:R {y: [1, 2]}]->(:C)<-[:S]-(a) RETURN p, a, r");
      var a = r.get("a").asNode();
      var rel = r.get("r").asRelationship();
      var p = r.get("p").asPath();
      expect(Set.of("A", "B"), new HashSet<>((Collection<String>) a.labels()));
      expect(1L, a.get("x").asLong());
      expect("R", rel.type());
      expect(List.of(1L, 2L), rel.get("y").asList(Value::asLong));
      expect(2, p.length());
      expect(a, p.start());
      expect(a, p.end());
      expect(rel, p.relationships().iterator().next());
      expect(1L, single("MATCH (n) WHERE " + Compat.idOf + "(n) = $id RETURN count(*) AS n", "id", Compat.id(a)).get("n").asLong());
    });
    checks.put("summary", () -> {
      try (Session s = driver.session()) {
        var w = s.run("CREATE (:Sum {a: 1})-[:T]->(:Sum)").consume();
        expect(2, w.counters().nodesCreated());
        expect(1, w.counters().relationshipsCreated());
        expect(true, w.counters().containsUpdates());
        expect(QueryType.WRITE_ONLY, w.queryType());
        var r = s.run("PROFILE MATCH (n:Sum) RETURN n").consume();
        expect(true, r.hasProfile());
        expect(QueryType.READ_ONLY, r.queryType());
        expect(true, s.run("EXPLAIN MATCH (n:Sum) RETURN n").consume().hasPlan());
        expect(false, s.run("MATCH (n:NoSuchLabel) RETURN n").consume().notifications().isEmpty());
        expect("neo4j", w.database().name());
        if (!w.server().agent().startsWith("Neo4j/")) throw new AssertionError(w.server().agent());
      }
    });
    checks.put("several results", () -> {
      try (Session s = driver.session(); Transaction tx = s.beginTransaction()) {
        Result a = tx.run("UNWIND range(1, 3000) AS i RETURN i"), b = tx.run("UNWIND range(1, 3000) AS i RETURN -i AS i");
        for (long i = 1; i <= 3000; i++) {
          expect(i, a.next().get("i").asLong());
          expect(-i, b.next().get("i").asLong());
        }
        tx.commit();
      }
    });
    checks.put("rollback", () -> {
      try (Session s = driver.session()) {
        try (Transaction tx = s.beginTransaction()) {
          tx.run("CREATE (:Rolled)").consume();
          tx.rollback();
        }
        expect(0L, s.run("MATCH (n:Rolled) RETURN count(n) AS n").single().get("n").asLong());
      }
    });
    checks.put("closing a session rolls back", () -> {
      try (Session s = driver.session()) {
        s.beginTransaction().run("CREATE (:Rolled)").consume();
      }
      expect(0L, single("MATCH (n:Rolled) RETURN count(n) AS n").get("n").asLong());
    });
    checks.put("conflicts are retried", () -> {
      single("CREATE (n:Counter {n: 0}) RETURN n");
      AtomicInteger tries = new AtomicInteger();
      ExecutorService pool = Executors.newFixedThreadPool(4);
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        all.add(pool.submit(() -> {
          try (Session s = driver.session()) {
            Compat.write(s, tx -> {
              tries.incrementAndGet();
              return tx.run("MATCH (n:Counter) SET n.n = n.n + 1 RETURN n.n AS n", Map.of()).single().get("n").asLong();
            });
          }
        }));
      }
      for (Future<?> f : all) f.get();
      pool.shutdown();
      expect(40L, single("MATCH (n:Counter) RETURN n.n AS n").get("n").asLong());
    });
    checks.put("a failing unit of work rolls back", () -> {
      try (Session s = driver.session()) {
        expectThrows(IllegalStateException.class, () -> Compat.write(s, tx -> {
          tx.run("CREATE (:Rolled)", Map.of()).consume();
          throw new IllegalStateException();
        }));
      }
      expect(0L, single("MATCH (n:Rolled) RETURN count(n) AS n").get("n").asLong());
    });
    checks.put("errors", () -> {
      expect("Neo.ClientError.Statement.SyntaxError", expectThrows(ClientException.class, () -> single("RETRUN 1")).code());
      expect("Neo.ClientError.Statement.ArithmeticError", expectThrows(ClientException.class, () -> single("RETURN 1 / 0")).code());
      expect("Neo.ClientError.Statement.ParameterMissing", expectThrows(ClientException.class, () -> single("RETURN $p")).code());
      expect(1L, single("RETURN 1 AS n").get("n").asLong());
    });
    checks.put("constraints", () -> {
      try (Session s = driver.session()) {
        s.run("CREATE CONSTRAINT checks_key IF NOT EXISTS FOR (n:Keyed) REQUIRE n.k IS UNIQUE").consume();
        s.run("CREATE (:Keyed {k: 1})").consume();
        var e = expectThrows(ClientException.class, () -> s.run("CREATE (:Keyed {k: 1})").consume());
        expect("Neo.ClientError.Schema.ConstraintValidationFailed", e.code());
        if (!e.getMessage().contains("already exists with label")) throw new AssertionError(e.getMessage());
      }
    });
    checks.put("timeouts", () -> {
      try (Session s = driver.session()) {
        var config = TransactionConfig.builder().withTimeout(Duration.ofMillis(200)).build();
        var e = expectThrows(ClientException.class,
            () -> s.run("UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 8 RETURN count(i)", config).consume());
        expect("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", e.code());
      }
    });
    checks.put("metadata", () -> {
      try (Session s = driver.session()) {
        var config = TransactionConfig.builder().withMetadata(Map.of("app", "checks", "n", 7)).build();
        expect(Map.of("app", "checks", "n", 7L), s.run("CALL tx.getMetaData()", config).single().get(0).asMap());
      }
    });
    checks.put("bookmarks", () -> {
      String label = "Marked";
      for (long i = 1; i < 20; i++) {
        SessionConfig config;
        try (Session s = driver.session()) {
          s.run("CREATE (:Marked)").consume();
          config = Compat.after(s);
        }
        try (Session s = driver.session(config)) {
          expect(i, s.run("MATCH (n:Marked) RETURN count(n) AS n").single().get("n").asLong());
        }
      }
    });
    checks.put("read access", () -> {
      try (Session s = driver.session(SessionConfig.builder().withDefaultAccessMode(AccessMode.READ).build())) {
        expect("Neo.ClientError.Statement.AccessMode", expectThrows(ClientException.class, () -> s.run("CREATE ()").consume()).code());
      }
    });
    checks.put("databases", () -> {
      try (Session s = driver.session(SessionConfig.forDatabase("neo4j"))) {
        expect(1L, s.run("RETURN 1 AS n").single().get("n").asLong());
      }
      try (Session s = driver.session(SessionConfig.forDatabase("system"))) {
        expect(true, s.run("SHOW DATABASES YIELD name").list(r -> r.get("name").asString()).contains("neo4j"));
      }
      try (Session s = driver.session(SessionConfig.forDatabase("nope"))) {
        expect("Neo.ClientError.Database.DatabaseNotFound", expectThrows(Neo4jException.class, () -> s.run("RETURN 1").consume()).code());
      }
    });
    checks.put("a million rows", () -> {
      try (Session s = driver.session()) {
        long sum = 0;
        for (Result r = s.run("UNWIND range(1, 1000000) AS i RETURN i, -i AS j, 7 AS k"); r.hasNext(); ) sum += r.next().get("i").asLong();
        expect(500_000_500_000L, sum);
      }
    });
    checks.put("a long result is left", () -> {
      try (Session s = driver.session()) {
        s.run("UNWIND range(1, 100000000) AS i RETURN i").next();
      }
      expect(1L, single("RETURN 1 AS n").get("n").asLong());
    });
    checks.put("large parameters", () -> {
      List<Map<String, Object>> rows = new ArrayList<>();
      for (long i = 0; i < 50_000; i++) rows.add(Map.of("id", i, "name", "name " + i));
      expect(50_000L, single("UNWIND $rows AS row CREATE (n:Bulk {id: row.id, name: row.name}) RETURN count(n) AS n", "rows", rows).get("n").asLong());
    });
    checks.put("many sessions", () -> {
      ExecutorService pool = Executors.newFixedThreadPool(16);
      List<Future<Long>> all = new ArrayList<>();
      for (long i = 0; i < 400; i++) {
        long n = i;
        all.add(pool.submit(() -> single("UNWIND range(1, $n) AS i RETURN count(i) AS n", "n", n).get("n").asLong()));
      }
      for (int i = 0; i < 400; i++) expect((long) i, all.get(i).get());
      pool.shutdown();
    });
    checks.put("commands in transactions", () -> {
      try (Session s = driver.session()) {
        Compat.write(s, tx -> tx.run("CREATE INDEX checks_index IF NOT EXISTS FOR (n:Bulk) ON (n.name)", Map.of()).consume());
        expect(1, s.run("SHOW INDEXES YIELD name WHERE name = 'checks_index' RETURN name").list().size());
      }
    });
    Compat.list(checks);
  }

  public static void main(String[] args) throws Exception {
    int failed = 0;
    for (String scheme : new String[] {"bolt", "neo4j"}) {
      driver = GraphDatabase.driver(scheme + "://" + System.getenv("BOLT"), AuthTokens.none());
      checks.clear();
      list();
      try (Session s = driver.session()) {
        s.run("MATCH (n) DETACH DELETE n").consume();
      }
      for (var c : checks.entrySet()) {
        String outcome = "pass";
        try {
          c.getValue().run();
        } catch (Throwable e) {
          outcome = "fail";
          System.err.println(scheme + ": " + c.getKey());
          e.printStackTrace();
        }
        String name = (scheme + ": " + c.getKey()).replace('\n', ' ');
        Files.writeString(Path.of(System.getenv("RESULTS")), outcome + " " + name + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
      driver.close();
    }
  }
}
