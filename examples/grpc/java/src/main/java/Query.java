import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.protobuf.ByteString;
import hopgate.v1.GraphServiceGrpc;
import hopgate.v1.Graph.QueryRequest;
import hopgate.v1.Graph.QueryResponse;
import hopgate.v1.ValueOuterClass.Column;
import hopgate.v1.ValueOuterClass.Edge;
import hopgate.v1.ValueOuterClass.MapEntry;
import hopgate.v1.ValueOuterClass.Path;
import hopgate.v1.ValueOuterClass.Point;
import hopgate.v1.ValueOuterClass.RowBatch;
import hopgate.v1.ValueOuterClass.Value;
import hopgate.v1.ValueOuterClass.Vector;
import hopgate.v1.ValueOuterClass.Vertex;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs a statement over gRPC and prints each row as JSON: Query ADDRESS STATEMENT. */
public final class Query {
  static Map<String, Object> entries(List<MapEntry> pairs) {
    Map<String, Object> out = new LinkedHashMap<>();
    for (MapEntry e : pairs) out.put(e.getKey(), value(e.getValue()));
    return out;
  }

  static Object vertex(Vertex v) {
    return Map.of("elementId", v.getElementId(), "labels", v.getLabelsList(), "properties", entries(v.getPropertiesList()));
  }

  static Object edge(Edge e) {
    return Map.of("elementId", e.getElementId(), "startNodeElementId", e.getStartElementId(), "endNodeElementId", e.getEndElementId(),
        "type", e.getType(), "properties", entries(e.getPropertiesList()));
  }

  static List<Object> path(Path p) {
    List<Object> steps = new ArrayList<>();
    for (int i = 0; i < p.getVerticesCount(); i++) {
      if (i > 0) steps.add(edge(p.getEdges(i - 1)));
      steps.add(vertex(p.getVertices(i)));
    }
    return steps;
  }

  static List<Object> values(List<Value> vs) {
    List<Object> out = new ArrayList<>();
    for (Value v : vs) out.add(value(v));
    return out;
  }

  static Object value(Value v) {
    return switch (v.getKindCase()) {
      case KIND_NOT_SET -> null;
      case BOOLEAN -> v.getBoolean();
      case INTEGER -> v.getInteger();
      case FLOAT -> v.getFloat();
      case STRING -> v.getString();
      case LIST -> values(v.getList().getValuesList());
      case MAP -> entries(v.getMap().getEntriesList());
      case TEMPORAL -> v.getTemporal().getText();
      case VERTEX -> vertex(v.getVertex());
      case EDGE -> edge(v.getEdge());
      case PATH -> path(v.getPath());
      case POINT -> point(v.getPoint());
      case BYTES -> Base64.getEncoder().encodeToString(v.getBytes().toByteArray());
      case VECTOR -> vector(v.getVector());
    };
  }

  static List<Number> vector(Vector v) {
    ByteBuffer b = v.getCoordinates().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    List<Number> out = new ArrayList<>();
    while (b.hasRemaining()) {
      Number n = switch (v.getType()) {
        case COORDINATE_TYPE_INTEGER8 -> b.get();
        case COORDINATE_TYPE_INTEGER16 -> b.getShort();
        case COORDINATE_TYPE_INTEGER32 -> b.getInt();
        case COORDINATE_TYPE_INTEGER64 -> b.getLong();
        case COORDINATE_TYPE_FLOAT32 -> b.getFloat();
        case COORDINATE_TYPE_FLOAT64 -> b.getDouble();
        default -> throw new IllegalArgumentException("a vector of a type that is not known");
      };
      out.add(n);
    }
    return out;
  }

  static String point(Point p) {
    boolean solid = p.getSrid() == 4979 || p.getSrid() == 9157;
    return "SRID=" + p.getSrid() + ";POINT " + (solid ? "Z " : "") + "(" + p.getX() + " " + p.getY() + (solid ? " " + p.getZ() : "") + ")";
  }

  static List<?> column(Column c) {
    return switch (c.getDataCase()) {
      case INTEGERS -> c.getIntegers().getValuesList();
      case FLOATS -> c.getFloats().getValuesList();
      case VALUES -> values(c.getValues().getValuesList());
      case TEXTS -> {
        List<String> out = new ArrayList<>();
        ByteString text = c.getTexts().getText();
        int start = 0;
        for (int end : c.getTexts().getEndsList()) {
          out.add(text.substring(start, end).toStringUtf8());
          start = end;
        }
        yield out;
      }
      case DATA_NOT_SET -> throw new IllegalArgumentException("a column of a kind that is not known");
    };
  }

  static List<List<Object>> rows(RowBatch batch) {
    List<List<Object>> out = new ArrayList<>();
    for (int i = 0; i < batch.getRows(); i++) out.add(new ArrayList<>());
    for (Column c : batch.getColumnsList()) {
      Iterator<?> cells = column(c).iterator();
      for (List<Object> row : out) row.add(cells.next());
    }
    return out;
  }

  public static void main(String[] args) {
    Gson json = new GsonBuilder().serializeNulls().create();
    ManagedChannel channel = Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    try {
      Iterator<QueryResponse> parts = GraphServiceGrpc.newBlockingStub(channel)
          .query(QueryRequest.newBuilder().setStatement(args[1]).build());
      while (parts.hasNext()) {
        for (List<Object> row : rows(parts.next().getRows())) System.out.println(json.toJson(row));
      }
    } finally {
      channel.shutdownNow();
    }
  }
}
