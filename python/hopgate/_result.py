"""Results of statements and traversals."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _values
from ._errors import HopgateError
from ._types import Node, Path, Relationship

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars


class Result:
    """The rows of a statement or a traversal.

    Rows arrive in batches while they are read: iterate over the result, or over ``arrow()``, and only one batch is in memory. The other
    methods read all rows first and may be called again. A result that is not needed to its end should be closed, or used in a ``with``.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], summary: Callable[[], dict[str, Any]], close: Callable[[], None]):
        self.schema = schema
        self._batches: Iterator[pa.RecordBatch] | None = batches
        self._table: pa.Table | None = None
        self._get_summary, self._close = summary, close

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def summary(self) -> dict[str, Any]:
        """What the server reports at the end: ``counters`` of changes, ``type``, ``notifications``. Reads the rows that are not read yet."""
        if self._batches is not None:
            self.table()
        return self._get_summary()

    def _stream(self) -> Iterator[pa.RecordBatch]:
        if self._batches is None:
            raise HopgateError("the rows of this result have been read: run the request again, or read them by table() first")
        batches, self._batches = self._batches, None
        return batches

    def arrow(self) -> pa.RecordBatchReader:
        """The rows as a stream of record batches, with the types that docs/http.md lists. Nodes and relationships are structs with a field
        for each property; labels and types are dictionary-encoded."""
        if self._table is not None:
            return self._table.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._stream())

    def table(self) -> pa.Table:
        """All rows as an Arrow table."""
        if self._table is None:
            self._table = pa.Table.from_batches(list(self._stream()), self.schema)
        return self._table

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts by column, in batches as they arrive."""
        batches = self._stream() if self._table is None else self._table.to_batches()
        names = self.columns
        for batch in batches:
            for row in self._cells(batch):
                yield dict(zip(names, row))

    def _cells(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        if not self.schema.names:
            return iter([()] * batch.num_rows)
        return zip(*(_values.column(f, batch.column(i)) for i, f in enumerate(self.schema)))

    def rows(self) -> list[dict[str, Any]]:
        """All rows as dicts by column. A column whose name repeats counts once: use ``lists()``."""
        self.table()
        return list(self)

    def lists(self) -> list[list[Any]]:
        """All rows as lists."""
        return [list(row) for batch in self.table().to_batches() for row in self._cells(batch)]

    def __len__(self) -> int:
        return int(self.table().num_rows)

    def __bool__(self) -> bool:
        return True

    def single(self) -> dict[str, Any]:
        """The only row."""
        rows = self.rows()
        if len(rows) != 1:
            raise HopgateError(f"the result has {len(rows)} rows, not one")
        return rows[0]

    def value(self) -> Any:
        """The first column of the only row."""
        return next(iter(self.single().values()))

    def df(self) -> pandas.DataFrame:
        """All rows as a data frame of pandas. Integers and booleans with nulls get pandas' nullable types. Nodes, relationships, paths, points
        and values of several types are objects of Python."""
        import pandas

        table, out = self.table(), {}
        for i, f in enumerate(self.schema):
            data = table.column(i)
            if not _values.plain(f):
                cells = [v for chunk in data.chunks for v in _values.column(f, chunk)]
                out[i] = pandas.Series(cells, dtype=object)
            elif data.null_count and pa.types.is_int64(f.type):
                out[i] = data.to_pandas(types_mapper={pa.int64(): pandas.Int64Dtype()}.get)
            elif data.null_count and pa.types.is_boolean(f.type):
                out[i] = data.to_pandas(types_mapper={pa.bool_(): pandas.BooleanDtype()}.get)
            else:
                out[i] = data.to_pandas()
        frame = pandas.DataFrame(out, index=pandas.RangeIndex(table.num_rows))
        frame.columns = self.columns
        return frame

    def pl(self) -> polars.DataFrame:
        """All rows as a data frame of Polars. Nodes and relationships are structs with a field for each property."""
        import polars

        table = self.table()
        for i, f in enumerate(table.schema):
            if isinstance(f.type, pa.BaseExtensionType):
                table = table.set_column(i, f.name, table.column(i).cast(f.type.storage_type))
        return polars.from_arrow(_plain_extensions(table))  # type: ignore[return-value]

    def elements(self) -> tuple[dict[str, Node], dict[str, Relationship]]:
        """The distinct nodes and relationships in the rows, in paths, lists and maps too, by their element ids."""
        nodes: dict[str, Node] = {}
        relationships: dict[str, Relationship] = {}

        def collect(v: Any) -> None:
            if isinstance(v, Node):
                nodes.setdefault(v.element_id, v)
            elif isinstance(v, Relationship):
                relationships.setdefault(v.element_id, v)
            elif isinstance(v, Path):
                for x in v.nodes:
                    collect(x)
                for y in v.relationships:
                    collect(y)
            elif isinstance(v, list):
                for x in v:
                    collect(x)
            elif isinstance(v, dict):
                for x in v.values():
                    collect(x)

        for row in self.lists():
            collect(row)
        return nodes, relationships

    def networkx(self, key: str | None = None) -> networkx.MultiDiGraph:
        """The nodes and relationships of the rows as a graph of NetworkX: properties and ``labels`` are attributes of nodes, properties and
        ``type`` those of edges. Nodes are named by the property ``key``, or by their element ids; edges by theirs. A property that is named as
        another attribute gets an underscore: ``type_``."""
        import networkx

        nodes, relationships = self.elements()
        g = networkx.MultiDiGraph()
        name = _namer(nodes, key)
        for id, n in nodes.items():
            g.add_node(name(id), labels=n.labels, **_renamed(n, "labels"))
        for id, r in relationships.items():
            g.add_edge(name(r.start), name(r.end), key=id, type=r.type, **_renamed(r, "type", "key"))
        return g

    def igraph(self, key: str | None = None) -> igraph.Graph:
        """As ``networkx``, but a directed graph of igraph, whose vertices have their names in ``name``."""
        import igraph

        nodes, relationships = self.elements()
        name = _namer(nodes, key)
        number: dict[Any, int] = {}
        for id in [*nodes, *(end for r in relationships.values() for end in (r.start, r.end))]:
            number.setdefault(id, len(number))
        g = igraph.Graph(len(number), [(number[r.start], number[r.end]) for r in relationships.values()], directed=True)
        g.vs["name"] = [name(id) for id in number]
        g.vs["labels"] = [list(nodes[id].labels) if id in nodes else [] for id in number]
        vertices = [_renamed(nodes[id], "name", "labels") if id in nodes else {} for id in number]
        for k in dict.fromkeys(k for v in vertices for k in v):
            g.vs[k] = [v.get(k) for v in vertices]
        g.es["type"] = [r.type for r in relationships.values()]
        edges = [_renamed(r, "type") for r in relationships.values()]
        for k in dict.fromkeys(k for e in edges for k in e):
            g.es[k] = [e.get(k) for e in edges]
        return g

    def close(self) -> None:
        """Ends the request if its rows are not all read."""
        if self._batches is not None:
            self._batches = iter(())
            self._close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rows = f"{self._table.num_rows} rows" if self._table is not None else "not read"
        return f"<hopgate.Result of {', '.join(self.columns) or 'no columns'}: {rows}>"


def _renamed(element: Node | Relationship, *taken: str) -> dict[str, Any]:
    """The properties of an element. Those with a taken name get an underscore."""
    return {k + "_" if k in taken else k: v for k, v in element.properties.items()}


def _namer(nodes: dict[str, Node], key: str | None) -> Callable[[str], Any]:
    if key is None:
        return lambda id: id
    return lambda id: nodes[id].get(key, id) if id in nodes else id


def _plain_extensions(table: pa.Table) -> pa.Table:
    """The table with the storage of nested extension types, which Polars does not read."""
    fields = [pa.field(f.name, _storage_type(f.type), f.nullable) for f in table.schema]
    if all(a.type == b.type for a, b in zip(fields, table.schema)):
        return table
    return pa.table([_storage(c, f.type) for c, f in zip(table.columns, fields)], schema=pa.schema(fields))


def _storage_type(t: pa.DataType) -> pa.DataType:
    if isinstance(t, pa.BaseExtensionType):
        return _storage_type(t.storage_type)
    if pa.types.is_list(t):
        return pa.list_(pa.field(t.value_field.name, _storage_type(t.value_type)))
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, _storage_type(f.type)) for f in t])
    return t


def _storage(column: pa.ChunkedArray, t: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([_stored(c) for c in column.chunks], t)


def _stored(a: pa.Array) -> pa.Array:
    if isinstance(a, pa.ExtensionArray):
        return _stored(a.storage)
    t = _storage_type(a.type)
    if t == a.type:
        return a
    mask = a.is_null() if a.null_count else None
    if pa.types.is_list(a.type):
        return pa.ListArray.from_arrays(a.offsets, _stored(a.values), t, mask=mask)
    return pa.StructArray.from_arrays([_stored(c) for c in a.flatten()], fields=list(t), mask=mask)


def summary_of(text: Any) -> dict[str, Any]:
    """A summary of the server, which is JSON."""
    return json.loads(text) if text else {}
