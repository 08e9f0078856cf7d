import contextlib
import datetime
import gzip
import json
import socket
import threading

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import hopgate
from hopgate import Edges, Vertices

PEOPLE = pa.table({"id": [1, 2, 3], "name": ["Ann", "Bob", None]})
KNOWS = pa.table({"a": [1, 2, 9], "b": [2, 3, 1], "since": [2000, None, 2002]})


def people(db):
    return db.load(PEOPLE, vertices=Vertices("Person", "id"))


def test_edges_and_rejects(db):
    people(db)
    edges = Edges("KNOWS", ("a", "Person", "id"), ("b", "Person", "id"))
    with pytest.raises(hopgate.RejectedError) as e:
        db.load(KNOWS, edges=edges)
    result = e.value.result
    assert (result.rows, result.edges, result.rejected) == (3, 2, 1)
    assert result.rejects.to_pylist() == [{"a": 9, "b": 1, "since": 2002, "row": 2, "code": "DanglingEdge", "message": result.rejects["message"][0].as_py()}]
    assert db.load(KNOWS, edges=edges, max_rejects=None).rejected == 1
    assert db.query("MATCH (a)-[r:KNOWS]->(b) RETURN a.id, b.id, r.since ORDER BY a.id").lists()[:1] == [[1, 2, 2000]]
    created = Edges("MADE", ("a", "Person", "id"), ("b", "Person", "id"), on_dangling="create", properties=[])
    assert db.load(KNOWS, edges=created).edges == 3
    assert db.query("MATCH (p:Person {id: 9})-[r:MADE]->() RETURN r").value().properties == {}
    assert db.load(KNOWS, edges=Edges("SKIPPED", ("a", "Person", "id"), ("b", "Person", "id"), on_dangling="skip")).rejected == 0


def test_mapping(db):
    result = db.load(
        PEOPLE, vertices=Vertices(["Person", "Member"], "id", property="number", properties={"called": "name"}))
    assert result.vertices == 3
    assert result.vertex_counts == {"created": 3, "overwritten": 0, "unchanged": 0, "deleted": 0, "repeated": 0}
    rows = db.query("MATCH (p:Person:Member) RETURN properties(p) AS p ORDER BY p.number").rows()
    assert [r["p"] for r in rows] == [{"called": "Ann", "number": 1}, {"called": "Bob", "number": 2}, {"number": 3}]
    visits = pa.table({"id": [1, 1, 2], "visits": [1, 2, 5]})
    for _ in range(2):
        db.load(visits, vertices=Vertices("Person", "id", property="number", properties=["visits"], strategies={"visits": "sum"}))
    assert [r["v"] for r in db.query("MATCH (p:Person) RETURN p.visits AS v ORDER BY p.number")] == [6, 10, None]
    with pytest.raises(hopgate.RejectedError):
        db.load(PEOPLE, vertices=Vertices("Person", "id", property="number", action="insert"))
    assert db.load(PEOPLE, vertices=Vertices("Person", "id", property="number", action="delete")).vertices == 3
    assert db.query("MATCH (p) RETURN count(*)").value() == 0


def test_repeated_keys(db):
    rows = pa.table({"id": [1, 2, 1, 1], "n": [1, 2, 3, 3]})
    for how, n, repeated in ((None, 3, 2), ("overwrite", 3, 2), ("keep-first", 1, 2)):
        result = db.load(rows, vertices=Vertices("Person", "id"), on_duplicate=how)
        assert (result.vertices, result.vertex_counts["repeated"], result.rejected) == (4, repeated, 0)
        assert db.query("MATCH (p:Person {id: 1}) RETURN p.n").value() == n
    result = db.load(rows, vertices=Vertices("Person", "id"), on_duplicate="error", max_rejects=None)
    assert [(r["row"], r["code"]) for r in result.rejects.to_pylist()] == [(2, "RepeatedKey"), (3, "RepeatedKey")]
    assert (result.vertices, result.vertex_counts["repeated"]) == (2, 0)
    with pytest.raises(hopgate.RequestError, match="keep-first"):
        db.load(rows, vertices=Vertices("Person", "id"), on_duplicate="first")
    with pytest.raises(ValueError, match="vertices"):
        db.load(KNOWS, edges=Edges("KNOWS", ("a", "Person", "id"), ("b", "Person", "id")), on_duplicate="error")


def test_wrong_mappings(db):
    for vertices in (Vertices("P", "nothing"), Vertices("P", "id", properties=["nothing"]), Vertices("", "id"), Vertices("P", "id", action="add")):
        with pytest.raises(hopgate.RequestError):
            db.load(PEOPLE, vertices=vertices)
    with pytest.raises(ValueError, match="strategies"):
        db.load(PEOPLE, vertices=Vertices("P", "id", strategies={"x": "SUM"}))
    with pytest.raises(ValueError, match="one of them"):
        db.load(PEOPLE)
    with pytest.raises(TypeError):
        db.load(7, vertices=Vertices("P", "id"))
    with pytest.raises(hopgate.NotFoundError):
        db.using(graph="nothing").load(PEOPLE, vertices=Vertices("P", "id"))


