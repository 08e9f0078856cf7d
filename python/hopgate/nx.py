"""A backend of NetworkX: functions of NetworkX that Hopgate computes.

``nx.pagerank(hopgate.nx.Graph(db, labels=["Person"], types=["KNOWS"]))`` computes in the server, over the graph that is there.
``nx.pagerank(g, backend="hopgate")`` copies a graph of NetworkX first to a graph of its own, which is dropped with the copy, on the server
of ``hopgate.nx.use``, or on one that starts for that.
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import pyarrow as pa

from ._client import Database
from ._load import Edges, Vertices
from ._server import open as _open
from ._types import quoted

_server: Database | None = None


def use(db: Database) -> None:
    """Has graphs of NetworkX copied to the server of a Database."""
    global _server
    _server = db


def _default() -> Database:
    global _server
    if _server is None:
        directory = tempfile.mkdtemp(prefix="hopgate-networkx-")
        _server = db = _open(directory)

        def end(process: int = os.getpid()) -> None:
            if os.getpid() == process:
                db.close()
                shutil.rmtree(directory, ignore_errors=True)

        atexit.register(end)
    return _server


class Graph:
    """A graph in Hopgate, or its vertices of some labels and edges of some types, for functions of NetworkX.

    Args:
        db: the graph.
        labels, types: names of labels and of types; by default all.
        key: the property that names the nodes in arguments and results; by default their element ids.
        directed: whether the directions of edges count.
    """

    __networkx_backend__ = "hopgate"

    def __init__(self, db: Database, labels: Sequence[str] | None = None, types: Sequence[str] | None = None, key: str | None = None,
                 directed: bool = True):
        self.db, self.key = db, key
        self.graph: dict[str, Any] = {}  # NetworkX looks here
        self._directed = directed
        self._labels, self._types = list(labels or ()), list(types or ())
        self._nodes: list[Hashable] | None = None  # of a copy: the nodes by their keys, which are numbers

    def is_directed(self) -> bool:
        """Whether the directions of edges count."""
        return self._directed

    def is_multigraph(self) -> bool:
        """True: two nodes may have several edges."""
        return True

    @property
    def _direction(self) -> str:
        return "out" if self._directed else "both"

    def _name(self, variable: str) -> str:
        """The expression of a node's key."""
        return f"elementId({variable})" if self.key is None else f"{variable}.{quoted(self.key)}"

    def _pattern(self, variable: str) -> str:
        """The pattern of a node of the graph."""
        return f"({variable}{':' if self._labels else ''}{'|'.join(map(quoted, self._labels))})"

    @functools.cached_property
    def _keys(self) -> dict[Hashable, int]:
        return {n: i for i, n in enumerate(self._nodes or ())}

    def _key(self, node: Any) -> Any:
        """The key of a node, which must be there."""
        if self._nodes is not None:
            if node not in self._keys:
                raise nx.NodeNotFound(f"Node {node} is not in the graph")
            return self._keys[node]
        found = self.db.query(f"MATCH {self._pattern('n')} WHERE {self._name('n')} = $key RETURN count(n)", key=node)
        if found.value() == 0:
            raise nx.NodeNotFound(f"Node {node} is not in the graph")
        return node

    def _node(self, key: Any) -> Any:
        return key if self._nodes is None else self._nodes[key]

    def _run(self, procedure: str, result: str, entries: str = "", before: str = "", **params: Any) -> dict[Any, Any]:
        """The result of an algorithm by node."""
        inner = [f"{k}: ${k}" for k, v in (("labels", self._labels), ("types", self._types)) if v]
        if entries:
            inner.append(entries)
        rows = self.db.query(
            f"{before} CALL algo.{procedure}({{{', '.join(inner)}}}) YIELD node, {result} RETURN {self._name('node')} AS name, {result} AS result",
            {"labels": self._labels, "types": self._types}, **params)
        return {self._node(key): value for key, value in rows.lists()}

    def _networkx(self) -> Any:
        """The graph as one of NetworkX, with properties as attributes, for what Hopgate does not compute."""
        g = nx.MultiDiGraph() if self._directed else nx.MultiGraph()
        nodes = self.db.query(f"MATCH {self._pattern('n')} RETURN {self._name('n')} AS name, properties(n) AS properties")
        g.add_nodes_from((self._node(r["name"]), r["properties"]) for r in nodes)
        types = ":" * bool(self._types) + "|".join(map(quoted, self._types))
        edges = self.db.query(f"MATCH {self._pattern('a')}-[r{types}]->{self._pattern('b')} "
                              f"RETURN {self._name('a')} AS a, {self._name('b')} AS b, properties(r) AS properties")
        g.add_edges_from((self._node(r["a"]), self._node(r["b"]), r["properties"]) for r in edges)
        return g

    def _groups(self, procedure: str) -> list[set[Any]]:
        groups: dict[Any, set[Any]] = {}
        for node, name in self._run(procedure, "component").items():
            groups.setdefault(name, set()).add(node)
        return list(groups.values())


