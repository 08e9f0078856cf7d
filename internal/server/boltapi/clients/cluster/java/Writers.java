import java.util.*;
import java.util.concurrent.TimeUnit;
import org.neo4j.driver.*;
import org.neo4j.driver.exceptions.Neo4jException;
import org.neo4j.driver.exceptions.ServiceUnavailableException;
import org.neo4j.driver.net.ServerAddress;

/** Does what writers.py does: Writers ADDRESS,… PREFIX. */
public class Writers {
  static volatile boolean stopped;

  static void write(Driver driver, String worker, String key) {
    int[] tries = {0};
    String outcome = "written";
    try (Session session = driver.session()) {
      session.executeWriteWithoutResult(tx -> {
        tries[0]++;
        tx.run("CREATE (:Written {key: $key, worker: $worker})", Map.of("key", key, "worker", worker)).consume();
        tx.run("MERGE (w:Worker {name: $worker}) SET w.n = coalesce(w.n, 0) + 1", Map.of("worker", worker)).consume();
      });
    } catch (Neo4jException e) {
      if (e.code().equals("Neo.ClientError.Schema.ConstraintValidationFailed")) {
        outcome = "found"; // an earlier try, whose answer was lost
      } else if (e instanceof ServiceUnavailableException && e.getMessage().contains("commit")) {
        outcome = "unknown"; // the driver leaves it to the program to look
      } else {
        outcome = (e.code() + ":" + e.getMessage()).replaceAll("\\s", "_");
      }
    }
    synchronized (Writers.class) {
      System.out.println(key + " " + outcome + " " + tries[0]);
    }
  }

  public static void main(String[] args) throws Exception {
    var addresses = new LinkedHashSet<ServerAddress>();
    for (String address : args[0].split(",")) {
      String[] parts = address.split(":");
      addresses.add(ServerAddress.of(parts[0], Integer.parseInt(parts[1])));
    }
    var config = Config.builder().withResolver(any -> addresses).withMaxTransactionRetryTime(2, TimeUnit.MINUTES).build();
    try (Driver driver = GraphDatabase.driver("neo4j://gateways", AuthTokens.none(), config)) {
      var threads = new ArrayList<Thread>();
      for (int i = 0; i < 4; i++) {
        String worker = args[1] + "-" + i;
        threads.add(new Thread(() -> {
          for (int n = 0; !stopped; n++) write(driver, worker, worker + "-" + n);
        }));
      }
      threads.forEach(Thread::start);
      System.in.readAllBytes();
      stopped = true;
      for (Thread t : threads) t.join();
    }
  }
}
