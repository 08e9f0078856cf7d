"""Async twins of the package's functions and classes.

The same methods, to be awaited. Each request runs in a thread, so the event loop goes on; its result is read to its end there. Cancelling a
task ends its request at the server: a statement stops, a transaction is rolled back, and a load ends after the batches that have been sent.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from . import _client, _server
from ._connection import awaited
from ._load import Edges, LoadResult, Progress, Vertices
from ._result import Result

class Database:
    """As hopgate.Database."""

    def __init__(self, db: _client.Database):
        self._db = db

    @property
    def graph(self) -> str:
        """The name of the graph; "" is the default."""
        return self._db.graph

    def using(self, **options: Any) -> Database:
        """As hopgate.Database.using."""
        return Database(self._db.using(**options))

    async def query(self, text: str, /, parameters: Mapping[str, Any] | None = None, **params: Any) -> Result:
        """As hopgate.Database.query."""
        return await awaited(self._db.query, text, parameters, **params)

    async def fetch(self, request: Mapping[str, Any], method: str = "get") -> dict[str, Any]:
        """As hopgate.Database.fetch."""
        return await awaited(self._db.fetch, request, method)

    async def traverse(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """As hopgate.Database.traverse."""
        return await awaited(self._db.traverse, from_, **members)

    async def path(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """As hopgate.Database.path."""
        return await awaited(self._db.path, from_, **members)

    async def subgraph(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """As hopgate.Database.subgraph."""
        return await awaited(self._db.subgraph, from_, **members)

    async def load(self, data: Any, *, vertices: Vertices | None = None, edges: Edges | None = None, id: str | None = None, restart: bool = False,
                   max_rejects: int | None = 0, on_duplicate: str | None = None, log: bool = True,
                   progress: bool | Progress | None = None) -> LoadResult:
        """As hopgate.Database.load."""
        return await awaited(self._db.load, data, vertices=vertices, edges=edges, id=id, restart=restart, max_rejects=max_rejects,
                             on_duplicate=on_duplicate, log=log, progress=progress)

    async def tables(self) -> list[dict[str, Any]]:
        """As hopgate.Database.tables."""
        return await awaited(self._db.tables)

    async def table(self, kind: str, name: str) -> Result:
        """As hopgate.Database.table."""
        return await awaited(self._db.table, kind, name)

    def transaction(self, *, read_only: bool = False, timeout: float | None = None) -> Transaction:
        """As hopgate.Database.transaction, for ``async with``."""
        return Transaction(self._db, read_only, timeout)

    async def close(self) -> None:
        """As hopgate.Database.close."""
        await awaited(self._db.close)

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Transaction:
    """As hopgate.Transaction. It begins at ``async with``."""

    def __init__(self, db: _client.Database, read_only: bool, timeout: float | None):
        self._begin = functools.partial(_client.Transaction, db, read_only, timeout)
        self._tx: _client.Transaction

    async def query(self, text: str, /, parameters: Mapping[str, Any] | None = None, **params: Any) -> Result:
        """As hopgate.Transaction.query."""
        return await awaited(self._tx.query, text, parameters, **params)

    async def commit(self) -> dict[str, Any]:
        """As hopgate.Transaction.commit."""
        return await awaited(self._tx.commit)

    async def rollback(self) -> None:
        """As hopgate.Transaction.rollback."""
        await awaited(self._tx.rollback)

    async def __aenter__(self) -> Transaction:
        self._tx = await awaited(self._begin)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await awaited(self._tx.__exit__, kind)


async def connect(location: str, token: str | None = None, **options: Any) -> Database:
    """As hopgate.connect."""
    return Database(await awaited(_client.connect, location, token, **options))


async def open(path: str | os.PathLike[str], **settings: Any) -> Database:
    """As hopgate.open."""
    return Database(await awaited(_server.open, path, **settings))
