import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Runs a statement over HTTP and prints the rows, one JSON object a line: java Query.java [ADDRESS]. */
public final class Query {
  public static void main(String[] args) throws Exception {
    String address = args.length > 0 ? args[0] : "localhost:8080";
    String body = """
        {"statement": "MATCH (:Person {id: $id})-[:KNOWS]->(f) RETURN f.id AS id, f.firstName AS name ORDER BY id LIMIT 3",
         "parameters": {"id": 42}}""";
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address + "/v1/query"))
        .header("Content-Type", "application/json")
        .header("Accept", "application/x-ndjson")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
    HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) throw new IllegalStateException(response.body());
    response.body().lines().forEach(System.out::println);
  }
}
