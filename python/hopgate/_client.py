"""A connection to a graph: queries, fetches, traversals, loads and transactions."""
from __future__ import annotations

import copy
import io
import json
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.flight as flight

from . import _load
from ._connection import Call, Connection, cancellable, scope
from ._errors import HopgateError
from ._load import Edges, LoadResult, Progress, Vertices
from ._result import Result, summary_of
from ._values import encode

if TYPE_CHECKING:
    import adbc_driver_manager.dbapi

    from ._server import Server

_SUMMARY = "hopgate-summary"


class Database:
    """A graph of a server. Make one by ``hopgate.open`` or ``hopgate.connect``. Threads may share it."""

    def __init__(self, connection: Connection, graph: str = "", server: Server | None = None):
        self._connection, self._server = connection, server
        self.graph = graph
        self._options: dict[str, Any] = {}

    @property
    def location(self) -> str:
        """The address of the server, which ``hopgate.connect`` takes."""
        return self._connection.location

    @property
    def token(self) -> str | None:
        """The token that this connection sends."""
        return self._connection.token

    def using(self, *, graph: str | None = None, timeout: float | None = None, max_rows: int | None = None, read_only: bool | None = None) -> Database:
        """The same connection with other options; closing either closes both.

        Args:
            graph: the graph; by default the server's default graph.
            timeout: the seconds after which the server ends a request.
            max_rows: the rows after which a result ends; its summary has ``truncated`` then.
            read_only: whether statements that write fail.
        """
        other = copy.copy(self)
        other._options = dict(self._options)
        if graph is not None:
            other.graph = graph
        if timeout is not None:
            other._options["timeoutMs"] = int(timeout * 1000)
        if max_rows is not None:
            other._options["maxRows"] = max_rows
        if read_only is not None:
            other._options["accessMode"] = "READ" if read_only else "WRITE"
        return other

    def query(self, text: str, /, parameters: Mapping[str, Any] | None = None, **params: Any) -> Result:
        """Runs an openCypher statement. ``params`` are its parameters; ``parameters`` adds those whose names are no identifiers.

        A statement that writes has been committed when this returns.
        """
        return self._run(self._statement(text, {**(parameters or {}), **params}))

    def _statement(self, text: str, params: Mapping[str, Any]) -> dict[str, Any]:
        request = {"statement": text, "elements": "structs", "graph": self.graph, **self._options}
        if params:
            request["typedParameters"] = True
            request["parameters"] = {k: encode(v) for k, v in params.items()}
        return request

    def _run(self, request: dict[str, Any]) -> Result:
        if scope.get() is not None:
            with _Exchange(self._connection) as exchange:
                return _result(*exchange.step({"query": request}))
        call = Call()
        ticket = flight.Ticket(json.dumps(request).encode())
        with call.errors():
            reader = self._connection.client.do_get(ticket, self._connection.options())
            schema = reader.schema
            first = next(reader, None)  # or the error that comes before any row

        def batches() -> Iterator[pa.RecordBatch]:
            chunk = first
            while chunk is not None:
                if chunk.data is not None:
                    yield chunk.data
                with call.errors():
                    chunk = next(reader, None)

        def close() -> None:
            reader.cancel()

        return Result(schema, batches(), lambda: summary_of((call.headers.get(_SUMMARY) or [""])[0]), close)

    def fetch(self, request: Mapping[str, Any], method: str = "get") -> dict[str, Any]:
        """Runs a JSON-array fetch (docs/fetch.md) and returns its answer. The method is get, head, gets, heads, post, put or delete.

        An answer whose ``code`` is not 200 is raised as an error.
        """
        body: dict[str, Any] = {"graph": self.graph, "method": method, "request": request}
        if "timeoutMs" in self._options:
            body["timeoutMs"] = self._options["timeoutMs"]
        with _Exchange(self._connection) as exchange:
            text, _ = exchange.step({"fetch": body})
        answer: dict[str, Any] = json.loads(text)
        if answer.get("code") != 200:
            raise HopgateError(str(answer.get("msg")), code=str(answer.get("code")))
        return answer

    def traverse(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """Follows edges without a query language; ``members`` are those of docs/http.md#traversals.

        ``db.traverse({"label": "Person", "property": "id", "value": 1}, edges=["KNOWS"], hops="1..3", mode="nearest")``. A member whose name
        is a word of Python may end with an underscore: ``return_="count"``.
        """
        return self._typed("traverse", from_, members)

    def path(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """Finds shortest or cheapest paths, as ``traverse``."""
        return self._typed("path", from_, members)

    def subgraph(self, from_: Mapping[str, Any] | None = None, /, **members: Any) -> Result:
        """Returns the surroundings of vertices, as ``traverse``."""
        return self._typed("subgraph", from_, members)

    def _typed(self, route: str, from_: Mapping[str, Any] | None, members: Mapping[str, Any]) -> Result:
        body = {k.rstrip("_"): v for k, v in members.items()}
        if from_ is not None:
            body["from"] = from_
        body.setdefault("graph", self.graph)
        if "parameters" in body:
            body["parameters"] = {k: encode(v) for k, v in body["parameters"].items()}
        if "timeoutMs" in self._options:
            body["budget"] = {"timeoutMs": self._options["timeoutMs"], **body.get("budget", {})}
        return self._run({"route": route, "body": body, "typedParameters": True, "elements": "structs"})

    def load(self, data: Any, *, vertices: Vertices | None = None, edges: Edges | None = None, id: str | None = None, restart: bool = False,
             max_rejects: int | None = 0, on_duplicate: str | None = None, log: bool = True,
             progress: bool | Progress | None = None) -> LoadResult:
        """Loads rows as vertices or edges, each exactly once, also when the connection is lost in between.

        Args:
            data: a data frame of pandas or Polars, an Arrow table, batch or stream, a list of dicts, or the path of a file (CSV, JSON lines,
                Parquet, Arrow) or several.
            vertices, edges: how columns become vertices or edges; one of them.
            id: the name of the load. A load that is run again with the same id and data continues where the last run ended, and writes
                nothing if that was its end. Without one, only lost connections are bridged.
            restart: forget the earlier runs with this id.
            max_rejects: raise RejectedError if more rows than this are refused; None never does.
            on_duplicate: what becomes of a row whose vertex an earlier row of the load has written: overwrite (the default), keep-first or
                error, which refuses the row.
            log: whether readers of changes see what the load writes; without, they see its numbers alone.
            progress: whether to show a bar on the terminal, or a function of the rows that are done and all rows (None if unknown). By
                default a bar appears on terminals and in notebooks after two seconds.
        """
        return _load.load(self, data, vertices, edges, id, restart, max_rejects, on_duplicate, log, progress)

    def transaction(self, *, read_only: bool = False, timeout: float | None = None) -> Transaction:
        """Begins an explicit transaction: ``with db.transaction() as tx: tx.query(…)`` commits at the end, or rolls back after an exception."""
        return Transaction(self, read_only, timeout)

    def tables(self) -> list[dict[str, Any]]:
        """The labels and types of the graph: ``kind`` (vertices or edges), ``name`` and ``count`` of each."""
        call = Call()
        with call.errors():
            infos = list(self._connection.client.list_flights(self.graph.encode(), self._connection.options()))
        return [{"kind": p[1], "name": p[2], "count": info.total_records} for info in infos for p in [[x.decode() for x in info.descriptor.path]]]

    def table(self, kind: str, name: str) -> Result:
        """All vertices of a label (kind vertices) or edges of a type (kind edges), with a column for each property."""
        call = Call()
        with call.errors():
            descriptor = flight.FlightDescriptor.for_path(self.graph or "default", kind, name)
            info = self._connection.client.get_flight_info(descriptor, self._connection.options())
        return self._run({"statement": info.endpoints[0].ticket.ticket.decode(), "elements": "structs", **self._options})

    def dbapi(self) -> adbc_driver_manager.dbapi.Connection:
        """A connection of Python's DB-API by ADBC's Flight SQL driver, which pandas.read_sql and polars.read_database take."""
        from adbc_driver_flightsql import DatabaseOptions, dbapi

        options = {}
        if self.token:
            options[DatabaseOptions.AUTHORIZATION_HEADER.value] = f"Bearer {self.token}"
        if self._connection.tls_ca is not None:
            options[DatabaseOptions.TLS_ROOT_CERTS.value] = self._connection.tls_ca.decode()
        return dbapi.connect(self._connection.uri, db_kwargs=options, autocommit=True)

    def close(self) -> None:
        """Closes the connection. The server of ``hopgate.open`` ends unless another process uses it."""
        self._connection.close()
        if self._server is not None:
            self._server.release()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hopgate.Database {self.graph or 'default'} at {self.location}>"


class _Exchange:
    """A call that runs one step after the other, and that other threads can cancel."""

    def __init__(self, connection: Connection):
        self._call, self.open = Call(), True
        with self._call.errors():
            descriptor = flight.FlightDescriptor.for_command(b"{}")
            self._writer, self._reader = connection.client.do_exchange(descriptor, connection.options())

    def step(self, step: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        """Runs a step, and returns the bytes and the summary of its answer. The call ends if it fails."""
        if not self.open:
            raise HopgateError("the transaction has ended")
        cancellable(self._reader.cancel)
        rows = io.BytesIO()
        try:
            with self._call.errors():
                self._writer.write_metadata(json.dumps(step).encode())
                while True:
                    chunk = self._reader.read_chunk()
                    part = chunk.app_metadata.to_pybytes()
                    if part[:1] == b"s":
                        return rows.getvalue(), summary_of(part[1:])
                    rows.write(part[1:])
        except StopIteration:
            self.end()
            raise HopgateError("the server has ended the transaction") from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        self.open = False
        try:
            with self._call.errors():
                self._writer.done_writing()
                self._writer.close()
        except Exception:  # noqa: S110 - the call has failed already, and its error is known
            pass

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        if self.open:
            self.end()


def _result(data: bytes, summary: dict[str, Any]) -> Result:
    """The rows of a step."""
    reader = pa.ipc.open_stream(pa.BufferReader(data))
    result = Result(reader.schema, iter(reader), lambda: summary, lambda: None)
    result.table()
    return result


class Transaction:
    """An explicit transaction: statements over one snapshot that see earlier writes and commit together. Leaving a ``with`` block commits,
    or rolls back after an exception. It also rolls back when a statement fails, and when no statement comes for the server's
    ``tx-idle-timeout``."""

    def __init__(self, db: Database, read_only: bool, timeout: float | None):
        self._db, self._lock = db, threading.Lock()
        begin: dict[str, Any] = {"graph": db.graph, "accessMode": "READ" if read_only else "WRITE"}
        if timeout is not None:
            begin["timeoutMs"] = int(timeout * 1000)
        self._exchange = _Exchange(db._connection)
        self._exchange.step({"begin": begin})

    def query(self, text: str, /, parameters: Mapping[str, Any] | None = None, **params: Any) -> Result:
        """Runs a statement in the transaction and reads all of its rows."""
        request = self._db._statement(text, {**(parameters or {}), **params})
        del request["graph"]
        request.pop("accessMode", None)
        with self._lock:
            return _result(*self._exchange.step({"run": request}))

    def commit(self) -> dict[str, Any]:
        """Makes the writes durable and visible, and returns the counters of all statements. A conflict raises ConflictError."""
        with self._lock:
            _, summary = self._exchange.step({"commit": {}})
            self._exchange.end()
        return summary

    def rollback(self) -> None:
        """Discards the writes."""
        with self._lock:
            if self._exchange.open:
                self._exchange.step({"rollback": {}})
                self._exchange.end()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._exchange.open:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()


def connect(location: str, token: str | None = None, *, graph: str = "", tls_ca: bytes | None = None, tls_cert: bytes | None = None,
            tls_key: bytes | None = None) -> Database:
    """Connects to a server or a gateway of a cluster.

    Args:
        location: its gRPC address, such as ``grpc://127.0.0.1:9090``, or ``grpcs://graphs.example.com:9090`` with TLS.
        token: a bearer token, if the server asks for them.
        graph: the graph; by default the server's default graph.
        tls_ca: the certificate of the authority that has signed the server's, in PEM; by default those of the system.
        tls_cert, tls_key: a client certificate and its key, in PEM.
    """
    return Database(Connection(location, token, tls_ca, tls_cert, tls_key), graph)
