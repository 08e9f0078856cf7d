"""LlamaIndex's property graph store for Neo4j over a small graph, and an index over it, with fixed vectors and without a language model."""
import hashlib
import math
import os
import random

import neo4j
import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode, TransformComponent
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.graph_stores.neo4j import CypherQueryCorrector, Neo4jGraphStore, Neo4jPropertyGraphStore, Schema

DIMENSIONS = 1536
URL = "bolt://" + os.environ["BOLT"]
TOPICS = {"fruit": ["apple", "pear", "plum"], "tool": ["hammer", "saw", "drill"], "river": ["rhine", "seine", "thames"]}


def direction(text):
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    return [rng.gauss(0, 1) for _ in range(DIMENSIONS)]


def embed(text):
    """A vector as long as 1: near that of its topic, a little to the side of it."""
    topic = next((t for t, words in TOPICS.items() if any(w in text.lower() for w in [t, *words])), text)
    v = [a + 0.3 * b for a, b in zip(direction(topic), direction(text))]
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


def cosine(a, b):
    return (1 + sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))) / 2


class Embedder(BaseEmbedding):
    def _get_text_embedding(self, text):
        return embed(text)

    def _get_query_embedding(self, query):
        return embed(query)

    async def _aget_query_embedding(self, query):
        return embed(query)


class Extractor(TransformComponent):
    """Finds entities and relations of a text by its words."""

    def __call__(self, nodes, **_):
        for n in nodes:
            found = [w for t in TOPICS.values() for w in t if w in n.get_content().lower()]
            n.metadata[KG_NODES_KEY] = [EntityNode(name=w, label="Thing") for w in found]
            n.metadata[KG_RELATIONS_KEY] = [Relation(source_id=a, target_id=b, label="NEXT_TO") for a, b in zip(found, found[1:])]
        return nodes


@pytest.fixture
def store():
    with neo4j.GraphDatabase.driver(URL) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
    s = Neo4jPropertyGraphStore(username="neo4j", password="password", url=URL)
    yield s
    s.close()


def entities():
    return [EntityNode(name=w, label=t.capitalize(), embedding=embed(w), properties={"rank": i, "kind": t})
            for t, words in TOPICS.items() for i, w in enumerate(words)]


def relations():
    return [Relation(source_id=a, target_id=b, label="NEXT_TO", properties={"topic": t, "rank": i})
            for t, words in TOPICS.items() for i, (a, b) in enumerate(zip(words, words[1:]))]


@pytest.fixture
def full(store):
    store.upsert_nodes([ChunkNode(id_="chunk", text="An apple beside a hammer.", embedding=embed("chunk"), properties={"page": 3})])
    store.upsert_nodes([EntityNode(**{**e.dict(), "properties": {**e.properties, "triplet_source_id": "chunk"}}) if e.name == "apple" else e
                        for e in entities()])
    store.upsert_relations(relations())
    return store


def test_indexes(store):
    got = store.structured_query("SHOW INDEXES YIELD name, type, state, labelsOrTypes WHERE type = 'VECTOR' RETURN name, state, labelsOrTypes")
    assert got == [{"name": "entity", "state": "ONLINE", "labelsOrTypes": ["__Entity__"]}]
    got = store.structured_query("SHOW CONSTRAINTS YIELD labelsOrTypes, properties RETURN labelsOrTypes[0] AS l, properties ORDER BY l")
    assert got == [{"l": "__Entity__", "properties": ["id"]}, {"l": "__Node__", "properties": ["id"]}]
    Neo4jPropertyGraphStore(username="neo4j", password="password", url=URL).close()


def test_nodes(full):
    got = {n.name: n for n in full.get(ids=["apple", "seine"])}
    assert sorted(got) == ["apple", "seine"]
    assert got["seine"].properties["kind"] == "river" and got["seine"].properties["rank"] == 1
    assert {n.name for n in full.get(properties={"kind": "tool"})} == set(TOPICS["tool"])
    chunk, = full.get(ids=["chunk"])
    assert isinstance(chunk, ChunkNode) and chunk.text == "An apple beside a hammer." and chunk.properties == {"page": 3}
    got = full.structured_query("MATCH (c:Chunk {id: 'chunk'})-[:MENTIONS]->(e:__Entity__) RETURN e.id AS id, labels(e) AS labels")
    assert got[0]["id"] == "apple" and sorted(got[0]["labels"]) == ["Fruit", "__Entity__", "__Node__"]


def test_upsert_changes(full):
    full.upsert_nodes([EntityNode(name="apple", label="Fruit", properties={"rank": 7, "none": None})])
    full.upsert_relations([Relation(source_id="apple", target_id="pear", label="NEXT_TO", properties={"topic": "other"})])
    got, = full.get(ids=["apple"])
    assert got.properties["rank"] == 7 and "none" not in got.properties
    assert full.structured_query("MATCH ({id: 'apple'})-[r:NEXT_TO]->() RETURN count(r) AS n, collect(r.topic) AS t") == [{"n": 1, "t": ["fruit"]}]
    full.upsert_relations([Relation(source_id="new", target_id="apple", label="NEXT TO")])
    assert full.structured_query("MATCH (n:Chunk {id: 'new'})-[r:`NEXT TO`]->() RETURN count(r) AS n") == [{"n": 1}]


def names(triplets):
    return sorted((s.name, r.label, t.name) for s, r, t in triplets)


