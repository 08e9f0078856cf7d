"""The classes of errors that the driver makes of the server's codes, and notifications."""
import logging

import neo4j
import pytest
from neo4j import exceptions as e

STATEMENTS = {
    "RETRUN 1": (e.CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"),
    "RETURN x": (e.CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"),
    "RETURN nothing(1)": (e.CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"),
    "RETURN $missing": (e.ClientError, "Neo.ClientError.Statement.ParameterMissing"),
    "RETURN 1 + $map": (e.CypherTypeError, "Neo.ClientError.Statement.TypeError"),
    "RETURN $one / 0": (e.ClientError, "Neo.ClientError.Statement.ArithmeticError"),
    "CALL no.such.procedure()": (e.ClientError, "Neo.ClientError.Procedure.ProcedureNotFound"),
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("way", ["session", "transaction", "managed", "query"])
def test_statement(driver, statement, way):
    kind, code = STATEMENTS[statement]
    parameters = {"map": {"a": 1}, "one": 1}
    with driver.session() as s:
        with pytest.raises(kind) as failure:
            if way == "session":
                s.run(statement, parameters).consume()
            elif way == "transaction":
                with s.begin_transaction() as tx:
                    tx.run(statement, parameters).consume()
            elif way == "managed":
                s.execute_write(lambda tx: tx.run(statement, parameters).consume())
            else:
                driver.execute_query(statement, parameters)
        assert failure.value.code == code and failure.value.message and not failure.value.is_retryable()
        if hasattr(failure.value, "gql_status"):
            assert len(failure.value.gql_status) == 5 and failure.value.diagnostic_record["CURRENT_SCHEMA"] == "/"
        assert s.run("RETURN 1").single(strict=True)[0] == 1


def test_transaction_ends_with_its_first_error(session, label):
    tx = session.begin_transaction()
    tx.run(f"CREATE (:{label})").consume()
    with pytest.raises(e.CypherSyntaxError):
        tx.run("RETRUN 1").consume()
    with pytest.raises(e.TransactionError):
        tx.run("RETURN 1").consume()
    tx.close()
    assert session.run(f"MATCH (n:{label}) RETURN count(n)").single(strict=True)[0] == 0


def test_error_between_rows(session):
    result = session.run("UNWIND [1, 1, 0] AS i RETURN 1 / i AS x")
    with pytest.raises(e.ClientError) as failure:
        for record in result:
            assert record["x"] == 1
    assert failure.value.code == "Neo.ClientError.Statement.ArithmeticError"
    assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_constraint(session, label):
    session.run(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.k IS UNIQUE").consume()
    session.run(f"CREATE (:{label} {{k: 1}})").consume()
    with pytest.raises(e.ConstraintError) as failure:
        session.run(f"CREATE (:{label} {{k: 1}})").consume()
    assert "already exists with label" in failure.value.message
    with pytest.raises(e.ConstraintError):
        session.execute_write(lambda tx: tx.run(f"CREATE (:{label} {{k: 1}})").consume())


def test_unreachable():
    with neo4j.GraphDatabase.driver("bolt://127.0.0.1:1", auth=None) as d, pytest.raises(e.ServiceUnavailable):
        d.verify_connectivity()


def test_notifications(driver, session, label):
    found = session.run(f"MATCH (n:{label}) RETURN n.a").consume()
    codes = {n["code"] for n in found.notifications}
    assert "Neo.ClientNotification.Statement.UnknownLabelWarning" in codes
    assert "Neo.ClientNotification.Statement.CartesianProduct" in {
        n["code"] for n in session.run("EXPLAIN MATCH (a), (b) RETURN a, b").consume().notifications}
    statuses = [s.gql_status for s in found.gql_status_objects]
    assert statuses[0] in ("02000", "01N50") and "01N50" in statuses and "02000" in statuses
    assert [s.gql_status for s in session.run("RETURN 1").consume().gql_status_objects] == ["00000"]
    with driver.session(notifications_min_severity="OFF") as s:
        assert not s.run(f"MATCH (n:{label}) RETURN n.a").consume().notifications
    with driver.session(notifications_disabled_classifications=["UNRECOGNIZED"]) as s:
        assert not s.run(f"MATCH (n:{label}) RETURN n.a").consume().notifications


def test_notifications_are_logged(session, label, caplog):
    """The driver logs each notification, which needs its position to be one."""
    with caplog.at_level(logging.DEBUG, "neo4j"):
        session.run(f"MATCH (n:{label}) RETURN n").consume()
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]
