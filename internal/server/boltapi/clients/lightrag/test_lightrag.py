"""LightRAG's storage in Neo4j over a small graph, and its retrieval with fixed vectors and without a language model."""
import hashlib
import logging
import os
import random

import numpy as np
import pytest
from lightrag import LightRAG, QueryParam
from lightrag.kg.neo4j_impl import Neo4JStorage
from lightrag.kg.shared_storage import initialize_share_data
from lightrag.utils import EmbeddingFunc, Tokenizer
from neo4j import GraphDatabase

DIMENSIONS = 256
TOPICS = {"fruit": ["Apple", "Pear", "Plum"], "tool": ["Hammer", "Saw", "Drill"], "river": ["Rhine", "Seine", "Thames"]}
EDGES = [("Apple", "Pear"), ("Pear", "Plum"), ("Hammer", "Saw"), ("Saw", "Drill"), ("Rhine", "Seine"), ("Seine", "Thames"), ("Drill", "Apple")]

os.environ.update(NEO4J_URI="bolt://" + os.environ["BOLT"], NEO4J_USERNAME="neo4j", NEO4J_PASSWORD="password", NEO4J_DATABASE="neo4j")


def direction(text):
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    return np.array([rng.gauss(0, 1) for _ in range(DIMENSIONS)])


def embed(text):
    """A vector as long as 1: the sum of those of the topics and of the words of the text."""
    words = [w.strip(".,").lower() for w in text.split()]
    topics = [t for t, names in TOPICS.items() if any(n.lower() in words for n in [t, *names])]
    v = sum((direction(w) for w in set(words)), np.zeros(DIMENSIONS)) + 3 * sum((direction(t) for t in topics), np.zeros(DIMENSIONS))
    return v / np.linalg.norm(v)


async def embed_all(texts, **_):
    return np.array([embed(t) for t in texts])


async def no_model(*_, **__):
    raise AssertionError("retrieval asks the language model")


class Bytes:
    """A tokenizer that needs no file: its tokens are bytes."""

    def encode(self, text):
        return list(text.encode())

    def decode(self, tokens):
        return bytes(tokens).decode(errors="replace")


def node(name):
    topic = next(t for t, names in TOPICS.items() if name in names)
    return name, {"entity_id": name, "entity_type": topic, "description": f"{name} is a {topic}", "source_id": "chunk-1", "created_at": 1767323045}


def edge(a, b, weight=1.0):
    return a, b, {"weight": weight, "description": f"{a} is next to {b}", "keywords": "next", "source_id": "chunk-1"}


