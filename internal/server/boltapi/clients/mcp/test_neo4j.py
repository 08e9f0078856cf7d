"""Neo4j's own MCP servers, unmodified, over Bolt. Their reading tools must not be able to write."""
import json
import os

import pytest
from client import failed, over_stdio, talk, text

BIN = os.environ["NEO4J_BIN"]
URI = "bolt://" + os.environ["BOLT"]


def labs():
    return over_stdio(BIN + "/mcp-neo4j-cypher", NEO4J_URI=URI, NEO4J_USERNAME="neo4j", NEO4J_PASSWORD="password", NEO4J_DATABASE="neo4j")


def product():
    return over_stdio(BIN + "/neo4j-mcp-server", NEO4J_MCP_URI=URI, NEO4J_MCP_USERNAME="neo4j", NEO4J_MCP_PASSWORD="password",
                      NEO4J_MCP_DATABASE="neo4j", NEO4J_MCP_TELEMETRY="false")


SERVERS = {
    "mcp-neo4j-cypher": (labs, "get_neo4j_schema", {"sample_size": 1000}, "read_neo4j_cypher", "write_neo4j_cypher"),
    "neo4j-mcp-server": (product, "get-schema", {}, "read-cypher", "write-cypher"),
}
# mcp-neo4j-cypher 0.6.0 opens its reading transactions for writing (it gives routing_control as a parameter of the statement) and trusts the type
# that EXPLAIN tells. That of commands on the schema is "s", not "w", so it runs them, over Neo4j too; a token with the role reader forbids them.
SCHEMA = {"neo4j-mcp-server": ["CREATE INDEX FOR (n:Person) ON (n.x)"], "mcp-neo4j-cypher": []}
COUNT = "MATCH (p:Person) RETURN count(p) AS n"
WRITES = [
    "CREATE (n:Person {id: 999})", "MATCH (p:Person {id: 1}) SET p.x = 1", "MATCH (p:Person {id: 1}) DETACH DELETE p",
    "CALL { CREATE (n:Person {id: 998}) RETURN n } RETURN n.id", "/* MATCH */ cReAtE (n:Person)",
    "CALL apoc.cypher.doIt('CREATE (n:Person)', {}) YIELD value RETURN value", "CALL apoc.create.node(['Person'], {}) YIELD node RETURN node",
]


@pytest.mark.parametrize("name", SERVERS)
def test_schema(name):
    start, schema, args, *_ = SERVERS[name]

    async def conversation(s):
        got = await s.call_tool(schema, args)
        assert not failed(got), text(got)
        assert "Person" in text(got) and "KNOWS" in text(got) and "firstName" in text(got)
    talk(start(), conversation)


@pytest.mark.parametrize("name", SERVERS)
def test_read_and_write(name):
    start, _, _, read, write = SERVERS[name]

    async def conversation(s):
        before = json.loads(text(await s.call_tool(read, {"query": COUNT})))
        assert before == [{"n": 300}]
        for statement in WRITES + SCHEMA[name]:
            got = await s.call_tool(read, {"query": statement})
            assert failed(got), (statement, text(got))
        assert json.loads(text(await s.call_tool(read, {"query": COUNT}))) == before
        wrote = await s.call_tool(write, {"query": "CREATE (n:Scratch {x: $x})", "params": {"x": 1}})
        assert not failed(wrote), text(wrote)
        got = await s.call_tool(read, {"query": "MATCH (n:Scratch) RETURN n.x AS x"})
        assert json.loads(text(got)) == [{"x": 1}]
        await s.call_tool(write, {"query": "MATCH (n:Scratch) DELETE n"})
    talk(start(), conversation)
