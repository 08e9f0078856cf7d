"""Hopgate, a graph store, from Python.

``hopgate.open("graphs/")`` starts the bundled server on a directory; ``hopgate.connect("grpc://host:9090", token=…)`` talks to any server.
Both return a Database. ``hopgate.aio`` has the same for asyncio.
"""
from ._client import Database, Transaction, connect
from ._errors import (
    AccessError,
    ConflictError,
    HopgateError,
    LimitError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    RequestError,
    TimeoutError,
    UnavailableError,
)
from ._load import Edges, LoadResult, Vertices
from ._result import Result
from ._server import open
from ._types import Duration, NanoDateTime, NanoTime, Node, Path, Point, Relationship, Vector

__all__ = [
    "AccessError", "ConflictError", "Database", "Duration", "Edges", "HopgateError", "LimitError", "LoadResult", "NanoDateTime", "NanoTime",
    "Node", "NotFoundError", "OutcomeUnknownError", "Path", "Point", "RejectedError", "Relationship", "RequestError", "Result", "TimeoutError",
    "Transaction", "UnavailableError", "Vector", "Vertices", "connect", "open",
]
