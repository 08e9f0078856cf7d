import pyarrow as pa
import pytest

import hopgate

MIXED = """UNWIND [[1, 'a', 1.5, true, date('2026-01-02')], [null, null, null, null, null], [9007199254740993, 'b', 2.5, false, date('2026-01-03')]] AS r
RETURN r[0] AS i, r[1] AS s, r[2] AS f, r[3] AS b, r[4] AS d, point({x: 1, y: 2}) AS p"""


def network(db):
    db.query("CREATE (a:P {id: 1, name: 'Ann'})-[:KNOWS {since: 2000}]->(b:P {id: 2}), (b)-[:KNOWS]->(a), (a)-[:KNOWS]->(b)")
    return db.query("MATCH p = ()-[:KNOWS]->() RETURN p")


def test_pandas(server, db):
    pandas = pytest.importorskip("pandas")
    frame = server.query(MIXED).df()
    assert frame["i"].dtype == "Int64" and frame["i"][2] == 9007199254740993 and frame["i"][1] is pandas.NA
    assert list(frame["s"].fillna("-")) == ["a", "-", "b"] and frame["b"].dtype == "boolean"
    assert frame["p"][0] == hopgate.Point(7203, 1.0, 2.0)
    assert server.query("UNWIND [] AS x RETURN x, 1 AS y").df().shape == (0, 2)
    assert list(server.query("RETURN 1 AS a, 2 AS b").df().columns) == ["a", "b"]
    db.query("CREATE (:N {id: 1})")
    node = db.query("MATCH (n:N) RETURN n").df()["n"][0]
    assert isinstance(node, hopgate.Node) and node["id"] == 1


def test_polars(server, db):
    polars = pytest.importorskip("polars")
    frame = server.query(MIXED).pl()
    assert frame["i"].to_list() == [1, None, 9007199254740993] and frame["d"].dtype == polars.Date
    db.query("CREATE (:N {id: 1, name: 'Ann'}), (:N:M {id: 2})")
    nodes = db.query("MATCH (n:N) RETURN n ORDER BY n.id").pl()
    assert nodes["n"].struct.field("properties").struct.field("id").to_list() == [1, 2]
    assert [sorted(x) for x in nodes["n"].struct.field("labels").to_list()] == [["N"], ["M", "N"]]
    assert db.query("UNWIND [1, 'x', {a: 1}] AS v RETURN v").pl().height == 3
    assert db.query("MATCH p = (:N) RETURN p, [p] AS ps").pl().height == 2


def test_networkx(db):
    networkx = pytest.importorskip("networkx")
    result = network(db)
    g = result.networkx(key="id")
    assert sorted(g.nodes) == [1, 2] and g.number_of_edges() == 3 and g.nodes[1]["name"] == "Ann" and g.nodes[1]["labels"] == ("P",)
    assert sorted(d.get("since", 0) for _, _, d in g.edges(data=True)) == [0, 0, 2000]
    assert networkx.is_strongly_connected(g)
    assert set(result.networkx().nodes) == set(result.elements()[0])


def test_igraph(db):
    pytest.importorskip("igraph")
    g = network(db).igraph(key="id")
    assert g.vs.find(name=1)["name_"] == "Ann"
    assert g.vcount() == 2 and g.ecount() == 3 and sorted(g.vs["name"]) == [1, 2] and g.is_directed()
    assert sorted(x or 0 for x in g.es["since"]) == [0, 0, 2000] and set(g.es["type"]) == {"KNOWS"}


def frames():
    data = {"id": list(range(1000)), "name": [None if i % 10 == 0 else f"n{i}" for i in range(1000)], "score": [i / 2 for i in range(1000)]}
    yield "arrow", pa.table(data)
    yield "reader", pa.table(data).to_reader()
    yield "dicts", [dict(zip(data, row)) for row in zip(*data.values())]
    try:
        import pandas

        yield "pandas", pandas.DataFrame(data)
        yield "categories", pandas.DataFrame({**data, "name": pandas.Categorical(data["name"])})
    except ImportError:
        pass
    try:
        import polars

        yield "polars", polars.DataFrame(data)
        yield "lazy", polars.DataFrame(data).lazy()
    except ImportError:
        pass


@pytest.mark.parametrize("data", [pytest.param(d, id=name) for name, d in frames()])
def test_load(db, data):
    result = db.load(data, vertices=hopgate.Vertices("P", "id"))
    assert (result.rows, result.vertices, result.edges, result.rejected) == (1000, 1000, 0, 0) and result.rejects.num_rows == 0
    assert db.query("MATCH (p:P) RETURN count(*), count(p.name), sum(p.id), sum(p.score)").lists() == [[1000, 900, 499500, 249750.0]]


def test_parameters_of_other_libraries(server):
    numpy, pandas, polars = (pytest.importorskip(n) for n in ("numpy", "pandas", "polars"))
    moment, when = numpy.datetime64("2026-01-02T03:04:05.123456789"), pandas.Timestamp("2026-01-02T03:04:05.123456789", tz="Europe/Berlin")
    for value, text in (
        (numpy.int32(7), "7"), (numpy.float32(0.5), "0.5"), (numpy.bool_(True), "true"), (numpy.array([1, 2]), "[1, 2]"),
        (moment, "2026-01-02T03:04:05.123456789"), (numpy.array([moment]), "[2026-01-02T03:04:05.123456789]"),
        (numpy.timedelta64(1500000001, "ns"), "PT1.500000001S"), (numpy.datetime64("2026-01-02"), "2026-01-02"),
        (numpy.datetime64("9999-01-02T03:04:05", "s"), "9999-01-02T03:04:05"), (when, "2026-01-02T03:04:05.123456789+01:00[Europe/Berlin]"),
        (pandas.Timedelta("1 days 00:00:00.000000001"), "P1DT0.000000001S"), (pandas.NaT, None), (pandas.NA, None), (numpy.datetime64("NaT"), None),
        (pandas.Series([1, 2]), "[1, 2]"), (polars.Series([1, None]), "[1, NULL]"), (pa.array([1, 2]), "[1, 2]"), (pa.scalar(7), "7"),
        (pandas.DataFrame({"a": [1]}), "[{a: 1}]"), (polars.DataFrame({"a": [1]}), "[{a: 1}]"), (float("inf"), "Infinity"),
    ):
        call = "toString($v)" if text is None or not text.startswith("[") else "reduce(s = '', x IN $v | s + CASE WHEN s = '' THEN '' ELSE ', ' END + coalesce(toString(x), 'NULL'))"
        if text and "{" in text:
            call, text = "toString($v[0].a)", "1"
        got = server.query(f"RETURN {call} AS v", v=value).value()
        assert got == (text.strip("[]") if text and text.startswith("[") else text), value
