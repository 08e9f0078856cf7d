"""The tools, resources and prompts by the SDK for Python, over HTTP and over graphctl mcp."""
import os

import pytest
from client import failed, over_http, over_stdio, rows, talk, text

TRANSPORTS = {"http": over_http, "stdio": lambda: over_stdio(os.environ["GRAPHCTL"], "mcp")}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_everything(transport):
    async def conversation(s):
        names = {t.name for t in (await s.list_tools()).tools}
        assert names == {"get-schema", "sample", "hybrid-search", "read-cypher", "explain", "write-cypher"}
        schema = text(await s.call_tool("get-schema", {}))
        assert "(:Person)-[:LIVES_IN]->(:City) 300" in schema
        assert rows(await s.call_tool("read-cypher", {"query": "MATCH (p:Person) RETURN count(p) AS n"})) == [[300]]
        refused = await s.call_tool("read-cypher", {"query": "CREATE (n:Person)"})
        assert failed(refused) and "AccessMode" in text(refused)
        assert rows(await s.call_tool("write-cypher", {"query": "CREATE (n:Note) DELETE n RETURN 1 AS x"})) == [[1]]
        uris = {str(r.uri) for r in (await s.list_resources()).resources}
        assert "hopgate://schema/types" in uris
        read = await s.read_resource("hopgate://dialect")
        assert "openCypher" in read.contents[0].text
        prompt = await s.get_prompt("answer-question", {"question": "Who lives where?"})
        assert "Who lives where?" in prompt.messages[0].content.text
    talk(TRANSPORTS[transport](), conversation)


def test_many_at_once_over_stdio():
    import asyncio

    async def conversation(s):
        answers = await asyncio.gather(*(s.call_tool("read-cypher", {"query": "RETURN $i AS i", "params": {"i": i}}) for i in range(50)))
        assert [rows(a) for a in answers] == [[[i]] for i in range(50)]
    talk(over_stdio(os.environ["GRAPHCTL"], "mcp", "--profile", "reader"), conversation)


def test_reader_has_no_tool_that_writes():
    async def conversation(s):
        tools = (await s.list_tools()).tools
        assert "write-cypher" not in {t.name for t in tools}
        assert all(t.annotations.read_only_hint for t in tools)
    talk(over_http("?profile=reader"), conversation)
