"""Clients of MCP servers, without async in the tests."""
import asyncio
import contextlib
import json
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

URL = f"http://{os.environ['HTTP']}/mcp"


def over_http(options=""):
    return streamable_http_client(URL + options)


def over_stdio(command, *args, **env):
    return stdio_client(StdioServerParameters(command=command, args=list(args), env={**os.environ, **env}))


def talk(transport, conversation):
    """Runs a conversation, a coroutine that takes the session."""
    async def run():
        async with contextlib.AsyncExitStack() as stack:
            streams = await stack.enter_async_context(transport)
            session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
            await session.initialize()
            return await conversation(session)
    return asyncio.run(run())


def text(result):
    return "".join(part.text for part in result.content)


def failed(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", False)


def rows(result):
    assert not failed(result), text(result)
    return json.loads(text(result))["rows"]