def test_triplets(full):
    assert names(full.get_triplets(entity_names=["pear"])) == [("apple", "NEXT_TO", "pear"), ("pear", "NEXT_TO", "plum")]
    assert names(full.get_triplets(ids=["saw"], relation_names=["NEXT_TO"])) == [("hammer", "NEXT_TO", "saw"), ("saw", "NEXT_TO", "drill")]
    assert names(full.get_triplets(properties={"kind": "river"})) == sorted(
        2 * [("rhine", "NEXT_TO", "seine"), ("seine", "NEXT_TO", "thames")])
    assert full.get_triplets(entity_names=["pear"], relation_names=["OTHER"]) == []
    assert full.get_triplets(entity_names=["none"]) == []


def test_relation_map(full):
    got = full.get_rel_map(full.get(ids=["apple"]), depth=1)
    assert names(got) == [("apple", "NEXT_TO", "pear")]
    got = full.get_rel_map(full.get(ids=["apple", "thames"]), depth=2)
    assert names(got) == [("apple", "NEXT_TO", "pear"), ("pear", "NEXT_TO", "plum"), ("rhine", "NEXT_TO", "seine"), ("seine", "NEXT_TO", "thames")]
    assert len(full.get_rel_map(full.get(ids=["apple", "thames"]), depth=2, limit=3)) == 3
    assert full.get_rel_map(full.get(ids=["apple"]), depth=2, ignore_rels=["NEXT_TO"]) == []


def test_vectors(full):
    query = embed("tool")
    nodes, scores = full.vector_query(VectorStoreQuery(query_embedding=query, similarity_top_k=4))
    want = sorted((cosine(e.embedding, query) for e in entities()), reverse=True)[:4]
    assert [round(s, 5) for s in scores] == [round(s, 5) for s in want]
    assert {n.name for n in nodes[:3]} == set(TOPICS["tool"]) and nodes[0].label == "Tool"


@pytest.mark.parametrize("condition, want", [(FilterCondition.AND, {"saw"}), (FilterCondition.OR, {"saw", "pear", "seine", "hammer", "drill"})])
def test_filtered_vectors(full, condition, want):
    filters = MetadataFilters(condition=condition, filters=[
        MetadataFilter(key="kind", value="tool"), MetadataFilter(key="rank", operator=FilterOperator.IN, value=[1])])
    nodes, scores = full.vector_query(VectorStoreQuery(query_embedding=embed("tool"), similarity_top_k=5, filters=filters))
    assert {n.name for n in nodes} == want and scores == sorted(scores, reverse=True)


def test_delete(full):
    full.delete(relation_names=["NEXT_TO"])
    assert full.get_triplets() == []
    full.delete(entity_names=["apple"])
    full.delete(ids=["chunk", "pear"])
    full.delete(properties={"kind": "tool", "rank": 0})
    assert sorted(n.name for n in full.get()) == ["drill", "plum", "rhine", "saw", "seine", "thames"]


@pytest.mark.parametrize("enhanced", [False, True])
def test_schema(full, enhanced):
    full.enhanced_schema = enhanced
    full.refresh_schema()
    got = full.structured_schema
    assert {p["property"]: p["type"] for p in got["node_props"]["Fruit"]}.items() >= {"id": "STRING", "rank": "INTEGER", "kind": "STRING"}.items()
    assert {p["property"] for p in got["rel_props"]["NEXT_TO"]} == {"topic", "rank"}
    assert {"start": "Fruit", "type": "NEXT_TO", "end": "Fruit"} in got["relationships"]
    rank = next(p for p in got["node_props"]["Fruit"] if p["property"] == "rank")
    assert (float(rank["min"]), float(rank["max"])) == (0, 2)
    text = full.get_schema_str()
    assert "Fruit" in text and "(:Fruit)-[:NEXT_TO]->(:Fruit)" in text


def test_index(store):
    index = PropertyGraphIndex(nodes=[TextNode(id_="a", text="The apple lies beside the pear."), TextNode(id_="b", text="A saw and a drill.")],
                               property_graph_store=store, kg_extractors=[Extractor()], embed_model=Embedder(), llm=MockLLM(), use_async=False,
                               embed_kg_nodes=True, show_progress=False)
    retriever = VectorContextRetriever(store, embed_model=Embedder(), similarity_top_k=2, include_text=True)
    got = index.as_retriever(sub_retrievers=[retriever]).retrieve("tool")
    assert [n.node_id for n in got] == ["b"] and "saw -> NEXT_TO -> drill" in got[0].text
    index.insert_nodes([TextNode(id_="c", text="Between rhine and seine.")])
    got = retriever.retrieve("river")
    assert [n.node_id for n in got] == ["c"]


def test_cypher_corrector(full):
    full.refresh_schema()
    corrector = CypherQueryCorrector([Schema(r["start"], r["type"], r["end"]) for r in full.structured_schema["relationships"]])
    statement = "MATCH (a:Fruit {id: 'pear'})<-[:NEXT_TO]-(b:Fruit) RETURN b.id AS id"
    assert full.structured_query(corrector(statement)) == [{"id": "apple"}]


def test_triplet_store():
    with neo4j.GraphDatabase.driver(URL) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
    s = Neo4jGraphStore(username="neo4j", password="password", url=URL)
    for a, b in [("apple", "pear"), ("pear", "plum"), ("apple", "plum")]:
        s.upsert_triplet(a, "next to", b)
    assert sorted(s.get("apple")) == [["NEXT_TO", "pear"], ["NEXT_TO", "plum"]]
    got = s.get_rel_map(["apple"], depth=2)
    assert sorted(map(str, got["apple"])) == sorted(map(str, [["NEXT_TO", "pear"], ["NEXT_TO", "plum"], ["NEXT_TO", "pear", "NEXT_TO", "plum"]]))
    s.delete("apple", "NEXT_TO", "pear")
    assert s.get("apple") == [["NEXT_TO", "plum"]]
    assert "NEXT_TO" in s.get_schema(refresh=True)
    s.close()
