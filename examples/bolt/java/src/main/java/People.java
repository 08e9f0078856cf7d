import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.RoutingControl;
import org.neo4j.driver.TransactionCallback;

/** Loads, queries and changes a graph by Neo4j's driver. */
public class People {
  static void load(Driver driver, int people, int batch) {
    driver.executableQuery("CREATE CONSTRAINT person IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE").execute();
    var rows = new ArrayList<Map<String, Object>>();
    for (int i = 0; i < people; i++) rows.add(Map.of("id", i, "name", "P" + i, "friend", (i * 7 + 1) % people));
    for (var statement : List.of(
        "UNWIND $rows AS row MERGE (p:Person {id: row.id}) SET p.name = row.name, p.coins = 10",
        "UNWIND $rows AS row MATCH (a:Person {id: row.id}), (b:Person {id: row.friend}) MERGE (a)-[:KNOWS]->(b)")) {
      for (int at = 0; at < people; at += batch) {
        var some = rows.subList(at, Math.min(at + batch, people));
        driver.executableQuery(statement).withParameters(Map.of("rows", some)).execute();
      }
    }
  }

  static String near(Driver driver, int id) {
    return driver
        .executableQuery("MATCH (:Person {id: $id})-[:KNOWS*1..3]->(p) RETURN DISTINCT p.name AS name ORDER BY name")
        .withParameters(Map.of("id", id))
        .withConfig(QueryConfig.builder().withRouting(RoutingControl.READ).build())
        .execute(Collectors.mapping(record -> record.get("name").asString(), Collectors.joining(" ")));
  }

  static long total(Driver driver, int rows) {
    try (var session = driver.session()) {
      // The rows come as the loop asks for them: memory holds a thousand at a time.
      var result = session.run("UNWIND range(1, $rows) AS i RETURN i", Map.of("rows", rows));
      long sum = 0;
      while (result.hasNext()) sum += result.next().get("i").asLong();
      return sum;
    }
  }

  /** Gives a unit of work. The driver runs it again if the transaction conflicts with another one or loses its server. */
  static TransactionCallback<Long> give(int giver, int taker, long coins) {
    var change = "MATCH (p:Person {id: $id}) SET p.coins = p.coins + $coins RETURN p.coins AS left";
    return tx -> {
      long left = tx.run(change, Map.of("id", giver, "coins", -coins)).single().get("left").asLong();
      if (left < 0) throw new IllegalStateException(giver + " has only " + (left + coins) + " coins"); // rolls back
      tx.run(change, Map.of("id", taker, "coins", coins)).consume();
      return left;
    };
  }

  public static void main(String[] args) {
    var address = args.length > 0 ? args[0] : "localhost:7687";
    try (var driver = GraphDatabase.driver("neo4j://" + address, AuthTokens.basic("neo4j", "any")); var session = driver.session()) {
      load(driver, 5_000, 1_000);
      System.out.println("near 42: " + near(driver, 42));
      System.out.println("total: " + total(driver, 1_000_000));
      System.out.println("left: " + session.executeWrite(give(42, 43, 7)));
      try {
        session.executeWrite(give(42, 43, 7));
      } catch (IllegalStateException refused) {
        System.out.println("refused: " + refused.getMessage());
      }
    }
  }
}