def _copy(g: Any, weights: Mapping[str, Any]) -> Graph:
    """A copy of a graph of NetworkX, with attributes of edges that are weights; an edge without one has the value given."""
    server = _default()
    name = "networkx_" + uuid.uuid4().hex
    server.query(f"CREATE GRAPH {name}")
    db = server.using(graph=name)
    out = Graph(db, key="n", directed=g.is_directed())
    weakref.finalize(out, _drop, server, name)
    out._nodes = list(g)
    edges: dict[tuple[int, int], list[Any]] = {}  # with their weights, of parallel ones the least
    for u, v, d in g.edges(data=True):
        ends, values = (out._keys[u], out._keys[v]), [d.get(name, missing) for name, missing in weights.items()]
        edges[ends] = list(map(min, values, edges.get(ends, values)))
    db.load(pa.table({"n": pa.array(range(len(out._nodes)), pa.int64())}), vertices=Vertices("Node", "n"), progress=False)
    rows = pa.table({
        "a": pa.array([a for a, _ in edges], pa.int64()), "b": pa.array([b for _, b in edges], pa.int64()),
        **{name: pa.array([values[i] for values in edges.values()], pa.float64()) for i, name in enumerate(weights)}})
    db.load(rows, edges=Edges("EDGE", ("a", "Node", "n"), ("b", "Node", "n")), progress=False)
    return out


def _drop(server: Database, name: str) -> None:
    with contextlib.suppress(Exception):  # the server may have ended
        server.query(f"DROP GRAPH {name} IF EXISTS")


