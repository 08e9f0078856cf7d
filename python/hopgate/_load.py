"""Loads of data frames, tables and files by Flight's DoPut."""
from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.flight as flight

from ._connection import Call, cancellable
from ._errors import HopgateError, RejectedError, TimeoutError, UnavailableError

if TYPE_CHECKING:
    from ._client import Database

_BATCH_BYTES = 4 << 20  # about; a batch must not exceed the server's max-request
_BATCH_ROWS = 1 << 17
_AHEAD = 16  # batches sent ahead of their acknowledgements
_KINDS = ("vertexCounts", "edgeCounts")
_OUTCOMES = ("created", "overwritten", "unchanged", "deleted")
_COUNTS = {"vertexCounts": (*_OUTCOMES, "repeated"), "edgeCounts": _OUTCOMES}
_TRIES = 6  # without progress, when the connection is lost


@dataclass
class Vertices:
    """How columns become vertices.

    Attributes:
        label: the label, or several; the first has the key.
        key: the column that identifies a vertex. Rows with the key of an existing vertex change it.
        property: the property that holds the key; by default it is named as the column. It gets a unique constraint.
        properties: the columns to keep as properties, or a mapping of properties to columns; by default all.
        strategies: how old and new values of a property combine: SUM, BIGGER, SMALLER, UNION, INTERSECTION, APPEND, ELIMINATE or OVERRIDE.
        action: upsert, insert (an existing vertex is a reject), update (a missing one is) or delete.
    """

    label: str | Sequence[str]
    key: str
    property: str | None = None
    properties: Sequence[str] | Mapping[str, str] | None = None
    strategies: Mapping[str, str] = field(default_factory=dict)
    action: str = "upsert"

    def _command(self) -> dict[str, Any]:
        labels = [self.label] if isinstance(self.label, str) else list(self.label)
        return {"vertices": {"labels": labels, "key": self.key, "property": self.property or self.key, "action": self.action,
                             "properties": self._columns}}

    _columns: list[dict[str, str]] | None = None


@dataclass
class Edges:
    """How columns become edges.

    Attributes:
        type: the type.
        source, target: the ends, each as ``(column, label)`` or ``(column, label, property)``: the column holds the value of the property
            (by default named as the column) of a vertex of the label.
        properties, strategies, action: as of Vertices; by default all columns but those of the ends are properties.
        on_dangling: what becomes of an edge without an end: reject, create (the end) or skip.
    """

    type: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    properties: Sequence[str] | Mapping[str, str] | None = None
    strategies: Mapping[str, str] = field(default_factory=dict)
    action: str = "upsert"
    on_dangling: str = "reject"

    def _command(self) -> dict[str, Any]:
        def end(of: tuple[str, ...]) -> dict[str, str]:
            if isinstance(of, str) or not 2 <= len(of) <= 3:
                raise ValueError("an end of edges is (column, label) or (column, label, property)")
            return {"column": of[0], "label": of[1], "property": of[2] if len(of) == 3 else of[0]}

        return {"edges": {"type": self.type, "from": end(self.source), "to": end(self.target), "action": self.action,
                          "onDangling": self.on_dangling, "properties": self._columns}}

    _columns: list[dict[str, str]] | None = None


@dataclass
class LoadResult:
    """The outcome of a load.

    Attributes:
        rows: the rows of the data.
        vertices, edges: the rows that were applied to vertices and to edges.
        vertex_counts, edge_counts: what the rows of the whole load did, with those that an earlier run applied: ``created``, ``overwritten``
            (existed, and changed), ``unchanged`` (existed, and is as before) and ``deleted``; ``repeated`` of these have a key that an earlier
            row of the load has.
        rejected: the rows that were refused.
        rejects: these rows with the columns ``row`` (their number in the data, from 0), ``code`` and ``message``.
        seconds: the time it took.
        skipped: the rows that an earlier run of the load with this id had applied.
    """

    rows: int
    vertices: int
    edges: int
    rejected: int
    rejects: pa.Table
    seconds: float
    skipped: int
    vertex_counts: dict[str, int] = field(default_factory=dict)
    edge_counts: dict[str, int] = field(default_factory=dict)


Progress = Callable[[int, "int | None"], None]


