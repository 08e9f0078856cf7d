import asyncio
import datetime
import itertools
import zoneinfo

import pyarrow as pa
import pytest

import hopgate
from hopgate import aio
from hopgate._connection import Scope

UTC = datetime.timezone.utc

VALUES = [
    None, True, 0, -(1 << 63), (1 << 63) - 1, 1.0, -0.5, 1e300, "", "ä€😀\n'`\"", b"\x00\xff", [], [1, 2], [1, None, "x"], ["a", ["b", [1.5]]],
    {"a": 1, "b": {"c": [None]}}, datetime.date(2026, 1, 2), datetime.time(3, 4, 5, 6), datetime.time(3, 4, tzinfo=UTC),
    datetime.time(3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))), datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
    datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    datetime.datetime(2026, 7, 2, 3, 4, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    hopgate.Duration(14, 3, 4, 500_000_000), hopgate.Duration(seconds=-1, nanoseconds=0), hopgate.Point(7203, 1.0, 2.5),
    hopgate.Point(4979, 12.5, 55.7, 3.0),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_return_as_they_are(server, value):
    got = server.query("RETURN $v AS v, [$v, $v] AS list, {k: $v} AS map", v=value).single()
    assert got == {"v": value, "list": [value, value], "map": {"k": value}}
    assert type(got["v"]) is type(value)
    if isinstance(value, datetime.datetime):
        assert got["v"].utcoffset() == value.utcoffset()
    # Beside values of other types, all travel as JSON.
    mixed = server.query("UNWIND [$v, 'x', 1, {a: true}] AS v RETURN v", v=value).lists()
    assert mixed == [[value], ["x"], [1], [{"a": True}]]


def test_other_parameters(server):
    class Item:
        def item(self):
            return 7

    got = server.query("RETURN $`1` AS a, $b AS b, $c AS c, $d AS d", {"1": Item()}, b=(1, 2), c=datetime.timedelta(days=1, microseconds=5),
                       d=hopgate.Vector([1, 0.5])).single()
    assert got == {"a": 7, "b": [1, 2], "c": hopgate.Duration(days=1, nanoseconds=5000), "d": [1.0, 0.5]}
    with pytest.raises(ValueError, match="64-bit"):
        server.query("RETURN $a", a=1 << 63)
    with pytest.raises(TypeError):
        server.query("RETURN $a", a=object())


def test_nanoseconds_are_kept(server):
    got = server.query("RETURN localdatetime('2026-01-02T03:04:05.123456789') AS a, localtime('03:04:05.000000001') AS b").single()
    assert got["a"] == datetime.datetime(2026, 1, 2, 3, 4, 5, 123456) and got["a"].nanosecond == 789
    assert got["b"].nanosecond == 1
    again = server.query("RETURN toString($a) AS a, toString($b) AS b", **got).single()
    assert again == {"a": "2026-01-02T03:04:05.123456789", "b": "03:04:05.000000001"}


def test_elements(db):
    db.query("CREATE (:A:B {name: 'Ann', born: date('2000-01-02'), tags: ['x']})-[:R {since: 1}]->(:A {name: 'Bob', age: 7})-[:R]->({name: 1.5})")
    row = db.query("MATCH p = (a {name: 'Ann'})-[r]->(b)-[s]->(c) RETURN p, a, r, b, c, [a, c] AS list, {k: r} AS map").single()
    a, r, b = row["a"], row["r"], row["b"]
    assert isinstance(a, hopgate.Node) and sorted(a.labels) == ["A", "B"]
    assert dict(a) == {"name": "Ann", "born": datetime.date(2000, 1, 2), "tags": ["x"]} and a["name"] == "Ann" and a.get("age") is None
    assert isinstance(r, hopgate.Relationship) and (r.type, r.start, r.end, r.properties) == ("R", a.element_id, b.element_id, {"since": 1})
    assert dict(row["c"]) == {"name": 1.5} and row["c"].labels == ()
    assert row["list"] == [a, row["c"]] and row["map"] == {"k": r}
    assert isinstance(row["p"], hopgate.Path) and len(row["p"]) == 2 and row["p"].nodes == (a, b, row["c"]) and row["p"].relationships[0] == r
    assert dict(row["p"].nodes[0]) == dict(a) and row["p"].relationships[1].properties == {}
    # The property name has two types, and properties may be missing.
    rows = db.query("MATCH (n) OPTIONAL MATCH (n)-[r:R]->() RETURN n, r").rows()
    assert sorted((str(dict(x["n"])["name"]), x["r"] is None) for x in rows) == [("1.5", True), ("Ann", False), ("Bob", False)]


def test_elements_as_structs(db):
    db.query("UNWIND range(1, 20000) AS i CREATE (n:N {i: i}) SET n += CASE WHEN i = 19999 THEN {late: 'x', i: 'text'} ELSE {} END")
    result = db.query("MATCH (n:N) RETURN n ORDER BY id(n)")
    struct = result.schema.field("n").type
    assert pa.types.is_dictionary(struct.field("labels").type.value_type)
    assert struct.field("properties").type.field("i").type == pa.int64()
    rows = result.rows()
    assert len(rows) == 20000 and sum(1 for r in rows if r["n"].labels == ("N",)) == 20000
    assert [dict(r["n"]) for r in rows if "late" in r["n"]] == [{"late": "x", "i": "text"}]
    assert sum(r["n"]["i"] for r in rows if "late" not in r["n"]) == 20000 * 20001 // 2 - 19999


def test_results(server):
    result = server.query("UNWIND [1, null, 3] AS x RETURN x, toString(x) AS s")
    assert result.columns == ["x", "s"] and len(result) == 3
    assert result.rows() == [{"x": 1, "s": "1"}, {"x": None, "s": None}, {"x": 3, "s": "3"}]
    assert result.lists() == [[1, "1"], [None, None], [3, "3"]]
    assert result.summary["type"] == "r"
    assert server.query("RETURN 7").value() == 7
    with pytest.raises(hopgate.HopgateError, match="3 rows"):
        result.single()
    created = server.query("CREATE (n:Temporary) DELETE n")
    assert created.columns == [] and created.rows() == [] and created.summary["counters"]["nodesCreated"] == 1


def test_results_stream(server):
    result = server.query("UNWIND range(1, 200000) AS x RETURN x")
    batches = [b.num_rows for b in result.arrow()]
    assert sum(batches) == 200000 and len(batches) > 5
    with pytest.raises(hopgate.HopgateError, match="have been read"):
        list(result)
    with server.query("UNWIND range(1, 1000000000) AS x RETURN x") as endless:
        assert next(iter(endless)) == {"x": 1}
    half = server.query("UNWIND range(100000, 0, -1) AS x RETURN 1 / x AS y")
    with pytest.raises(hopgate.RequestError, match="zero"):
        half.rows()
    assert server.using(max_rows=10).query("UNWIND range(1, 100) AS x RETURN x").summary["truncated"]


def test_errors(server, db):
    with pytest.raises(hopgate.RequestError) as e:
        server.query("MATCH (n)\nRETURN m")
    assert e.value.code == "Neo.ClientError.Statement.SyntaxError" and (e.value.line, e.value.column) == (2, 8)
    assert e.value.detail == "UndefinedVariable" and "m" in str(e.value)
    with pytest.raises(hopgate.NotFoundError):
        server.using(graph="nothing").query("RETURN 1")
    with pytest.raises(hopgate.RequestError):
        server.using(read_only=True).query("CREATE (:N)")
    with pytest.raises(hopgate.TimeoutError):
        server.using(timeout=0.2).query("UNWIND range(1, 1000000000) AS x RETURN sum(x)").rows()
    db.query("CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE")
    db.query("CREATE (:N {id: 1})")
    with pytest.raises(hopgate.RequestError) as e:
        db.query("CREATE (:N {id: 1})")
    assert e.value.code == "Neo.ClientError.Schema.ConstraintValidationFailed"
    with pytest.raises(hopgate.AccessError), hopgate.connect(server.location, "wrong") as other:
        other.query("RETURN 1")
    with pytest.raises(hopgate.UnavailableError), hopgate.connect("grpc://127.0.0.1:1") as other:
        other.query("RETURN 1")
    with hopgate.connect(server.location, server.token) as other:
        assert other.query("RETURN 1").value() == 1


def test_fetch(db):
    db.query("UNWIND [[1, 'Ann'], [2, 'Bob']] AS p CREATE (:Person {id: p[0], name: p[1]})")
    assert db.fetch({"Person": {"id": 2, "@column": "id,name"}})["Person"] == {"id": 2, "name": "Bob"}
    assert len(db.fetch({"[]": {"count": 10, "Person": {}}})["[]"]) == 2
    with pytest.raises(hopgate.HopgateError) as e:
        db.fetch({"Person": {"@column": 7}})
    assert e.value.code != "200"


def test_traverse(db):
    db.query("UNWIND range(1, 5) AS i CREATE (:P {id: i}) WITH count(*) AS n MATCH (a:P), (b:P {id: a.id + 1}) CREATE (a)-[:NEXT {w: a.id}]->(b)")
    start = {"label": "P", "property": "id", "value": 1}
    assert db.traverse(start, edges=["NEXT"], hops="1..3", return_="h, v.id AS id").lists() == [[1, 2], [2, 3], [3, 4]]
    assert db.traverse(start, edges=["NEXT"], where="e.w >= $w", parameters={"w": 2}, return_="count").value() == 0
    found = db.path(start, to={"label": "P", "property": "id", "value": 4}, edges=["NEXT"]).rows()
    assert [n["id"] for n in found[0]["path"].nodes] == [1, 2, 3, 4]
    assert len(db.subgraph(start, edges=["NEXT"], hops=2)) == 5
    with pytest.raises(hopgate.RequestError):
        db.traverse(start, mode="fast")


def test_tables(db):
    db.query("CREATE (a:P {id: 1, name: 'Ann'})-[:R {w: 2}]->(b:P:`Q q` {id: 2})")
    assert sorted((t["kind"], t["name"], t["count"]) for t in db.tables()) == [("edges", "R", 1), ("vertices", "P", 2), ("vertices", "Q q", 1)]
    people = db.table("vertices", "P")
    assert sorted(people.columns) == ["elementId", "id", "name"]
    assert sorted((r["id"], r["name"]) for r in people.rows()) == [(1, "Ann"), (2, None)]
    assert db.table("vertices", "Q q").single()["id"] == 2
    edge = db.table("edges", "R").single()
    assert edge["w"] == 2 and edge["startNodeElementId"] != edge["endNodeElementId"]
    with pytest.raises(hopgate.NotFoundError):
        db.table("vertices", "None")


def test_transaction(db):
    with db.transaction() as tx:
        tx.query("CREATE (:N {id: $id})", id=1)
        assert tx.query("MATCH (n:N) RETURN n, n.id AS id").single()["id"] == 1
        assert db.query("MATCH (n:N) RETURN count(*)").value() == 0
        assert len(tx.query("UNWIND range(1, 100000) AS x RETURN x, toString(x) AS s")) == 100000
    assert db.query("MATCH (n:N) RETURN count(*)").value() == 1
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.query("CREATE (:N)")
        raise ZeroDivisionError
    with pytest.raises(hopgate.RequestError) as e, db.transaction() as tx:
        tx.query("CREATE (:N)")
        tx.query("RETURN x")
    assert e.value.line == 1
    with db.transaction() as tx:
        tx.query("CREATE (:N)")
        tx.rollback()
        with pytest.raises(hopgate.HopgateError, match="ended"):
            tx.query("RETURN 1")
    assert db.query("MATCH (n:N) RETURN count(*)").value() == 1
    with pytest.raises(hopgate.RequestError), db.transaction(read_only=True) as tx:
        tx.query("CREATE (:N)")


def test_conflict(db):
    db.query("CREATE (:N {id: 1, x: 0})")
    a, b = db.transaction(), db.transaction()
    a.query("MATCH (n:N) RETURN n.x")
    b.query("MATCH (n:N) RETURN n.x")
    a.query("MATCH (n:N) SET n.x = 1")
    a.commit()
    with pytest.raises(hopgate.ConflictError):
        b.query("MATCH (n:N) SET n.x = 2")
        b.commit()
    b.rollback()
    assert db.query("MATCH (n:N) RETURN n.x").value() == 1


def test_dbapi(db):
    db.query("UNWIND [1, 2] AS i CREATE (:N {id: i})")
    with db.dbapi() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {db.graph} MATCH (n:N) WHERE n.id > $`0` RETURN n.id AS id", (1,))
        assert cursor.fetchall() == [(2,)]


def test_async(server, db):
    async def run():
        async with await aio.connect(server.location, server.token, graph=db.graph) as twin:
            await twin.query("CREATE (:N {id: 1})")
            counts = await asyncio.gather(*(twin.query("MATCH (n:N) RETURN count(*)") for _ in range(4)))
            assert [c.value() for c in counts] == [1] * 4
            async with twin.transaction() as tx:
                await tx.query("CREATE (:N {id: 2})")
            loaded = await twin.load([{"id": 3}], vertices=hopgate.Vertices("N", "id"))
            assert loaded.vertices == 1
            assert (await twin.fetch({"N": {"id": 3}}))["N"]["id"] == 3
            assert len(await twin.traverse({"label": "N", "property": "id", "value": 1}, return_="count")) == 1
            assert (await twin.tables())[0]["count"] == 3

    asyncio.run(run())


LONG = "UNWIND range(1, 1000000000000) AS x RETURN sum(x) AS cancelled"


@pytest.mark.parametrize("start", [
    lambda twin: twin.query(LONG),
    lambda twin: twin.query("UNWIND range(1, 1000000000000) AS x RETURN x AS cancelled"),
    lambda twin: in_transaction(twin),
], ids=["before any row", "between rows", "in a transaction"])
def test_cancelling_a_task_stops_its_request_at_the_server(server, db, start):
    def running():
        return [r["currentQuery"] for r in server.query("SHOW TRANSACTIONS").rows() if "AS cancelled" in str(r["currentQuery"])]

    async def run():
        async with await aio.connect(server.location, server.token, graph=db.graph) as twin:
            task = asyncio.create_task(start(twin))
            while not running():
                assert not task.done(), task
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while running():
                await asyncio.sleep(0.02)
            assert (await twin.query("RETURN 1")).value() == 1

    asyncio.run(asyncio.wait_for(run(), 60))
    assert db.query("MATCH (n:Cancelled) RETURN count(*)").value() == 0


async def in_transaction(twin):
    async with twin.transaction() as tx:
        await tx.query("CREATE (:Cancelled)")
        await tx.query(LONG)


def test_a_request_that_is_cancelled_before_it_begins():
    scope, called = Scope(), []
    scope.add(lambda: called.append("before"))
    scope.cancel()
    scope.add(lambda: called.append("after"))
    assert called == ["before", "after"]


def test_cancelling_a_load_ends_it(server, db):
    pad = "x" * (2 << 20)  # so that a batch has few rows

    async def run():
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def endless():
            for i in itertools.count():
                yield pa.record_batch({"id": [i], "pad": [pad]})
                if i == 10:
                    loop.call_soon_threadsafe(begun.set)

        async with await aio.connect(server.location, server.token, graph=db.graph) as twin:
            batches = endless()
            reader = pa.RecordBatchReader.from_batches(next(batches).schema, batches)
            task = asyncio.create_task(twin.load(reader, vertices=hopgate.Vertices("N", "id", properties=[])))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())  # waits for the thread of the load
    assert db.query("MATCH (n:N) RETURN count(*) > 0").value()
