"""Values of every type, as parameters, as results, and as properties."""
import datetime
import math

import neo4j
import pytest
import pytz
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

BERLIN = datetime.timezone(datetime.timedelta(hours=2))

SCALARS = {
    "true": True,
    "false": False,
    "zero": 0,
    **{f"2^{n}": 2**n for n in (4, 7, 8, 15, 16, 31, 32, 53, 62)},
    **{f"-2^{n}": -(2**n) for n in (4, 7, 15, 31, 53, 63)},
    "largest": 2**63 - 1,
    "float": 0.1,
    "negative zero": -0.0,
    "smallest": 5e-324,
    "infinity": math.inf,
    "empty": "",
    "ascii": "a\"b'c\\d\n\0",
    "unicode": "ä€😀\u0301",
    **{f"string of {n}": "x" * n for n in (15, 16, 255, 256, 65535, 65536, 200_000)},
    "no bytes": b"",
    "bytes": bytes(range(256)),
    "many bytes": b"\xff" * 70_000,
    "date": Date(2020, 2, 29),
    "early date": Date(1, 1, 1),
    "time": Time(23, 59, 59, 999_999_999),
    "time with offset": Time(1, 2, 3, 4, pytz.FixedOffset(120)),
    "date-time": DateTime(2020, 2, 29, 1, 2, 3, 999_999_999),
    "date-time before 1970": DateTime(1900, 1, 1, 0, 0, 0, 1),
    "date-time with offset": DateTime(2020, 2, 29, 1, 2, 3, 4, BERLIN),
    "duration": Duration(months=14, days=-3, seconds=5, nanoseconds=7),
    "negative duration": Duration(seconds=-1, nanoseconds=-500_000_000),
    "point": CartesianPoint((1.5, -2.0)),
    "point in space": CartesianPoint((1.5, -2.0, 3.0)),
    "place": WGS84Point((13.4, 52.5)),
    "place with height": WGS84Point((13.4, 52.5, 34.0)),
}
COMPOSITES = {
    "null": None,
    "empty list": [],
    "mixed list": [1, 2.5, "x", None, True, [], {"a": [1]}],
    "long list": list(range(70_000)),
    "empty map": {},
    "map": {"": 0, "a b": {"c": [1, {"d": None}]}},
    "wide map": {f"k{i}": i for i in range(300)},
    "deep": [[[[[[[[[[1]]]]]]]]]],
    "list of dates": [Date(2020, 1, 1), Date(2021, 1, 1)],
}


def params(values):
    return pytest.mark.parametrize("value", [pytest.param(v, id=k) for k, v in values.items()])


@params(SCALARS | COMPOSITES)
def test_returned(session, value):
    got = session.run("RETURN $v AS v", v=value).single(strict=True)["v"]
    assert got == value and type(got) in (type(value), bytes)
    if isinstance(value, float):
        assert math.copysign(1, got) == math.copysign(1, value)


@params(SCALARS)
def test_stored(session, label, value):
    node = session.run(f"CREATE (n:{label} {{v: $v}}) RETURN n", v=value).single(strict=True)["n"]
    again = session.run(f"MATCH (n:{label}) WHERE n.v = $v RETURN n.v AS v", v=value).single(strict=True)["v"]
    assert node["v"] == value and again == value


@params({"integers": [1, 2, 3], "floats": [0.5, 1.5], "strings": ["a", "ä"], "booleans": [True, False], "none": [],
         "durations": [Duration(days=1)], "places": [WGS84Point((1.0, 2.0))]})
def test_stored_list(session, label, value):
    assert session.run(f"CREATE (n:{label} {{v: $v}}) RETURN n.v AS v", v=value).single(strict=True)["v"] == value


def test_nan(session):
    assert math.isnan(session.run("RETURN $v AS v", v=math.nan).single(strict=True)["v"])


def test_zone(session):
    for year, month in ((2020, 1), (2020, 7), (1960, 7)):
        at = pytz.timezone("Europe/Berlin").localize(datetime.datetime(year, month, 3, 4, 5, 6))
        got = session.run("RETURN $v AS v", v=at).single(strict=True)["v"]
        assert got.to_native() == at and got.tzinfo.zone == "Europe/Berlin"
        assert session.run("RETURN $v = datetime($s) AS same", v=at, s=at.replace(tzinfo=None).isoformat() + "[Europe/Berlin]").single(strict=True)[0]


def test_native_time(session):
    now = datetime.datetime(2024, 5, 6, 7, 8, 9, 10, datetime.timezone.utc)
    for value in (now, now.replace(tzinfo=None), now.date(), now.time()):
        assert session.run("RETURN $v AS v", v=value).single(strict=True)["v"].to_native() == value
    assert session.run("RETURN $v AS v", v=datetime.timedelta(days=1, seconds=2)).single(strict=True)["v"] == Duration(days=1, seconds=2)


def test_graph(session, label):
    record = session.run(
        f"CREATE p = (a:{label}:B {{n: 1}})-[r:KNOWS {{since: 2}}]->(b:{label} {{n: 2}})<-[s:LIKES]-(a) RETURN a, b, r, s, p").single(strict=True)
    a, b, r, s, p = record
    assert a.labels == {label, "B"} and dict(a) == {"n": 1}
    assert r.type == "KNOWS" and dict(r) == {"since": 2} and (r.start_node, r.end_node) == (a, b)
    assert p.nodes == (a, b, a) and p.relationships == (r, s) and p.start_node == p.end_node == a
    found = session.run("MATCH (n) WHERE elementId(n) = $id RETURN n, id(n) AS id", id=a.element_id).single(strict=True)
    assert found["n"].element_id == a.element_id and found["n"].labels == a.labels
    assert session.run("MATCH (n) WHERE id(n) IN [$id] RETURN elementId(n)", id=found["id"]).single(strict=True)[0] == a.element_id
    found = session.run("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r", id=r.element_id).single(strict=True)["r"]
    assert found.element_id == r.element_id and [n.element_id for n in found.nodes] == [a.element_id, b.element_id]
    b, p, nodes, map = session.run(
        f"MATCH p = (b:{label} {{n: 2}})<-[r:KNOWS]-(a) RETURN b, p, [b, a] AS nodes, {{r: r, p: p}} AS map").single(strict=True)
    assert p.nodes[0] == b and list(p.nodes) == nodes and p == map["p"] and p.relationships == (map["r"],) and map["r"].end_node == b
    assert len(session.run(f"MATCH p = (n:{label} {{n: 1}}) RETURN p").single(strict=True)["p"]) == 0


def test_graph_object(session, label):
    graph = session.run(f"CREATE (a:{label})-[r:R]->(b:{label}) RETURN a, r, b").graph()
    assert len(graph.nodes) == 2 and len(graph.relationships) == 1


def test_too_large(session):
    with pytest.raises(OverflowError):
        session.run("RETURN $v", v=2**63)
    assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_unknown_type(session):
    with pytest.raises((TypeError, ValueError)):
        session.run("RETURN $v", v=object())
    assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_not_a_property(session, label):
    for value in ({"a": 1}, [{"a": 1}]):
        with pytest.raises(neo4j.exceptions.ClientError) as failure:
            session.run(f"CREATE (n:{label} {{v: $v}})", v=value).consume()
        assert failure.value.code == "Neo.ClientError.Statement.TypeError"