class _Backend:
    """The functions that NetworkX dispatches, with a Graph in place of its own."""

    @staticmethod
    def convert_from_nx(graph: Any, *_: Any, edge_attrs: Mapping[str, Any] | None = None, **__: Any) -> Graph:
        return graph if isinstance(graph, Graph) else _copy(graph, edge_attrs or {})

    @staticmethod
    def convert_to_nx(result: Any, **_: Any) -> Any:
        return result._networkx() if isinstance(result, Graph) else result

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Whether Hopgate computes a call as NetworkX does; or why not."""
        try:
            bound = inspect.signature(getattr(_Backend, name)).bind(*args, **kwargs)
        except TypeError as err:
            return str(err)
        bound.apply_defaults()
        given, g = bound.arguments, bound.arguments["G"]
        ours = isinstance(g, Graph)
        for argument in ("personalization", "nstart", "dangling", "k", "endpoints", "nodes", "cutoff"):
            if given.get(argument) is not None and given[argument] is not False:
                return f"{argument} is not supported"
        if why := _weights(name, g, given.get("weight")):
            return why
        if g.is_directed() and name in _UNDIRECTED or not g.is_directed() and name in _DIRECTED:
            return "the graph is of the other kind"
        if not ours and name in _SIMPLE and (g.is_multigraph() or nx.number_of_selfloops(g)):
            return "parallel edges and loops are not supported"
        for argument in ("source", "target"):
            if argument in given and given[argument] is None and (name, argument) != ("shortest_path_length", "target"):
                return f"it needs a {argument}"
        return True

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Whether a call is worth a copy of its graph; or why not."""
        g = args[0] if args else kwargs["G"]
        return isinstance(g, Graph) or g.number_of_edges() >= _WORTH or f"a graph of fewer than {_WORTH} edges takes longer to copy"

    @staticmethod
    def pagerank(G: Graph, alpha: float = 0.85, personalization: Any = None, max_iter: int = 100, tol: float = 1e-6, nstart: Any = None,
                 weight: str | None = "weight", dangling: Any = None) -> dict[Any, float]:
        return G._run("pageRank", "rank", "damping: $alpha, maxIterations: $most, tolerance: $tol, direction: $direction", alpha=float(alpha),
                      most=max_iter, tol=tol, direction=G._direction)

    @staticmethod
    def connected_components(G: Graph) -> Iterator[set[Any]]:
        yield from G._groups("wcc")

    @staticmethod
    def number_connected_components(G: Graph) -> int:
        return len(G._groups("wcc"))

    weakly_connected_components, number_weakly_connected_components = connected_components, number_connected_components

    @staticmethod
    def strongly_connected_components(G: Graph) -> Iterator[set[Any]]:
        yield from G._groups("scc")

    @staticmethod
    def number_strongly_connected_components(G: Graph) -> int:
        return len(G._groups("scc"))

    @staticmethod
    def core_number(G: Graph) -> dict[Any, int]:
        return G._run("kCore", "core")

    @staticmethod
    def triangles(G: Graph, nodes: Any = None) -> dict[Any, int]:
        return G._run("triangleCount", "triangles")

    @staticmethod
    def clustering(G: Graph, nodes: Any = None, weight: str | None = None) -> dict[Any, float]:
        return G._run("lcc", "coefficient", "direction: 'both'")

    @staticmethod
    def betweenness_centrality(G: Graph, k: int | None = None, normalized: bool = True, weight: str | None = None, endpoints: bool = False,
                               seed: Any = None) -> dict[Any, float]:
        scores = G._run("betweenness", "score", "direction: $direction", direction=G._direction)
        n, scale = len(scores), 1.0
        if normalized and n > 2:
            scale = (1 if G.is_directed() else 2) / ((n - 1) * (n - 2))
        return {node: score * scale for node, score in scores.items()}

    @staticmethod
    def single_source_shortest_path_length(G: Graph, source: Any, cutoff: Any = None) -> dict[Any, int]:
        found = G._run("bfs", "distance", "source: s, direction: $direction", f"MATCH {G._pattern('s')} WHERE {G._name('s')} = $key",
                       key=G._key(source), direction=G._direction)
        return dict(sorted(((n, d) for n, d in found.items() if d is not None), key=lambda item: item[1]))

    @staticmethod
    def single_source_dijkstra_path_length(G: Graph, source: Any, cutoff: Any = None, weight: str = "weight") -> dict[Any, float]:
        found = G._run("sssp", "distance", "source: s, direction: $direction, weight: $weight", f"MATCH {G._pattern('s')} WHERE {G._name('s')} = $key",
                       key=G._key(source), direction=G._direction, weight=weight)
        return dict(sorted(((n, d) for n, d in found.items() if d is not None), key=lambda item: item[1]))

    @staticmethod
    def shortest_path_length(G: Graph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra") -> Any:
        lengths = _Backend.single_source_shortest_path_length(G, source)
        if target is None:
            return lengths
        if target not in lengths:
            G._key(target)
            raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
        return lengths[target]

    @staticmethod
    def shortest_path(G: Graph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra") -> list[Any]:
        start, end = G._key(source), G._key(target)
        if start == end:
            return [source]
        types = ":" * bool(G._types) + "|".join(map(quoted, G._types))
        inside = ""
        if G._labels:
            inside = f"WHERE all(x IN nodes(p) WHERE {' OR '.join(f'x:{quoted(label)}' for label in G._labels)})"
        found = G.db.query(
            f"MATCH {G._pattern('a')}, {G._pattern('b')} WHERE {G._name('a')} = $start AND {G._name('b')} = $end "
            f"MATCH p = shortestPath((a)-[{types}*]-{'>' if G.is_directed() else ''}(b)) {inside} RETURN [x IN nodes(p) | {G._name('x')}]",
            start=start, end=end).lists()
        if not found:
            raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
        return [G._node(key) for key in found[0][0]]


def _weights(name: str, g: Any, weight: Any) -> str:
    """Why a call cannot use the weights that it asks for; "" if it can."""
    if weight is None or name == "pagerank" and isinstance(g, Graph):
        return ""
    if not isinstance(weight, str):
        return "a weight must be the name of an attribute"
    if isinstance(g, Graph):
        return "" if name == "single_source_dijkstra_path_length" else "weights are not supported"
    values = [d[weight] for *_, d in g.edges(data=True) if weight in d]
    if name == "single_source_dijkstra_path_length":
        fit = all(isinstance(v, (int, float)) and 0 <= v <= _EXACT for v in values)
        return "" if fit else "weights must be numbers from 0"
    return "weights are not supported" if values or name != "pagerank" else ""


_EXACT = 1 << 53  # integers up to it are floats
_WORTH = 100_000  # edges, from which a copy may pay
_SIMPLE = {"pagerank", "core_number", "triangles", "clustering", "betweenness_centrality"}  # loops and parallel edges count otherwise there
_UNDIRECTED = {"connected_components", "number_connected_components", "core_number", "triangles", "clustering"}
_DIRECTED = {
    "weakly_connected_components", "number_weakly_connected_components", "strongly_connected_components", "number_strongly_connected_components",
}

backend = _Backend()


def info() -> dict[str, Any]:
    """What NetworkX shows of the backend."""
    functions = [n for n, f in vars(_Backend).items() if isinstance(f, staticmethod) and n not in ("convert_from_nx", "convert_to_nx", "can_run", "should_run")]
    return {"short_summary": "Hopgate, a graph store: computes in its server.", "functions": {n: {} for n in functions}}