def load(db: Database, data: Any, vertices: Vertices | None, edges: Edges | None, id: str | None, restart: bool, max_rejects: int | None,
         on_duplicate: str | None, log: bool, progress: bool | Progress | None) -> LoadResult:
    """Loads data; see Database.load."""
    if (vertices is None) == (edges is None):
        raise ValueError("a load has vertices or edges: give one of them")
    reader, total = _reader(data)
    if on_duplicate is not None and vertices is None:
        raise ValueError("on_duplicate is for vertices: edges have no keys")
    mapping: Vertices | Edges = vertices if vertices is not None else edges  # type: ignore[assignment]
    ends = [mapping.source[0], mapping.target[0]] if isinstance(mapping, Edges) else []
    mapping._columns = _properties(mapping, reader.schema, ends)
    command = {"graph": db.graph, "id": id or str(uuid.uuid4()), "forget": id is None, "unlogged": not log, **mapping._command()}
    if on_duplicate is not None:
        command["vertices"]["onDuplicate"] = on_duplicate
    run = _Run(db, command, reader, restart, _bar(progress, total))
    result = run.run()
    if max_rejects is not None and result.rejected > max_rejects:
        first = result.rejects.slice(0, 1).to_pylist()[0]
        raise RejectedError(f"{result.rejected} of {result.rows} rows were refused; the first, row {first['row']}: {first['code']}: {first['message']}",
                            result)
    return result


def _properties(m: Vertices | Edges, schema: pa.Schema, ends: list[str]) -> list[dict[str, str]]:
    given = m.properties
    if given is None:
        given = [n for n in schema.names if n not in ends]
    pairs = given.items() if isinstance(given, Mapping) else [(n, n) for n in given]
    out = [{"name": name, "column": column} for name, column in pairs]
    for name, strategy in m.strategies.items():
        for p in out:
            if p["name"] == name:
                p["strategy"] = strategy.upper()
                break
        else:
            raise ValueError(f"strategies: no property is named {name!r}")
    return out


def _reader(data: Any) -> tuple[pa.RecordBatchReader, int | None]:
    """The rows of data as a stream, and their number if it is known."""
    if isinstance(data, (str, os.PathLike)):
        return _file(os.fspath(data))
    if isinstance(data, pa.RecordBatchReader):
        return data, None
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data.to_reader(), data.num_rows
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        table = pa.Table.from_pandas(data, preserve_index=False)
        return table.replace_schema_metadata(None).to_reader(), table.num_rows
    if module == "polars":
        table = (data.collect() if hasattr(data, "collect") else data).to_arrow()
        return table.to_reader(), table.num_rows
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data), None
    if isinstance(data, Iterable):
        items = list(data)
        if items and all(isinstance(x, (str, os.PathLike)) for x in items):
            return _files([os.fspath(x) for x in items])
        if all(isinstance(x, Mapping) for x in items):
            names = dict.fromkeys(k for x in items for k in x)
            table = pa.table({n: [x.get(n) for x in items] for n in names})
            return table.to_reader(), table.num_rows
    raise TypeError(f"cannot load a {type(data).__name__}: give a data frame, an Arrow table or stream, dicts, or paths of files")


def _file(path: str) -> tuple[pa.RecordBatchReader, int | None]:
    name = path.lower()
    for suffix in (".gz", ".bz2", ".zst"):
        name = name.removesuffix(suffix)
    if name.endswith(".parquet"):
        import pyarrow.parquet

        f = pyarrow.parquet.ParquetFile(path)
        return pa.RecordBatchReader.from_batches(f.schema_arrow, f.iter_batches(_BATCH_ROWS)), f.metadata.num_rows
    if name.endswith((".arrow", ".feather", ".ipc")):
        source = pa.memory_map(path)
        try:
            f = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.OSFile(path)), None
        return pa.RecordBatchReader.from_batches(f.schema, (f.get_batch(i) for i in range(f.num_record_batches))), None
    if name.endswith((".csv", ".tsv")):
        import pyarrow.csv

        options = pyarrow.csv.ParseOptions(delimiter="\t" if name.endswith(".tsv") else ",", newlines_in_values=True)
        return pyarrow.csv.open_csv(path, parse_options=options), None
    if name.endswith((".jsonl", ".ndjson")):
        import pyarrow.json

        table = pyarrow.json.read_json(path)
        return table.to_reader(), table.num_rows
    raise ValueError(f"{path}: not a file of CSV, JSON lines, Parquet or Arrow by its name; graphctl load reads more")