class Failures(logging.Handler):
    """Keeps what LightRAG says of statements that fail: it then answers in another way."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.seen = []

    def emit(self, record):
        if "No node found" not in record.getMessage():
            self.seen.append(record.getMessage())


@pytest.fixture
def failures():
    handler = Failures()
    logging.getLogger("lightrag").addHandler(handler)
    yield handler.seen
    logging.getLogger("lightrag").removeHandler(handler)


@pytest.fixture
def statements():
    with GraphDatabase.driver(os.environ["NEO4J_URI"]) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        yield lambda text, **params: driver.execute_query(text, **params).records


async def open_storage(workspace):
    initialize_share_data()
    s = Neo4JStorage(namespace="chunk_entity_relation", workspace=workspace, global_config={"max_graph_nodes": 1000},
                     embedding_func=EmbeddingFunc(embedding_dim=DIMENSIONS, func=embed_all))
    await s.initialize()
    return s


@pytest.fixture
async def storage(statements, failures):
    s = await open_storage("base")
    yield s
    await s.finalize()
    assert failures == []


@pytest.fixture
async def full(storage):
    await storage.upsert_nodes_batch([node(n) for names in TOPICS.values() for n in names])
    await storage.upsert_edges_batch([edge(a, b) for a, b in EDGES])
    return storage


async def test_indexes(storage, statements):
    got = statements("SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties WHERE type IN ['FULLTEXT', 'RANGE'] "
                     "RETURN type, state, labelsOrTypes, properties ORDER BY type")
    assert [list(r) for r in got] == [["FULLTEXT", "ONLINE", ["base"], ["entity_id"]], ["RANGE", "ONLINE", ["base"], ["entity_id"]]]
    again = await open_storage("base")
    await again.finalize()


async def test_nodes(storage):
    name, props = node("Apple")
    await storage.upsert_node(name, props)
    await storage.upsert_node(name, {**props, "description": "changed"})
    assert await storage.get_node(name) == {**props, "description": "changed"}
    assert await storage.has_node(name) and not await storage.has_node("Nothing")
    assert await storage.get_node("Nothing") is None
    await storage.upsert_node(*node("Pear"))
    assert await storage.get_nodes_batch(["Pear", "Nothing"]) == {"Pear": node("Pear")[1]}
    assert await storage.has_nodes_batch(["Pear", "Apple", "Nothing"]) == {"Pear", "Apple"}
    await storage.delete_node(name)
    assert not await storage.has_node(name)
    await storage.remove_nodes(["Pear", "Nothing"])
    assert await storage.get_all_nodes() == []


async def test_edges(full):
    a, b, props = edge("Apple", "Pear", 2.5)
    await full.upsert_edge(b, a, props)
    assert await full.get_edge(a, b) == await full.get_edge(b, a) == props
    assert await full.get_edge(a, "Thames") is None
    assert await full.has_edge(b, a) and not await full.has_edge(a, "Thames")
    assert await full.get_edges_batch([{"src": b, "tgt": a}, {"src": a, "tgt": "Thames"}]) == {(b, a): props}
    await full.upsert_edge("Apple", "Nothing", props)
    assert not await full.has_node("Nothing")
    await full.remove_edges([(b, a)])
    assert not await full.has_edge(a, b)


async def test_degrees(full):
    assert await full.node_degree("Apple") == 2 and await full.node_degree("Nothing") == 0
    assert await full.node_degrees_batch(["Apple", "Plum", "Nothing"]) == {"Apple": 2, "Plum": 1, "Nothing": 0}
    assert await full.edge_degree("Apple", "Pear") == 4
    assert await full.edge_degrees_batch([("Apple", "Pear"), ("Plum", "Nothing")]) == {("Apple", "Pear"): 4, ("Plum", "Nothing"): 1}


async def test_edges_of_nodes(full):
    assert sorted(await full.get_node_edges("Apple")) == [("Apple", "Drill"), ("Apple", "Pear")]
    assert await full.get_node_edges("Nothing") is None
    got = await full.get_nodes_edges_batch(["Apple", "Thames", "Nothing"])
    assert {k: sorted(v) for k, v in got.items()} == {"Apple": [("Apple", "Pear"), ("Drill", "Apple")], "Thames": [("Seine", "Thames")], "Nothing": []}


async def test_all(full):
    assert {n["id"] for n in await full.get_all_nodes()} == {n for names in TOPICS.values() for n in names}
    got = {(e["source"], e["target"]) for e in await full.get_all_edges()}
    assert got == set(EDGES) | {(b, a) for a, b in EDGES}
    assert await full.get_all_labels() == sorted(n for names in TOPICS.values() for n in names)
    assert await full.get_popular_labels(3) == ["Apple", "Drill", "Pear"]


async def test_graph_by_depth(full):
    got = await full.get_knowledge_graph("Saw", max_depth=2)
    assert {n.properties["entity_id"] for n in got.nodes} == {"Hammer", "Saw", "Drill", "Apple"} and not got.is_truncated
    names = {n.id: n.properties["entity_id"] for n in got.nodes}
    assert {(names[e.source], names[e.target]) for e in got.edges} == {("Hammer", "Saw"), ("Saw", "Drill"), ("Drill", "Apple")}
    got = await full.get_knowledge_graph("Saw", max_depth=3, max_nodes=3)
    assert got.is_truncated and {n.properties["entity_id"] for n in got.nodes} == {"Hammer", "Saw", "Drill"}
    assert (await full.get_knowledge_graph("Nothing")).nodes == []


async def test_graph_of_all(full):
    got = await full.get_knowledge_graph("*")
    assert (len(got.nodes), len(got.edges), got.is_truncated) == (9, len(EDGES), False)
    got = await full.get_knowledge_graph("*", max_nodes=4)
    assert got.is_truncated and [n.properties["entity_id"] for n in got.nodes] == ["Apple", "Drill", "Pear", "Saw"]
    assert len(got.edges) == 3


async def test_search_labels(full, statements):
    await full.upsert_node("Ham radio", {"entity_id": "Ham radio"})
    await full.upsert_node("巴黎圣母院", {"entity_id": "巴黎圣母院"})
    statements("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    assert await full.search_labels("ham") == ["Ham radio", "Hammer"]
    assert await full.search_labels("HAMMER") == ["Hammer"]
    assert await full.search_labels("ham", limit=1) == ["Ham radio"]
    assert await full.search_labels("ham-") == ["Ham radio", "Hammer"]
    assert await full.search_labels("圣母") == ["巴黎圣母院"]
    assert await full.search_labels("none") == []


async def test_workspaces(full, failures):
    other = await open_storage("other`one-two")
    try:
        await other.upsert_nodes_batch([node("Apple"), node("Saw")])
        await other.upsert_edge(*edge("Apple", "Saw"))
        assert await other.get_all_labels() == ["Apple", "Saw"]
        assert {n.properties["entity_id"] for n in (await other.get_knowledge_graph("Apple")).nodes} == {"Apple", "Saw"}
        assert (await full.get_knowledge_graph("Apple", max_depth=1)).nodes[0].properties == node("Apple")[1]
        assert (await other.drop())["status"] == "success"
        assert await other.get_all_nodes() == [] and len(await full.get_all_nodes()) == 9
    finally:
        await other.finalize()
    assert failures == []


async def test_own_database(statements, failures, monkeypatch):
    monkeypatch.delenv("NEO4J_DATABASE")
    for _ in range(2):  # the database is created, and then there
        s = await open_storage("base")
        try:
            await s.upsert_node(*node("Apple"))
            assert await s.get_all_labels() == ["Apple"]
        finally:
            await s.finalize()
    assert [r["name"] for r in statements("SHOW DATABASES YIELD name WHERE name STARTS WITH 'chunk'")] == ["chunk-entity-relation"]
    assert statements("MATCH (n) RETURN n") == []
    statements("DROP DATABASE `chunk-entity-relation`")
    assert failures == []


async def test_retrieval(statements, tmp_path):
    rag = LightRAG(working_dir=str(tmp_path), graph_storage="Neo4JStorage", tokenizer=Tokenizer("bytes", Bytes()), llm_model_func=no_model,
                   embedding_func=EmbeddingFunc(embedding_dim=DIMENSIONS, func=embed_all), cosine_better_than_threshold=0.3)
    await rag.initialize_storages()
    try:
        names = [n for all_of in TOPICS.values() for n in all_of]
        await rag.ainsert_custom_kg({
            "chunks": [{"content": " ".join(f"{a} is next to {b}." for a, b in EDGES), "source_id": "doc", "file_path": "notes.txt"}],
            "entities": [{"entity_name": n, "entity_type": node(n)[1]["entity_type"], "description": node(n)[1]["description"], "source_id": "doc",
                          "file_path": "notes.txt"} for n in names],
            "relationships": [{"src_id": a, "tgt_id": b, "description": f"{a} is next to {b}", "keywords": "next", "weight": 1.0, "source_id": "doc",
                               "file_path": "notes.txt"} for a, b in EDGES],
        })
        assert statements("MATCH (n)-[r:DIRECTED]-(m) RETURN count(DISTINCT n) AS n, count(DISTINCT r) AS r")[0].values() == [9, 7]
        got = await rag.aquery_data("hammer", QueryParam(mode="local", top_k=3, ll_keywords=["Hammer", "tool"], hl_keywords=["tool"]))
        entities = got["data"]["entities"]
        assert {e["entity_name"] for e in entities} == set(TOPICS["tool"])
        assert {frozenset((r["src_id"], r["tgt_id"])) for r in got["data"]["relationships"]} == {frozenset(e) for e in EDGES if set(e) & set(TOPICS["tool"])}
        got = await rag.aquery_data("rivers", QueryParam(mode="hybrid", top_k=2, ll_keywords=["river"], hl_keywords=["Seine is next to Thames"]))
        assert {"Seine", "Thames"} <= {e["entity_name"] for e in got["data"]["entities"]}
        await rag.adelete_by_entity("Hammer")
        assert statements("MATCH (n {entity_id: 'Hammer'}) RETURN n") == []
    finally:
        await rag.finalize_storages()
