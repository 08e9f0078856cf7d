"""PyTorch Geometric over Hopgate: properties and edges of a graph as tensors.

``features, edges = hopgate.pyg.stores(db, {"Paper": {"x": "embedding", "y": "topic"}})`` are a feature store and a graph store, which loaders of
PyTorch Geometric take as a pair; ``hetero_data(features, edges)`` reads all of both.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

try:
    import torch
    from torch_geometric.data import EdgeAttr, FeatureStore, GraphStore, HeteroData, TensorAttr
    from torch_geometric.data.graph_store import EdgeLayout
except ImportError as err:
    raise ImportError(f"hopgate.pyg needs more packages ({err}): pip install 'hopgate[pyg]'") from err

from ._client import Database
from ._errors import HopgateError
from ._types import quoted

_ROWS = 10_000  # in a statement that writes

EdgeType = tuple[str, str, str]


class _Nodes:
    """The nodes of labels by their numbers: 0, 1, … in the order of their ids, as they were when a label was first read."""

    def __init__(self, db: Database):
        self.db, self._ids, self._lock = db, dict[str, torch.Tensor](), threading.Lock()

    def ids(self, label: str) -> torch.Tensor:
        with self._lock:
            if label not in self._ids:
                table = self.db.query(f"MATCH (n:{quoted(label)}) RETURN id(n) AS id ORDER BY id").table()
                self._ids[label] = _tensor(table.column("id"), "the ids").to(torch.int64)
            return self._ids[label]

    def numbers(self, label: str, ids: torch.Tensor) -> torch.Tensor:
        """The numbers of nodes."""
        own = self.ids(label)
        at = torch.searchsorted(own, ids)
        if len(ids) and (len(own) == 0 or not torch.equal(own[at.clamp(max=len(own) - 1)], ids)):
            raise _changed(label)
        return at

    def forget(self) -> None:
        with self._lock:
            self._ids.clear()


def _changed(label: str) -> HopgateError:
    return HopgateError(f"the nodes with the label {label} are no longer those that were numbered: call refresh()")


def _tensor(column: pa.ChunkedArray, what: str) -> torch.Tensor:
    """Numbers or truth values as a vector, lists of them as a matrix."""
    if column.null_count:
        raise HopgateError(f"{what}: {column.null_count} of {len(column)} nodes have no value")
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
    shape: tuple[int, ...] = (len(values),)
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        flat = values.flatten()
        width = len(flat) // max(1, len(values))
        if any(n != width for n in pc.unique(pc.list_value_length(values)).to_pylist()):
            raise HopgateError(f"{what}: the lists of the nodes differ in length")
        values, shape = flat, (len(values), width)
    if values.null_count or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type)):
        if len(values):
            raise HopgateError(f"{what}: values must be numbers, truth values or lists of these, not {values.type}")
        return torch.empty(shape)
    return torch.from_numpy(values.to_numpy(zero_copy_only=False).copy()).reshape(shape)


class HopgateFeatures(FeatureStore):  # type: ignore[misc]
    """Properties of nodes as tensors. ``stores`` makes one. Threads may share it, processes may not."""

    def __init__(self, nodes: _Nodes, properties: dict[str, dict[str, str]]):
        super().__init__()
        self._nodes, self._properties = nodes, properties

    def refresh(self) -> None:
        """Numbers the nodes again, after some were created or deleted."""
        self._nodes.forget()

    def num_nodes(self, label: str) -> int:
        """The number of nodes with a label."""
        return len(self._nodes.ids(label))

    def _property(self, attr: TensorAttr) -> str:
        names = self._properties.get(attr.group_name, {})
        if attr.attr_name not in names:
            raise KeyError(f"there is no tensor {attr.attr_name} of {attr.group_name}")
        return names[attr.attr_name]

    def _get_tensor(self, attr: TensorAttr) -> torch.Tensor:
        label, key = attr.group_name, self._property(attr)
        ids, inverse = self._nodes.ids(label), None
        match, params = f"MATCH (n:{quoted(label)})", {}
        if attr.index is not None:
            ids, inverse = torch.unique(_some(ids, attr.index), return_inverse=True)
            match, params = "UNWIND $ids AS id MATCH (n) WHERE id(n) = id", {"ids": ids.tolist()}
        table = self._nodes.db.query(f"{match} RETURN id(n) AS id, n.{quoted(key)} AS v ORDER BY id", params).table()
        if not torch.equal(_tensor(table.column("id"), "the ids").to(torch.int64), ids):
            raise _changed(label)
        values = _tensor(table.column("v"), f"property {key} of {label}")
        return values if inverse is None else values[inverse]

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        n = self.num_nodes(attr.group_name)
        if not attr.is_set("attr_name") or attr.attr_name is None or n == 0:
            return (n,)
        return (n, *self._get_tensor(TensorAttr(attr.group_name, attr.attr_name, slice(0, 1))).shape[1:])

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        return [TensorAttr(label, name) for label, names in self._properties.items() for name in names]

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        """Sets a property, in one transaction. A tensor with a new name is the property of that name."""
        ids, values = self._nodes.ids(attr.group_name), torch.as_tensor(tensor)
        if attr.index is not None:
            ids = _some(ids, attr.index)
        if len(ids) != len(values):
            raise ValueError(f"the tensor has {len(values)} rows for {len(ids)} nodes")
        names = self._properties.setdefault(attr.group_name, {})
        key = quoted(names.get(attr.attr_name, attr.attr_name))
        with self._nodes.db.transaction() as tx:
            for i in range(0, len(ids), _ROWS):
                tx.query(f"UNWIND range(0, size($ids) - 1) AS i MATCH (n) WHERE id(n) = $ids[i] SET n.{key} = $values[i]",
                         {"ids": ids[i:i + _ROWS].tolist(), "values": values[i:i + _ROWS].tolist()})
        names.setdefault(attr.attr_name, attr.attr_name)
        return True

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        """Removes the property from all nodes with the label."""
        self._nodes.db.query(f"MATCH (n:{quoted(attr.group_name)}) REMOVE n.{quoted(self._property(attr))}")
        del self._properties[attr.group_name][attr.attr_name]
        return True


def _some(ids: torch.Tensor, index: Any) -> torch.Tensor:
    """The ids at an index: numbers, a mask, a slice, or one number."""
    if isinstance(index, int):
        index = slice(index, index + 1 or None)
    return ids[index if isinstance(index, slice) else torch.as_tensor(index)]


class HopgateEdges(GraphStore):  # type: ignore[misc]
    """Edges as tensors of the numbers of their ends. ``stores`` makes one."""

    def __init__(self, nodes: _Nodes, types: list[EdgeType]):
        super().__init__()
        self._nodes, self._types = nodes, types

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The ends in the layout COO, by their targets; PyTorch Geometric makes others of it."""
        if edge_attr.layout != EdgeLayout.COO or tuple(edge_attr.edge_type) not in self._types:
            return None
        source, kind, target = edge_attr.edge_type
        table = self._nodes.db.query(f"MATCH (a:{quoted(source)})-[:{quoted(kind)}]->(b:{quoted(target)}) RETURN id(a) AS a, id(b) AS b").table()
        row, col = (self._nodes.numbers(label, _tensor(table.column(name), "the ids").to(torch.int64)) for label, name in ((source, "a"), (target, "b")))
        order = row.argsort(stable=True)
        order = order[col[order].argsort(stable=True)]
        return row[order], col[order]

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        return [EdgeAttr(t, EdgeLayout.COO, True, (len(self._nodes.ids(t[0])), len(self._nodes.ids(t[2])))) for t in self._types]

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError("edges are written by Database.load or by statements")

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError("edges are deleted by statements")


