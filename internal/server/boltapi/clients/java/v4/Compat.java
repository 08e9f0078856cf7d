import java.util.Map;
import java.util.function.Function;
import org.neo4j.driver.*;
import org.neo4j.driver.types.Node;

/** What the 4.4 driver calls otherwise than those after it. */
class Compat {
  static final String idOf = "id";

  interface Run {
    Result run(String query, Map<String, Object> params);
  }

  static Object id(Node n) {
    return n.id();
  }

  static <T> T write(Session s, Function<Run, T> work) {
    return s.writeTransaction(tx -> work.apply(tx::run));
  }

  static SessionConfig after(Session s) {
    return SessionConfig.builder().withBookmarks(s.lastBookmark()).build();
  }

  static void list(Map<String, Checks.Check> checks) {
    checks.put("asynchronous session", () -> {
      var s = Checks.driver.asyncSession();
      var rows = s.runAsync("UNWIND range(1, 5000) AS i RETURN i").thenCompose(r -> r.listAsync()).toCompletableFuture().get();
      Checks.expect(5000, rows.size());
      s.closeAsync().toCompletableFuture().get();
    });
  }
}
