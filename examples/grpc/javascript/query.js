// Runs a statement over gRPC and prints each row as JSON: node query.js PROTO-DIR ADDRESS STATEMENT.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

// Integers come as strings, since a number of JavaScript holds 53 bits of the 64.
const integer = (s) => (Number.isSafeInteger(Number(s)) ? Number(s) : BigInt(s));

const entries = (pairs) => Object.fromEntries(pairs.map((e) => [e.key, value(e.value)]));

const vertex = (v) => ({ elementId: v.element_id, labels: v.labels, properties: entries(v.properties) });

const edge = (e) => ({
  elementId: e.element_id, startNodeElementId: e.start_element_id, endNodeElementId: e.end_element_id,
  type: e.type, properties: entries(e.properties),
});

const path = (p) => p.vertices.flatMap((v, i) => (i === 0 ? [vertex(v)] : [edge(p.edges[i - 1]), vertex(v)]));

function value(v) {
  switch (v.kind) {
    case undefined: return null;
    case "boolean": case "float": case "string": return v[v.kind];
    case "integer": return integer(v.integer);
    case "list": return v.list.values.map(value);
    case "map": return entries(v.map.entries);
    case "temporal": return v.temporal.text;
    case "vertex": return vertex(v.vertex);
    case "edge": return edge(v.edge);
    case "path": return path(v.path);
    case "point": return point(v.point);
    case "bytes": return Buffer.from(v.bytes).toString("base64");
    case "vector": return vector(v.vector);
  }
  throw new Error(`a value of kind ${v.kind}`);
}

// readers are the bytes of a coordinate and what reads it, by coordinate type.
const readers = [
  undefined, [1, (b, i) => b.readInt8(i)], [2, (b, i) => b.readInt16LE(i)], [4, (b, i) => b.readInt32LE(i)],
  [8, (b, i) => integer(b.readBigInt64LE(i))], [4, (b, i) => b.readFloatLE(i)], [8, (b, i) => b.readDoubleLE(i)],
];

function vector({ type, coordinates }) {
  const [size, read] = readers[type], bytes = Buffer.from(coordinates);
  return Array.from({ length: bytes.length / size }, (_, i) => read(bytes, i * size));
}

function point({ srid, x, y, z }) {
  const solid = srid === 4979 || srid === 9157, numbers = solid ? [x, y, z] : [x, y];
  return `SRID=${srid};POINT ${solid ? "Z " : ""}(${numbers.map((n) => (Number.isInteger(n) ? n.toFixed(1) : n)).join(" ")})`;
}

function column(c) {
  switch (c.data) {
    case "integers": return c.integers.values.map(integer);
    case "floats": return c.floats.values;
    case "texts": {
      const { text, ends } = c.texts;
      return ends.map((end, i) => text.subarray(i === 0 ? 0 : ends[i - 1], end).toString("utf8"));
    }
    case "values": return c.values.values.map(value);
  }
  throw new Error(`a column of kind ${c.data}`);
}

function rows(batch) {
  const columns = batch.columns.map(column);
  return Array.from({ length: batch.rows }, (_, i) => columns.map((c) => c[i]));
}

const [, , protos, address, statement] = process.argv;
const api = grpc.loadPackageDefinition(loader.loadSync("hopgate/v1/graph.proto", {
  includeDirs: [protos], keepCase: true, longs: String, defaults: true, oneofs: true,
}));
const client = new api.hopgate.v1.GraphService(address, grpc.credentials.createInsecure());
const call = client.Query({ statement });
call.on("data", (part) => {
  if (part.part !== "rows") return;
  for (const row of rows(part.rows)) {
    console.log(JSON.stringify(row, (_, v) => (typeof v === "bigint" ? String(v) : v)));
  }
});
call.on("error", (e) => { console.error(e.message); process.exitCode = 1; });
call.on("end", () => client.close());