def stores(db: Database, features: Mapping[str, Mapping[str, str] | Iterable[str]],
           edges: Iterable[EdgeType] | None = None) -> tuple[HopgateFeatures, HopgateEdges]:
    """A feature store and a graph store.

    Args:
        db: the graph.
        features: for each label its tensors with the property of each, ``{"Paper": {"x": "embedding"}}``, or the properties alone, ``{"Paper": ["x"]}``.
            Properties are numbers, truth values, lists of these of one length, or vectors, and every node with the label has them.
        edges: triples of label, type and label. By default those that the graph has between the labels of ``features``.
    """
    nodes = _Nodes(db)
    if edges is None:
        rows = db.query("CALL apoc.meta.data() YIELD label, property, other, elementType, type WHERE elementType = 'node' AND type = 'RELATIONSHIP' "
                        "UNWIND other AS target RETURN DISTINCT label, property, target ORDER BY label, property, target").lists()
        edges = [(a, t, b) for a, t, b in rows if a in features and b in features]
    properties = {label: dict(of) if isinstance(of, Mapping) else {key: key for key in of} for label, of in features.items()}
    return HopgateFeatures(nodes, properties), HopgateEdges(nodes, [(a, t, b) for a, t, b in edges])


def hetero_data(features: HopgateFeatures, edges: HopgateEdges) -> HeteroData:
    """All tensors and edges of both stores. Statements that write meanwhile may be seen in part."""
    data = HeteroData()
    for label, names in features._properties.items():
        data[label].num_nodes = features.num_nodes(label)
        for name in names:
            data[label][name] = features.get_tensor(label, name, index=None)
    for attr in edges.get_all_edge_attrs():
        data[attr.edge_type].edge_index = torch.stack(edges.get_edge_index(attr))
    return data
