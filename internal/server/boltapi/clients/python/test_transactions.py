"""Results, transactions, bookmarks, timeouts and cancellation, as programs use them."""
import threading

import neo4j
import pytest
from neo4j.exceptions import ClientError, ResultConsumedError, ResultNotSingleError, TransientError


def test_server(driver):
    driver.verify_connectivity()
    assert driver.verify_authentication() and driver.supports_multi_db()
    info = driver.get_server_info()
    assert info.agent.startswith("Neo4j/") and info.protocol_version >= (5, 8) and str(info.address)


def test_execute_query(driver, label):
    records, summary, keys = driver.execute_query(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row RETURN n.id AS id", rows=[{"id": 1}, {"id": 2}])
    assert [r["id"] for r in records] == [1, 2] and keys == ["id"]
    assert (summary.counters.nodes_created, summary.counters.properties_set, summary.counters.labels_added) == (2, 2, 2)
    assert summary.query_type == "rw" and summary.database == "neo4j" and summary.counters.contains_updates
    read = driver.execute_query(f"MATCH (n:{label}) RETURN count(n)", routing_=neo4j.RoutingControl.READ, database_="neo4j")
    assert read.records[0][0] == 2 and read.summary.query_type == "r" and not read.summary.counters.contains_updates
    assert driver.execute_query(f"MATCH (n:{label}) RETURN n.id AS id", result_transformer_=lambda r: sorted(x["id"] for x in r)) == [1, 2]


def test_deleted(session, label):
    session.run(f"CREATE (:{label} {{a: 1}})-[:R]->(:{label})").consume()
    counters = session.run(f"MATCH (n:{label}) REMOVE n:{label}, n.a DETACH DELETE n").consume().counters
    assert counters.nodes_deleted == 2 and counters.relationships_deleted == 1


def test_schema(driver, label):
    create = driver.execute_query(f"CREATE CONSTRAINT {label} FOR (n:{label}) REQUIRE n.key IS UNIQUE").summary
    assert create.counters.constraints_added == 1 and create.query_type == "s"
    assert label in [r["name"] for r in driver.execute_query("SHOW CONSTRAINTS").records]
    with pytest.raises(neo4j.exceptions.ConstraintError):
        driver.execute_query(f"UNWIND [1, 1] AS k CREATE (:{label} {{key: k}})")
    assert driver.execute_query(f"DROP CONSTRAINT {label}").summary.counters.constraints_removed == 1


@pytest.mark.parametrize("size", [1, 1000, -1])
def test_stream(driver, size):
    with driver.session(fetch_size=size) as s:
        n = 500 if size == 1 else 25_000
        assert [r[0] for r in s.run("UNWIND range(1, $n) AS i RETURN i", n=n)] == list(range(1, n + 1))


def test_result(session):
    result = session.run("UNWIND range(1, 5000) AS i RETURN i, -i AS j")
    assert result.keys() == ["i", "j"] and result.peek()["j"] == -1 and result.fetch(2)[1].data() == {"i": 2, "j": -2}
    assert next(result)["i"] == 3
    summary = result.consume()
    assert summary.result_available_after >= 0 and summary.result_consumed_after >= 0
    with pytest.raises(ResultConsumedError):
        next(result)
    with pytest.raises(ResultNotSingleError):
        session.run("UNWIND [1, 2] AS i RETURN i").single(strict=True)
    assert session.run("UNWIND [] AS i RETURN i").single() is None
    assert session.run("UNWIND [1, 2] AS i RETURN i").value() == [1, 2]


def test_next_statement_ends_none(session):
    """The driver takes what is left of a result when the session runs something else."""
    first = session.run("UNWIND range(1, 3000) AS i RETURN i")
    second = session.run("RETURN 7")
    assert second.single(strict=True)[0] == 7 and sum(1 for _ in first) == 3000


def test_results_side_by_side(session):
    with session.begin_transaction() as tx:
        results = [tx.run("UNWIND range(1, $n) AS i RETURN i", n=n) for n in (4000, 3, 2500)]
        got = [[] for _ in results]
        for _ in range(4000):
            for i, result in enumerate(results):
                record = next(result, None)
                if record is not None:
                    got[i].append(record["i"])
        assert [len(g) for g in got] == [4000, 3, 2500] and got[2] == list(range(1, 2501))
        assert next(tx.run("RETURN 1"))[0] == 1
        tx.commit()


def test_nested(session, label):
    assert session.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 0  # No commit was asked for.
    with session.begin_transaction() as tx:
        for record in tx.run("UNWIND range(1, 1200) AS i RETURN i"):
            tx.run(f"CREATE (:{label} {{i: $i}})", i=record["i"])
    assert session.run(f"MATCH (n:{label}) RETURN count(n), sum(n.i)").single(strict=True).values() == [1200, 1200 * 1201 // 2]


def test_sees_own_writes(driver, label):
    with driver.session() as one, driver.session() as other, one.begin_transaction() as tx:
        tx.run(f"CREATE (:{label})")
        assert tx.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 1
        assert other.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 0
        tx.commit()
        assert other.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 1


def test_rollback(session, label):
    for end in ("rollback", "close", "raise"):
        try:
            with session.begin_transaction() as tx:
                tx.run(f"CREATE (:{label})").consume()
                if end == "raise":
                    raise KeyError
                getattr(tx, end)()
                assert tx.closed()
        except KeyError:
            pass
    assert session.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 0


def test_managed(driver, session, label):
    """A managed transaction runs again after a transient error, and not after one of the client."""
    tries = []

    def work(tx):
        tries.append(tx)
        tx.run(f"CREATE (:{label})").consume()
        if len(tries) < 3:
            raise TransientError("again")
        return "done"

    assert session.execute_write(work) == "done" and len(tries) == 3
    assert session.execute_read(lambda tx: tx.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0]) == 1
    tries.clear()

    def wrong(tx):
        tries.append(tx)
        tx.run("RETURN $missing").consume()

    with pytest.raises(ClientError):
        session.execute_write(wrong)
    assert len(tries) == 1


def test_conflicts(driver, label):
    """Concurrent increments of one counter all arrive: the driver repeats those that conflict."""
    driver.execute_query(f"CREATE (:{label} {{n: 0}})")

    def work(tx):
        n = tx.run(f"MATCH (c:{label}) RETURN c.n").single(strict=True)[0]
        tx.run(f"MATCH (c:{label}) SET c.n = $n", n=n + 1).consume()

    def run():
        with driver.session() as s:
            for _ in range(5):
                s.execute_write(work)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert driver.execute_query(f"MATCH (c:{label}) RETURN c.n").records[0][0] == 20


def test_read_transactions_do_not_write(driver, session, label):
    with pytest.raises(ClientError) as failure:
        session.execute_read(lambda tx: tx.run(f"CREATE (:{label})").consume())
    assert failure.value.code == "Neo.ClientError.Statement.AccessMode"
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as s, pytest.raises(ClientError):
        s.run(f"CREATE (:{label})").consume()
    assert driver.execute_query(f"MATCH (n:{label}) RETURN count(n)").records[0][0] == 0


def test_bookmarks(driver, label):
    with driver.session() as s:
        s.execute_write(lambda tx: tx.run(f"CREATE (:{label})").consume())
        first = s.last_bookmarks()
        s.run(f"CREATE (:{label})").consume()
        second = s.last_bookmarks()
    assert first.raw_values and second.raw_values and first.raw_values != second.raw_values
    with driver.session(bookmarks=first + second) as s:
        assert s.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 2
    with driver.session(bookmarks=neo4j.Bookmarks.from_raw_values(["no bookmark"])) as s, pytest.raises(ClientError) as failure:
        s.run("RETURN 1").consume()
    assert failure.value.code == "Neo.ClientError.Transaction.InvalidBookmark"


def test_bookmark_manager(driver, label):
    manager = neo4j.GraphDatabase.bookmark_manager()
    for i in range(3):
        with driver.session(bookmark_manager=manager) as s:
            s.run(f"CREATE (:{label})").consume()
        with driver.session(bookmark_manager=manager) as s:
            assert s.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == i + 1


ENDLESS = "UNWIND range(1, 100000000) AS a WITH a WHERE a < 0 RETURN count(*)"


def test_timeout(driver, session):
    with pytest.raises(ClientError) as failure:
        session.run(neo4j.Query(ENDLESS, timeout=0.2)).consume()
    assert failure.value.code == "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
    with pytest.raises(ClientError) as failure, session.begin_transaction(timeout=0.2) as tx:
        tx.run(ENDLESS).consume()
    assert failure.value.code == "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"

    @neo4j.unit_of_work(timeout=0.2)
    def work(tx):
        tx.run(ENDLESS).consume()

    with pytest.raises(ClientError):
        session.execute_read(work)
    assert session.run("RETURN 1").single(strict=True)[0] == 1


def running(driver, metadata):
    rows = driver.execute_query("SHOW TRANSACTIONS YIELD transactionId, metaData, currentQuery RETURN *").records
    return [r["transactionId"] for r in rows if r["metaData"] == metadata]


def test_metadata_and_termination(driver, label):
    """A statement that runs is found by its metadata and ended from another connection."""
    failures = []

    def run():
        try:
            with driver.session() as s:
                s.run(neo4j.Query(ENDLESS, metadata={"job": label}, timeout=60)).consume()
        except neo4j.exceptions.Neo4jError as e:
            failures.append(e.code)

    thread = threading.Thread(target=run)
    thread.start()
    while not (found := running(driver, {"job": label})):
        assert thread.is_alive()
    driver.execute_query("TERMINATE TRANSACTIONS $id", id=found[0])
    thread.join()
    assert failures == ["Neo.ClientError.Transaction.Terminated"] or failures == ["Neo.TransientError.Transaction.Terminated"]


def test_close_ends_what_runs(driver, label):
    """A result that the client leaves is ended with its session, and so is its transaction."""
    with driver.session() as s:
        tx = s.begin_transaction(metadata={"job": label})
        next(tx.run("UNWIND range(1, 100000000) AS i RETURN i"))
    assert running(driver, {"job": label}) == []


def test_databases(driver, label):
    driver.execute_query(f"CREATE DATABASE {label}", database_="system")
    driver.execute_query(f"CREATE (:{label})", database_=label)
    assert driver.execute_query(f"MATCH (n:{label}) RETURN count(n)", database_=label).records[0][0] == 1
    assert driver.execute_query(f"MATCH (n:{label}) RETURN count(n)").records[0][0] == 0
    names = [r["name"] for r in driver.execute_query("SHOW DATABASES", database_="system").records]
    assert {"neo4j", "system", label} <= set(names) or {"neo4j", "system", label.lower()} <= set(names)
    driver.execute_query(f"DROP DATABASE {label}", database_="system")
    with pytest.raises(ClientError) as failure:
        driver.execute_query("RETURN 1", database_=label)
    assert failure.value.code == "Neo.ClientError.Database.DatabaseNotFound"


def test_many_sessions(driver):
    sums = []

    def run(n):
        with driver.session() as s:
            sums.append(sum(r[0] for r in s.run("UNWIND range(1, $n) AS i RETURN i", n=n)))

    threads = [threading.Thread(target=run, args=[3000]) for _ in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sums == [3000 * 3001 // 2] * 30


def test_call_in_transactions(session, label):
    summary = session.run(f"UNWIND range(1, 100) AS i CALL (i) {{ CREATE (:{label} {{i: i}}) }} IN TRANSACTIONS OF 10 ROWS").consume()
    assert summary.counters.nodes_created == 100
    with pytest.raises(neo4j.exceptions.DatabaseError) as failure, session.begin_transaction() as tx:
        tx.run(f"CALL {{ CREATE (:{label}) }} IN TRANSACTIONS").consume()
    assert "can only be executed in an implicit transaction" in failure.value.message


def test_plan(session, label):
    summary = session.run(f"EXPLAIN MATCH (n:{label}) RETURN n").consume()
    assert summary.plan["operatorType"] and summary.profile is None
    profile = session.run("PROFILE UNWIND range(1, 10) AS i RETURN i").consume().profile
    assert profile["rows"] == 10 and profile["children"]


def test_as_of(driver, label):
    """The metadata of a transaction name what it reads: here the graph as of a bookmark, and as of a time."""
    read = f"MATCH (n:{label}) RETURN n.n"
    with driver.session() as s:
        s.run(f"CREATE (:{label} {{n: 1}})").consume()
        [bookmark] = s.last_bookmarks().raw_values
        time = s.run("RETURN datetime()").single()[0]
        s.run(f"MATCH (n:{label}) SET n.n = 2").consume()
        for at in (bookmark, time):
            work = neo4j.unit_of_work(metadata={"hopgate.at": at})(lambda tx: [tx.run(read).single()[0] for _ in range(2)])
            assert s.execute_read(work) == [1, 1]
            assert s.run(neo4j.Query(read, metadata={"hopgate.at": at})).single()[0] == 1
            with pytest.raises(ClientError):
                s.execute_write(work)
        assert s.run(read).single()[0] == 2
