"""LangChain over Hopgate: a vector store and a graph store.

``HopgateVector(db, embedding)`` keeps documents with their embeddings; ``HopgateGraph(db)`` answers a chain's statements and takes the graphs
that a language model finds in texts. Both take a Database, so they work in a directory and with a server.
"""
from __future__ import annotations

import datetime
import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

try:
    from langchain_community.graphs.graph_document import GraphDocument
    from langchain_community.graphs.graph_store import GraphStore
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as err:
    raise ImportError(f"hopgate.langchain needs more packages ({err}): pip install 'hopgate[langchain]'") from err

from ._client import Database
from ._connection import awaited
from ._types import Node, Path, Relationship, Vector, quoted

_ROWS = 1000  # in a statement that writes


class HopgateVector(VectorStore):
    """Documents as vertices of a label, found by the similarity of their embeddings.

    A vertex has the properties ``id``, ``text``, ``embedding``, and ``metadata.KEY`` for each entry of the metadata that a property can hold;
    ``metadata`` has the others as JSON. Scores are from 0 to 1, and higher ones are nearer. A search is exact unless ``settings`` ask for HNSW.

    Args:
        db: the graph.
        embedding: makes vectors of texts.
        label: the label, and the name of the vector index.
        settings: of the index, as in docs/cypher.md, such as ``{"vector.dimensions": 384, "vector.hnsw.m": 16}``. An index that exists keeps its own.
    """

    def __init__(self, db: Database, embedding: Embeddings, label: str = "Document", settings: Mapping[str, Any] | None = None):
        self.db, self.embedding, self._label = db, embedding, quoted(label)
        db.query(f"CREATE CONSTRAINT IF NOT EXISTS FOR (d:{self._label}) REQUIRE d.id IS UNIQUE")
        config = ", ".join(f"{quoted(k)}: {json.dumps(v)}" for k, v in (settings or {}).items())
        db.query(f"CREATE VECTOR INDEX {self._label} IF NOT EXISTS FOR (d:{self._label}) ON (d.embedding) OPTIONS {{indexConfig: {{{config}}}}}")

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self.embedding

    def add_texts(self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, *, ids: Sequence[str | None] | None = None,
                  **_: Any) -> list[str]:
        """Adds texts, or replaces those with the same ids, and returns the ids."""
        texts = list(texts)
        return self._add(texts, self.embedding.embed_documents(texts), metadatas, ids)

    async def aadd_texts(self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, *, ids: Sequence[str | None] | None = None,
                         **_: Any) -> list[str]:
        """As add_texts."""
        texts = list(texts)
        return await awaited(self._add, texts, await self.embedding.aembed_documents(texts), metadatas, ids)

    def _add(self, texts: list[str], vectors: list[list[float]], metadatas: list[dict[str, Any]] | None, ids: Sequence[str | None] | None) -> list[str]:
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(texts):
                raise ValueError(f"{name}: there are {len(given)} for {len(texts)} texts")
        names = [id or str(uuid.uuid4()) for id in ids or [None] * len(texts)]
        rows = [{"id": id, "text": text, "embedding": Vector(vector), **_properties(metadata)}
                for id, text, vector, metadata in zip(names, texts, vectors, metadatas or [{}] * len(texts))]
        for i in range(0, len(rows), _ROWS):
            self.db.query(f"UNWIND $rows AS row MERGE (d:{self._label} {{id: row.id}}) SET d = row", rows=rows[i:i + _ROWS])
        return names

    def delete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """Deletes the documents with the ids, or all. Those that do not exist make no difference."""
        which = "" if ids is None else "WHERE d.id IN $ids "
        self.db.query(f"MATCH (d:{self._label}) {which}DETACH DELETE d", ids=ids)
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """As delete."""
        return await awaited(self.delete, ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with the ids, in their order, without those that do not exist."""
        found = self.db.query(f"MATCH (d:{self._label}) WHERE d.id IN $ids RETURN d", ids=list(ids))
        documents = {row["d"]["id"]: _document(row["d"]) for row in found}
        return [documents[id] for id in dict.fromkeys(ids) if id in documents]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """As get_by_ids."""
        return await awaited(self.get_by_ids, ids)

    def _near(self, vector: list[float], k: int, filter: Mapping[str, Any] | None) -> list[tuple[Node, float]]:
        params: list[Any] = []
        where = "WHERE " + _condition(filter, params) + " " if filter else ""
        rows = self.db.query(
            f"MATCH (d:{self._label}) SEARCH d IN (VECTOR INDEX {self._label} FOR $vector {where}LIMIT {int(k)}) SCORE AS score RETURN d, score",
            {f"p{i}": v for i, v in enumerate(params)}, vector=[float(x) for x in vector]).rows()
        return [(row["d"], row["score"]) for row in rows]

    def similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, *, filter: Mapping[str, Any] | None = None,
                                               **_: Any) -> list[tuple[Document, float]]:
        """The k documents nearest to a vector, with their scores.

        Args:
            embedding: the vector.
            k: how many documents.
            filter: what the metadata must be: ``{"lang": "en", "year": {"$gte": 2020}}``. There are ``$eq``, ``$ne``, ``$gt``, ``$gte``, ``$lt``,
                ``$lte``, ``$in``, ``$nin`` and ``$exists``; ``$and`` and ``$or`` join filters, and ``$not`` negates one.
        """
        return [(_document(node), score) for node, score in self._near(embedding, k, filter)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """The k documents nearest to a text, with their scores."""
        return self.similarity_search_with_score_by_vector(self.embedding.embed_query(query), k, **kwargs)

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """As similarity_search_with_score."""
        return await awaited(self.similarity_search_with_score_by_vector, await self.embedding.aembed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """The k documents nearest to a vector."""
        return [d for d, _ in self.similarity_search_with_score_by_vector(embedding, k, **kwargs)]

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """As similarity_search_by_vector."""
        return await awaited(self.similarity_search_by_vector, embedding, k, **kwargs)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The k documents nearest to a text."""
        return [d for d, _ in self.similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """As similarity_search."""
        return [d for d, _ in await self.asimilarity_search_with_score(query, k, **kwargs)]

    def max_marginal_relevance_search_by_vector(self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, *,
                                                filter: Mapping[str, Any] | None = None, **_: Any) -> list[Document]:
        """Of the fetch_k documents nearest to a vector, the k that are near to it and far from each other; lambda_mult 1 heeds the first alone."""
        import numpy as np

        nodes = [node for node, _ in self._near(embedding, fetch_k, filter)]
        chosen = maximal_marginal_relevance(np.array(embedding), [n["embedding"] for n in nodes], lambda_mult, k)
        return [_document(nodes[i]) for i in chosen]

    async def amax_marginal_relevance_search_by_vector(self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5,
                                                       **kwargs: Any) -> list[Document]:
        """As max_marginal_relevance_search_by_vector."""
        return await awaited(self.max_marginal_relevance_search_by_vector, embedding, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search(self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any) -> list[Document]:
        """As max_marginal_relevance_search_by_vector, near to a text."""
        return self.max_marginal_relevance_search_by_vector(self.embedding.embed_query(query), k, fetch_k, lambda_mult, **kwargs)

    async def amax_marginal_relevance_search(self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any) -> list[Document]:
        """As max_marginal_relevance_search."""
        return await self.amax_marginal_relevance_search_by_vector(await self.embedding.aembed_query(query), k, fetch_k, lambda_mult, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, *, ids: list[str] | None = None,
                   db: Database | None = None, **options: Any) -> HopgateVector:
        """A store of ``db`` with texts. ``options`` are those of the class."""
        store = cls._made(db, embedding, options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, *,
                          ids: list[str] | None = None, db: Database | None = None, **options: Any) -> HopgateVector:
        """As from_texts."""
        store = await awaited(cls._made, db, embedding, options)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    def _made(cls, db: Database | None, embedding: Embeddings, options: Mapping[str, Any]) -> HopgateVector:
        if db is None:
            raise ValueError("db: give the Database that hopgate.open or hopgate.connect returns")
        return cls(db, embedding, **options)


_PREFIX = "metadata."


def _properties(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as properties: each by itself if a property can hold it, the others together as JSON."""
    out = {_PREFIX + k: v for k, v in metadata.items() if _storable(v)}
    rest = {k: v for k, v in metadata.items() if _PREFIX + k not in out}
    return {**out, "metadata": json.dumps(rest)} if rest else out


def _storable(v: Any) -> bool:
    if isinstance(v, list):
        return all(type(x) is type(v[0]) and not isinstance(x, list) and _storable(x) for x in v)
    return isinstance(v, (str, float, datetime.date)) or isinstance(v, int) and -(1 << 63) <= v < 1 << 63


def _document(node: Node) -> Document:
    metadata = {k.removeprefix(_PREFIX): v for k, v in node.items() if k.startswith(_PREFIX)}
    return Document(id=node["id"], page_content=node["text"], metadata={**metadata, **json.loads(node.get("metadata", "{}"))})


_COMPARISONS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$in": "IN"}


def _condition(filter: Mapping[str, Any], params: list[Any]) -> str:
    """The expression of a filter over d, whose values go to the parameters p0, p1 and so on."""
    parts = []
    for key, value in filter.items():
        if key in ("$and", "$or"):
            word = f" {key[1:].upper()} "
            parts.append("(" + word.join(_condition(f, params) for f in value) + ")" if value else str(key == "$and").lower())
        elif key == "$not":
            parts.append(f"NOT coalesce({_condition(value, params)}, false)")
        elif key.startswith("$"):
            raise ValueError(f"filter: {key!r} is no operator over filters: there are $and, $or and $not")
        else:
            parts.extend(_test(key, op, v, params) for op, v in (value.items() if isinstance(value, Mapping) else [("$eq", value)]))
    return " AND ".join(parts) or "true"


def _test(key: str, operator: str, value: Any, params: list[Any]) -> str:
    name = f"d.{quoted(_PREFIX + key)}"
    if operator == "$exists":
        return f"{name} IS {'NOT ' if value else ''}NULL"
    if operator != "$nin" and operator not in _COMPARISONS:
        raise ValueError(f"filter: {operator!r} of {key!r} is no operator: there are {', '.join(_COMPARISONS)}, $nin and $exists")
    params.append(value)
    parameter = f"$p{len(params) - 1}"
    if operator in ("$ne", "$nin"):  # also true without the entry
        return f"NOT coalesce({name} {'=' if operator == '$ne' else 'IN'} {parameter}, false)"
    return f"{name} {_COMPARISONS[operator]} {parameter}"


class HopgateGraph(GraphStore):
    """A graph for chains and agents of LangChain.

    Args:
        db: the graph; ``db.using(read_only=True, timeout=10)`` bounds what statements of a language model may do.
    """

    def __init__(self, db: Database):
        self.db = db
        self.refresh_schema()

    @property
    def get_schema(self) -> str:
        """The labels, the types and their properties as text for a prompt, as of the last ``refresh_schema``."""
        return self._text

    @property
    def get_structured_schema(self) -> dict[str, Any]:
        """The same as ``node_props`` and ``rel_props``, lists of ``property`` and ``type`` by label and by type, and ``relationships``, a list of
        ``start``, ``type`` and ``end``."""
        return self._schema

    def query(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Runs a statement. Nodes and relationships of its rows are dicts of their properties, paths lists of those."""
        return [{k: _plain(v) for k, v in row.items()} for row in self.db.query(query, params).rows()]

    def refresh_schema(self) -> None:
        """Reads the schema from counters and a sample of the graph."""
        rows = self.db.query("CALL apoc.meta.data() YIELD label, other, elementType, type, property RETURN *").rows()
        props: dict[str, dict[str, list[dict[str, str]]]] = {"node": {}, "relationship": {}}
        relationships: list[dict[str, str]] = []
        for r in rows:
            if r["type"] != "RELATIONSHIP":
                props[r["elementType"]].setdefault(r["label"], []).append({"property": r["property"], "type": r["type"]})
            elif r["elementType"] == "node":
                relationships.extend({"start": r["label"], "type": r["property"], "end": end} for end in r["other"])
        self._schema = {"node_props": props["node"], "rel_props": props["relationship"], "relationships": relationships}
        lines = ["Node properties:", *map(_line, props["node"].items()), "Relationship properties:", *map(_line, props["relationship"].items()),
                 "The relationships:", *(f"(:{r['start']})-[:{r['type']}]->(:{r['end']})" for r in relationships)]
        self._text = "\n".join(lines)

    def add_graph_documents(self, graph_documents: list[GraphDocument], include_source: bool = False) -> None:
        """Adds nodes and relationships, all or none. Nodes of one type and id are one; existing ones get the new properties.

        With ``include_source``, each document becomes a vertex ``Document`` with its ``id`` (or a hash of its text), ``text`` and metadata, and has
        edges ``MENTIONS`` to its nodes.
        """
        nodes: dict[str, list[dict[str, Any]]] = {}
        edges: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for document in graph_documents:
            found = [*document.nodes, *(end for r in document.relationships for end in (r.source, r.target))]
            for n in found:
                nodes.setdefault(n.type, []).append({"id": n.id, "properties": n.properties})
            for r in document.relationships:
                edges.setdefault((r.source.type, r.type, r.target.type), []).append({"from": r.source.id, "to": r.target.id, "properties": r.properties})
            if include_source:
                text = document.source.page_content
                id = document.source.id or hashlib.sha256(text.encode()).hexdigest()
                nodes.setdefault("Document", []).append({"id": id, "properties": {**document.source.metadata, "text": text}})
                for n in document.nodes:
                    edges.setdefault(("Document", "MENTIONS", n.type), []).append({"from": id, "to": n.id, "properties": {}})
        for label in nodes:
            self.db.query(f"CREATE INDEX IF NOT EXISTS FOR (n:{quoted(label)}) ON (n.id)")
        with self.db.transaction() as tx:
            for label, rows in nodes.items():
                tx.query(f"UNWIND $rows AS row MERGE (n:{quoted(label)} {{id: row.id}}) SET n += row.properties, n.id = row.id", rows=rows)
            for (start, type, end), rows in edges.items():
                tx.query(f"UNWIND $rows AS row MATCH (a:{quoted(start)} {{id: row.from}}), (b:{quoted(end)} {{id: row.to}}) "
                         f"MERGE (a)-[r:{quoted(type)}]->(b) SET r += row.properties", rows=rows)


def _line(entry: tuple[str, list[dict[str, str]]]) -> str:
    name, properties = entry
    return f"{name} {{{', '.join(p['property'] + ': ' + p['type'] for p in properties)}}}"


def _plain(v: Any) -> Any:
    if isinstance(v, (Node, Relationship)):
        return dict(v)
    if isinstance(v, Path):
        return [dict(x) for pair in zip(v.nodes, (*v.relationships, None)) for x in pair if x is not None]
    if isinstance(v, list):
        return [_plain(x) for x in v]
    return {k: _plain(x) for k, x in v.items()} if isinstance(v, dict) else v