def test_types(db):
    zone = datetime.timezone.utc
    row = {
        "id": "k", "i": 7, "f": 1.5, "b": True, "s": "ä", "data": b"\x00", "day": datetime.date(2026, 1, 2), "at": datetime.datetime(2026, 1, 2, 3, 4, 5),
        "when": datetime.datetime(2026, 1, 2, tzinfo=zone), "list": ["x", "y"], "numbers": [1, 2, 3],
    }
    db.load([row], vertices=Vertices("T", "id"))
    assert dict(db.query("MATCH (t:T) RETURN t").value()) == row
    spans = pa.table({"id": [1], "span": pa.array([-1_500_000_000], pa.duration("ns"))})
    db.load(spans, vertices=Vertices("D", "id"))
    assert db.query("MATCH (d:D) RETURN toString(d.span)").value() == "PT-1.5S"
    narrow = pa.table({"id": pa.array([1], pa.int8()), "u": pa.array([2], pa.uint16()), "h": pa.array([0.5], pa.float32()),
                       "t": pa.array([3], pa.time32("s")), "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2))})
    db.load(narrow, vertices=Vertices("N", "id"))
    assert dict(db.query("MATCH (n:N) RETURN n").value()) == {"id": 1, "u": 2, "h": 0.5, "t": datetime.time(0, 0, 3), "v": [1.0, 2.0]}


def test_files(db, tmp_path):
    rows = pa.table({"id": [1, 2], "name": ["a,b", "c\nd"]})
    paths = {n: tmp_path / f"x.{n}" for n in ("csv", "csv.gz", "parquet", "arrow", "jsonl")}
    pyarrow.csv.write_csv(rows, paths["csv"])
    paths["csv.gz"].write_bytes(gzip.compress(paths["csv"].read_bytes()))
    pyarrow.parquet.write_table(rows, paths["parquet"])
    pyarrow.feather.write_feather(rows, paths["arrow"])
    paths["jsonl"].write_text("".join(json.dumps(r) + "\n" for r in rows.to_pylist()))
    for kind, path in paths.items():
        label = kind.replace(".", "")
        assert db.load(path, vertices=Vertices(label, "id")).vertices == 2, kind
        assert db.query(f"MATCH (n:{label}) RETURN n.id, n.name ORDER BY n.id").lists() == [[1, "a,b"], [2, "c\nd"]], kind
    assert db.load([paths["csv"], str(paths["csv.gz"])], vertices=Vertices("both", "id")).rows == 4
    with pytest.raises(ValueError, match="not a file"):
        db.load(tmp_path / "x.xlsx", vertices=Vertices("P", "id"))
    with pytest.raises(ValueError, match="other columns"):
        pyarrow.csv.write_csv(KNOWS, tmp_path / "y.csv")
        db.load([paths["csv"], tmp_path / "y.csv"], vertices=Vertices("P", "id"))


def test_a_named_load_counts_once(db):
    mapping = Vertices("P", "id", strategies={"n": "SUM"})
    data = pa.table({"id": [i % 1000 for i in range(300_000)], "n": [1] * 300_000})
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.load(data, vertices=mapping, id="visits", progress=stop)
    assert seen[0][1] == 300_000
    first = db.query("MATCH (p:P) RETURN sum(p.n)").value()
    assert 0 < first
    again = db.load(data, vertices=mapping, id="visits")
    assert again.rows == 300_000 and again.skipped > 0
    assert db.query("MATCH (p:P) RETURN sum(p.n)").value() == 300_000
    assert db.load(data, vertices=mapping, id="visits").vertices == 0
    assert db.query("MATCH (p:P) RETURN sum(p.n)").value() == 300_000
    db.load(data, vertices=mapping, id="visits", restart=True)
    db.load(data, vertices=mapping)
    assert db.query("MATCH (p:P) RETURN sum(p.n)").value() == 900_000


def test_a_load_may_stay_out_of_the_log(db):
    token = db.query("CALL db.cdc.current() YIELD id RETURN id").value()
    data = pa.table({"id": [1, 2, 3]})
    db.load(data, vertices=Vertices("P", "id"), log=False)
    db.load(data, vertices=Vertices("Q", "id"))
    rows = db.query("CALL db.cdc.query($token) YIELD event RETURN event.operation, event.nodes.created", {"token": token}).lists()
    assert rows == [["g", 3]] + [["c", None]] * 3


def test_rejects_of_an_interrupted_load_are_not_lost(db):
    people(db)
    edges = Edges("KNOWS", ("a", "Person", "id"), ("b", "Person", "id"))
    with pytest.raises(hopgate.RejectedError):
        db.load(KNOWS, edges=edges, id="edges")
    with pytest.raises(hopgate.RejectedError) as e:  # nobody has confirmed that row
        db.load(KNOWS, edges=edges, id="edges")
    assert e.value.result.skipped == 3 and e.value.result.rejects["a"].to_pylist() == [9]


class Relay(threading.Thread):
    """Passes bytes on to a server, and breaks its connections off after so many bytes, so many times."""

    def __init__(self, to, after, times):
        super().__init__(daemon=True)
        self.to, self.after, self.times, self.broken = to, after, times, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.start()

    @property
    def location(self):
        return f"grpc://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.to)
            for a, b, counted in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.passing, args=(a, b, counted), daemon=True).start()

    def passing(self, a, b, counted):
        passed = 0
        with contextlib.suppress(OSError):
            while data := a.recv(1 << 16):
                b.sendall(data)
                passed += len(data)
                if counted and passed > self.after and self.broken < self.times:
                    self.broken += 1
                    break
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


def test_a_lost_connection_makes_no_difference(db):
    host, port = db.location.removeprefix("grpc://").split(":")
    relay = Relay((host, int(port)), 3 << 20, 3)
    data = pa.table({"id": [i % 500 for i in range(1_200_000)], "n": [1] * 1_200_000})
    with hopgate.connect(relay.location, db.token, graph=db.graph) as far:
        result = far.load(data, vertices=Vertices("P", "id", strategies={"n": "SUM"}))
    assert relay.broken == 3 and result.rows == 1_200_000
    assert db.query("MATCH (p:P) RETURN count(*), sum(p.n)").lists() == [[500, 1_200_000]]
