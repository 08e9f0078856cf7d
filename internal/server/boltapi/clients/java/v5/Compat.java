import java.util.Map;
import java.util.concurrent.*;
import java.util.function.Function;
import org.neo4j.driver.*;
import org.neo4j.driver.async.AsyncSession;
import org.neo4j.driver.reactive.ReactiveResult;
import org.neo4j.driver.reactive.ReactiveSession;
import org.neo4j.driver.types.Node;

/** What the drivers since 5 call otherwise than the one before, or have alone. */
class Compat {
  static final String idOf = "elementId";

  interface Run {
    Result run(String query, Map<String, Object> params);
  }

  static Object id(Node n) {
    return n.elementId();
  }

  static <T> T write(Session s, Function<Run, T> work) {
    return s.executeWrite(tx -> work.apply(tx::run));
  }

  static SessionConfig after(Session s) {
    return SessionConfig.builder().withBookmarks(s.lastBookmarks()).build();
  }

  /** Counts what a publisher gives, asking for some at a time. */
  static <T> long count(Flow.Publisher<T> p, java.util.function.Consumer<T> each) throws Exception {
    var done = new CompletableFuture<Long>();
    p.subscribe(new Flow.Subscriber<T>() {
      Flow.Subscription s;
      long n;

      public void onSubscribe(Flow.Subscription s) {
        this.s = s;
        s.request(100);
      }

      public void onNext(T t) {
        each.accept(t);
        if (++n % 100 == 0) s.request(100);
      }

      public void onError(Throwable t) {
        done.completeExceptionally(t);
      }

      public void onComplete() {
        done.complete(n);
      }
    });
    return done.get(60, TimeUnit.SECONDS);
  }

  static void list(Map<String, Checks.Check> checks) {
    checks.put("asynchronous session", () -> {
      var s = Checks.driver.session(AsyncSession.class);
      var rows = s.runAsync("UNWIND range(1, 5000) AS i RETURN i").thenCompose(r -> r.listAsync()).toCompletableFuture().get();
      Checks.expect(5000, rows.size());
      s.closeAsync().toCompletableFuture().get();
    });
    checks.put("reactive session", () -> {
      var s = Checks.driver.session(ReactiveSession.class);
      var result = new ReactiveResult[1];
      count(s.run("UNWIND range(1, 5000) AS i RETURN i"), r -> result[0] = r);
      Checks.expect(5000L, count(result[0].records(), r -> {}));
      count(s.close(), v -> {});
    });
    checks.put("executable query", () -> {
      var r = Checks.driver.executableQuery("UNWIND range(1, $n) AS i CREATE (e:Exec {i: i}) RETURN e.i AS i").withParameters(Map.of("n", 100)).execute();
      Checks.expect(100, r.records().size());
      Checks.expect(100, r.summary().counters().nodesCreated());
    });
  }
}