def _files(paths: list[str]) -> tuple[pa.RecordBatchReader, int | None]:
    readers = [_file(p) for p in paths]
    schema = readers[0][0].schema
    for p, (r, _) in zip(paths, readers):
        if not r.schema.equals(schema):
            raise ValueError(f"{p}: has other columns than {paths[0]}")
    counts = [n for _, n in readers]
    total = None if None in counts else sum(n for n in counts if n is not None)
    return pa.RecordBatchReader.from_batches(schema, (b for r, _ in readers for b in r)), total


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The rows in batches of the same size, however they come: a load that is run again must have the same batches."""
    held: list[pa.RecordBatch] = []
    rows, size = 0, 0
    for batch in reader:
        while batch.num_rows:
            each = max(batch.nbytes / batch.num_rows, 1)
            room = min(_BATCH_ROWS - rows, max(int((_BATCH_BYTES - size) / each), 0 if held else 1))
            if room <= 0:
                yield _joined(held)
                held, rows, size = [], 0, 0
                continue
            part, batch = batch.slice(0, room), batch.slice(room)
            held.append(part)
            rows, size = rows + part.num_rows, size + int(each * part.num_rows)
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


@dataclass
class _Sent:
    seq: int
    first: int  # the number of its first row
    batch: pa.RecordBatch


class _Ended(Exception):
    """The server has ended a call. Closing it says why."""


class _Run:
    """A load that goes on, over another call, when its connection is lost."""

    def __init__(self, db: Database, command: dict[str, Any], reader: pa.RecordBatchReader, restart: bool, progress: Progress):
        self.db, self.command, self.reader, self.restart, self.progress = db, command, reader, restart, progress
        self.waiting: deque[_Sent] = deque()  # sent or to be sent again, and not acknowledged
        self.source = _batches(reader)
        self.seq = self.rows = self.acked_rows = self.skipped = 0
        self.before: dict[str, int] = {}  # rows that earlier runs applied to vertices and edges
        self.counts: dict[str, dict[str, int]] = {}
        self.acked = 0
        self.more = True
        self.known = 0  # the last batch that earlier calls have applied
        self.early: dict[int, list[dict[str, Any]]] = {}  # rejected rows of batches that are not read yet
        self.rejects: list[pa.Table] = []
        self.condition = threading.Condition()
        self.failure: BaseException | None = None

    def run(self) -> LoadResult:
        began = time.monotonic()
        tries = 0
        while True:
            before = self.acked
            try:
                self.once()
                break
            except UnavailableError:
                tries = 0 if self.acked > before else tries + 1
                if tries >= _TRIES:
                    raise
                time.sleep(min(0.1 * 2**tries, 3))
        columns = [pa.field("row", pa.int64()), pa.field("code", pa.string()), pa.field("message", pa.string())]
        empty = pa.schema([f for f in self.reader.schema if f.name not in ("row", "code", "message")] + columns).empty_table()
        rejects = pa.concat_tables(self.rejects) if self.rejects else empty
        vertices, edges = (self.applied(k) - self.before[k] for k in _KINDS)
        return LoadResult(self.rows, vertices, edges, rejects.num_rows, rejects, time.monotonic() - began, self.skipped, *self.counts.values())

    def once(self) -> None:
        """Sends what is not acknowledged over one call."""
        call = Call()
        self.failure = None
        cancellable(lambda: self.fail(TimeoutError("the load was cancelled")))
        command = {**self.command, "restart": self.restart}
        with call.errors():
            descriptor = flight.FlightDescriptor.for_command(json.dumps(command).encode())
            writer, answers = self.db._connection.client.do_put(descriptor, self.reader.schema, self.db._connection.options())
        with call.errors():
            try:
                answer = answers.read()
                if answer is None:
                    self.end(writer)
                opened = json.loads(answer.to_pybytes())
                self.restart = False
                self.known = opened["opened"]
                self.counts = {k: dict.fromkeys(_COUNTS[k], 0) for k in _KINDS}
                self.count(opened)  # all applied batches, those whose acknowledgements were lost too
                if not self.before:
                    self.before = {k: self.applied(k) for k in _KINDS}
                for ack in opened.get("refused", []):
                    self.refused(ack)
                listener = threading.Thread(target=self.listen, args=(call, answers), daemon=True)
                listener.start()
                try:
                    self.send(writer)
                    self.wait(lambda: not self.waiting)
                except BaseException:
                    if self.failure is None:
                        listener.join(5)  # which learns why
                    with contextlib.suppress(Exception):
                        writer.done_writing()
                        listener.join()  # closing waits for it
                    if isinstance(self.failure, _Ended):
                        self.end(writer)
                    if self.failure is not None:
                        raise self.failure
                    raise
                writer.done_writing()
                listener.join()  # all is acknowledged: whatever happens to the call now makes no difference
            finally:
                with contextlib.suppress(Exception):  # the error of the call is known
                    writer.close()

    def count(self, answer: dict[str, Any]) -> None:
        """Adds the counts of an answer."""
        for kind, counts in self.counts.items():
            for name, n in answer.get(kind, {}).items():
                counts[name] += n

    def applied(self, kind: str) -> int:
        """The rows that were applied to vertices or to edges."""
        return sum(self.counts[kind][name] for name in _OUTCOMES)

    def end(self, writer: Any) -> None:
        """Raises why the server has ended the call."""
        writer.close()
        raise HopgateError("the server has ended the load early")

    def wait(self, until: Callable[[], bool]) -> None:
        with self.condition:
            while not until():
                if self.failure is not None:
                    raise self.failure
                self.condition.wait(1)

    def send(self, writer: Any) -> None:
        for sent in list(self.waiting):
            if sent.seq > self.known:
                self.write(writer, sent)
            else:
                self.done(sent)  # applied, and its rejects came with the opening
        while self.more:
            self.wait(lambda: len(self.waiting) < _AHEAD)
            if self.failure is not None:
                raise self.failure
            batch = next(self.source, None)
            if batch is None:
                self.more = False
                return
            self.seq += 1
            sent = _Sent(self.seq, self.rows, batch)
            self.rows += batch.num_rows
            with self.condition:
                self.waiting.append(sent)
            if sent.seq <= self.known:
                self.skipped += batch.num_rows
                self.refused({"seq": sent.seq, "rejected": self.early.pop(sent.seq, [])})
                self.done(sent)
            else:
                self.write(writer, sent)

    def write(self, writer: Any, sent: _Sent) -> None:
        writer.write_with_metadata(sent.batch, json.dumps({"seq": sent.seq, "confirmed": self.acked}).encode())

    def listen(self, call: Call, answers: Any) -> None:
        """Receives the acknowledgements of a call."""
        try:
            with call.errors():
                while True:
                    answer = answers.read()
                    if answer is None:
                        if self.waiting:
                            raise _Ended
                        return
                    ack = json.loads(answer.to_pybytes())
                    self.refused(ack)
                    self.count(ack)
                    with self.condition:
                        if self.waiting and self.waiting[0].seq == ack["seq"]:
                            sent = self.waiting.popleft()
                            self.acked_rows += sent.batch.num_rows
                        self.acked = max(self.acked, ack["seq"])
                        self.condition.notify_all()
                    self.progress(self.acked_rows, None)
        except BaseException as err:
            self.fail(err)

    def fail(self, err: BaseException) -> None:
        """Ends the call for a reason, unless it has one."""
        with self.condition:
            self.failure = self.failure or err
            self.condition.notify_all()

    def done(self, sent: _Sent) -> None:
        with self.condition:
            self.waiting.remove(sent)
            self.acked = max(self.acked, sent.seq)
            self.acked_rows += sent.batch.num_rows
        self.progress(self.acked_rows, None)

    def refused(self, ack: dict[str, Any]) -> None:
        """Keeps the rows that an acknowledgement refuses."""
        rejected = ack.get("rejected") or []
        sent = next((s for s in list(self.waiting) if s.seq == ack["seq"]), None)
        if sent is None:
            if rejected:
                self.early[ack["seq"]] = rejected
            return
        if not rejected:
            return
        rejected.sort(key=lambda r: r["row"])
        table = pa.Table.from_batches([sent.batch.take(pa.array([r["row"] for r in rejected], pa.int64()))])
        table = table.drop_columns([n for n in table.schema.names if n in ("row", "code", "message")])
        for name, values, kind in (("row", [sent.first + r["row"] for r in rejected], pa.int64()),
                                   ("code", [r["code"] for r in rejected], pa.string()), ("message", [r["message"] for r in rejected], pa.string())):
            table = table.append_column(pa.field(name, kind), pa.array(values, kind))
        self.rejects.append(table)


def _bar(progress: bool | Progress | None, total: int | None) -> Progress:
    """The function that reports progress: that of the caller, or a line on a terminal after two seconds."""
    if callable(progress):
        return lambda done, _: progress(done, total)
    if progress is False or progress is None and not sys.stderr.isatty() and "ipykernel" not in sys.modules:
        return lambda done, _: None
    began, last = time.monotonic(), [0.0]

    def show(done: int, _: int | None) -> None:
        now = time.monotonic()
        if now - began < 2 or now - last[0] < 0.2 and done != total:
            return
        last[0] = now
        rate = done / (now - began)
        if total:
            filled = 30 * done // total
            sys.stderr.write(f"\r{'█' * filled}{'░' * (30 - filled)} {done:,} of {total:,} rows, {rate:,.0f}/s ")
            if done == total:
                sys.stderr.write("\n")
        else:
            sys.stderr.write(f"\r{done:,} rows, {rate:,.0f}/s ")
        sys.stderr.flush()

    return show
