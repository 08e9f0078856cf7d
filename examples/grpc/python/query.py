"""Runs a statement over gRPC and prints each row as JSON: query.py ADDRESS STATEMENT, with api/proto in PYTHONPATH."""
import base64
import json
import struct
import sys

import grpc

protos, services = grpc.protos_and_services("hopgate/v1/graph.proto")


def entries(pairs):
    return {e.key: value(e.value) for e in pairs}


def vertex(v):
    return {"elementId": v.element_id, "labels": list(v.labels), "properties": entries(v.properties)}


def edge(e):
    return {"elementId": e.element_id, "startNodeElementId": e.start_element_id, "endNodeElementId": e.end_element_id,
            "type": e.type, "properties": entries(e.properties)}


def path(p):
    steps = [vertex(p.vertices[0])]
    for e, v in zip(p.edges, p.vertices[1:]):
        steps += [edge(e), vertex(v)]
    return steps


def value(v):
    match kind := v.WhichOneof("kind"):
        case None:
            return None
        case "boolean" | "integer" | "float" | "string":
            return getattr(v, kind)
        case "list":
            return [value(x) for x in v.list.values]
        case "map":
            return entries(v.map.entries)
        case "temporal":
            return v.temporal.text
        case "vertex":
            return vertex(v.vertex)
        case "edge":
            return edge(v.edge)
        case "path":
            return path(v.path)
        case "point":
            return point(v.point)
        case "bytes":
            return base64.b64encode(v.bytes).decode()
        case "vector":
            return [x for x, in struct.iter_unpack("<" + " bhiqfd"[v.vector.type], v.vector.coordinates)]
    raise ValueError(f"a value of kind {kind}")


def point(p):
    numbers = [p.x, p.y, p.z][: 3 if p.srid in (4979, 9157) else 2]
    return f"SRID={p.srid};POINT {'Z ' * (len(numbers) == 3)}({' '.join(map(repr, numbers))})"


def column(c):
    match kind := c.WhichOneof("data"):
        case "integers" | "floats":
            return list(getattr(c, kind).values)
        case "texts":
            text, ends = c.texts.text, c.texts.ends
            return [text[start:end].decode() for start, end in zip([0, *ends], ends)]
        case "values":
            return [value(v) for v in c.values.values]
    raise ValueError(f"a column of kind {kind}")


def rows(batch):
    columns = [column(c) for c in batch.columns]
    return [[c[i] for c in columns] for i in range(batch.rows)]


def main(address, statement):
    with grpc.insecure_channel(address) as channel:
        for part in services.GraphServiceStub(channel).Query(protos.QueryRequest(statement=statement)):
            if part.WhichOneof("part") == "rows":
                for row in rows(part.rows):
                    print(json.dumps(row))


if __name__ == "__main__":
    main(*sys.argv[1:])
