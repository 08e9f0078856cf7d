"""The operations of graphiti-core's driver for Neo4j over a small graph whose texts have fixed vectors."""
import hashlib
import math
import os
import random
from datetime import datetime, timedelta, timezone

import pytest
from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import CommunityEdge, EntityEdge, EpisodicEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.errors import EdgeNotFoundError, NodeNotFoundError
from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodeType, EpisodicNode
from graphiti_core.search.search import search
from graphiti_core.search.search_config_recipes import (
    COMBINED_HYBRID_SEARCH_RRF,
    EDGE_HYBRID_SEARCH_MMR,
    NODE_HYBRID_SEARCH_RRF,
)
from graphiti_core.search.search_filters import ComparisonOperator, DateFilter, SearchFilters

DIMENSIONS = 1024
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
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


class Embedder(EmbedderClient):
    async def create(self, input_data):
        return embed(input_data if isinstance(input_data, str) else input_data[0])

    async def create_batch(self, input_data_list):
        return [embed(t) for t in input_data_list]


def cosine(a, b):
    return (1 + sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))) / 2


@pytest.fixture
async def driver():
    d = Neo4jDriver("bolt://" + os.environ["BOLT"], "neo4j", "password")
    # The driver builds its indexes in the background; each test says itself which it needs.
    if d._init_task is not None:
        d._init_task.cancel()
    await d.graph_ops.clear_data(d)
    yield d
    await d.close()


def nodes(group):
    return [
        EntityNode(uuid=f"{group}-{w}", name=w, group_id=group, labels=["Entity", t.capitalize()], summary=f"{w} is a {t}",
                   created_at=NOW, name_embedding=embed(w), attributes={"rank": i})
        for t, words in TOPICS.items() for i, w in enumerate(words)
    ]


def edges(group):
    out = []
    for t, words in TOPICS.items():
        for i, (a, b) in enumerate(zip(words, words[1:])):
            fact = f"{a} is next to {b}"
            out.append(EntityEdge(uuid=f"{group}-{a}-{b}", group_id=group, source_node_uuid=f"{group}-{a}", target_node_uuid=f"{group}-{b}",
                                  name="NEXT_TO", fact=fact, fact_embedding=embed(fact), episodes=[f"{group}-episode"], created_at=NOW,
                                  valid_at=NOW + timedelta(days=i)))
    return out


async def fill(d, *groups):
    for group in groups:
        async with d.transaction() as tx:
            await d.entity_node_ops.save_bulk(d, nodes(group), tx)
            await d.entity_edge_ops.save_bulk(d, edges(group), tx)


async def test_range_indexes(driver):
    from graphiti_core.driver.driver import GraphProvider
    from graphiti_core.graph_queries import get_range_indices
    for query in get_range_indices(GraphProvider.NEO4J) * 2:
        await driver.execute_query(query)


async def test_all_indexes(driver):
    await driver.graph_ops.build_indices_and_constraints(driver)
    records, _, _ = await driver.execute_query("SHOW FULLTEXT INDEXES YIELD name, state RETURN name, state ORDER BY name")
    assert [r["name"] for r in records] == ["community_name", "edge_name_and_fact", "episode_content", "node_name_and_summary"]


async def test_save_and_get(driver):
    a, b = nodes("g")[:2]
    for n in (a, b):
        await driver.entity_node_ops.save(driver, n)
    e = edges("g")[0]
    await driver.entity_edge_ops.save(driver, e)
    got = await driver.entity_node_ops.get_by_uuid(driver, a.uuid)
    assert (got.name, got.summary, got.attributes["rank"], got.created_at) == (a.name, a.summary, 0, NOW)
    assert sorted(got.labels) == ["Entity", "Fruit"]
    await driver.entity_node_ops.load_embeddings(driver, got)
    assert got.name_embedding == a.name_embedding
    edge = await driver.entity_edge_ops.get_by_uuid(driver, e.uuid)
    assert (edge.fact, edge.source_node_uuid, edge.target_node_uuid, edge.episodes) == (e.fact, a.uuid, b.uuid, e.episodes)
    await driver.entity_edge_ops.load_embeddings(driver, edge)
    assert edge.fact_embedding == e.fact_embedding
    assert [x.uuid for x in await driver.entity_edge_ops.get_between_nodes(driver, a.uuid, b.uuid)] == [e.uuid]
    with pytest.raises(NodeNotFoundError):
        await driver.entity_node_ops.get_by_uuid(driver, "none")
    with pytest.raises(EdgeNotFoundError):
        await driver.entity_edge_ops.get_by_uuid(driver, "none")


async def test_save_bulk(driver):
    await fill(driver, "g", "h")
    got = await driver.entity_node_ops.get_by_group_ids(driver, ["g"], limit=100)
    assert sorted(n.uuid for n in got) == sorted(n.uuid for n in nodes("g"))
    await driver.entity_node_ops.load_embeddings_bulk(driver, got)
    assert all(n.name_embedding == embed(n.name) for n in got)
    some = await driver.entity_edge_ops.get_by_uuids(driver, [e.uuid for e in edges("h")])
    assert len(some) == len(edges("h"))


async def test_transaction_rolls_back(driver):
    with pytest.raises(ValueError):
        async with driver.transaction() as tx:
            await driver.entity_node_ops.save_bulk(driver, nodes("g"), tx)
            raise ValueError
    records, _, _ = await driver.execute_query("MATCH (n:Entity) RETURN count(n) AS n")
    assert records[0]["n"] == 0


async def test_node_similarity(driver):
    await fill(driver, "g", "h")
    query = embed("tool")
    for groups in (None, ["g"], ["g", "h"]):
        got = await driver.search_ops.node_similarity_search(driver, query, SearchFilters(), groups, limit=5, min_score=0.6)
        of = [n for g in groups or ["g", "h"] for n in nodes(g)]
        want = sorted((cosine(n.name_embedding, query) for n in of if cosine(n.name_embedding, query) > 0.6), reverse=True)[:5]
        assert [round(cosine(embed(n.name), query), 5) for n in got] == [round(s, 5) for s in want]
        assert {n.group_id for n in got} <= set(groups or ["g", "h"])
    got = await driver.search_ops.node_similarity_search(driver, query, SearchFilters(node_labels=["River"]), ["g"], min_score=0)
    assert sorted(n.name for n in got) == sorted(TOPICS["river"])
    assert await driver.search_ops.node_similarity_search(driver, query, SearchFilters(), ["none"]) == []


async def test_edge_similarity(driver):
    await fill(driver, "g", "h")
    query = embed("saw is next to drill")
    got = await driver.search_ops.edge_similarity_search(driver, query, None, None, SearchFilters(), ["h"], limit=3)
    assert got[0].fact == "saw is next to drill" and {e.group_id for e in got} == {"h"}
    got = await driver.search_ops.edge_similarity_search(driver, query, "g-hammer", "g-saw", SearchFilters(), ["g"], limit=3)
    assert [e.fact for e in got] == ["hammer is next to saw"]
    later = SearchFilters(valid_at=[[DateFilter(date=NOW + timedelta(hours=1), comparison_operator=ComparisonOperator.greater_than)]])
    got = await driver.search_ops.edge_similarity_search(driver, query, None, None, later, ["g"], limit=10, min_score=0)
    assert sorted(e.fact for e in got) == sorted(e.fact for e in edges("g") if e.valid_at > NOW)
    got = await driver.search_ops.edge_similarity_search(driver, query, None, None, SearchFilters(edge_types=["OTHER"]), ["g"], min_score=0)
    assert got == []


async def test_vectors_change(driver):
    await fill(driver, "g")
    query = embed("river")
    apple = nodes("g")[0]
    apple.name_embedding = query
    await driver.entity_node_ops.save(driver, apple)
    got = await driver.search_ops.node_similarity_search(driver, query, SearchFilters(), ["g"], limit=1)
    assert [n.name for n in got] == ["apple"]
    await driver.entity_node_ops.delete(driver, apple)
    got = await driver.search_ops.node_similarity_search(driver, query, SearchFilters(), ["g"], limit=1)
    assert got[0].name in TOPICS["river"]


async def test_breadth_first(driver):
    await fill(driver, "g", "h")
    got = await driver.search_ops.node_bfs_search(driver, ["g-apple"], SearchFilters(), 2, ["g"])
    assert sorted(n.name for n in got) == ["pear", "plum"]
    got = await driver.search_ops.edge_bfs_search(driver, ["g-apple"], 1, SearchFilters(), ["g"])
    assert [e.fact for e in got] == ["apple is next to pear"]


async def test_episodes_and_communities(driver):
    await fill(driver, "g")
    episode = EpisodicNode(uuid="g-episode", name="market", group_id="g", source=EpisodeType.text, source_description="notes",
                           content="apples on the market", created_at=NOW, valid_at=NOW, entity_edges=["g-apple-pear"])
    await driver.episode_node_ops.save(driver, episode)
    await driver.episodic_edge_ops.save(driver, EpisodicEdge(uuid="m", group_id="g", source_node_uuid="g-episode", target_node_uuid="g-apple", created_at=NOW))
    assert (await driver.episode_node_ops.get_by_uuid(driver, "g-episode")).content == "apples on the market"
    assert [n.name for n in await driver.graph_ops.get_mentioned_nodes(driver, [episode])] == ["apple"]
    community = CommunityNode(uuid="c", name="fruit", group_id="g", summary="what grows on trees", created_at=NOW, name_embedding=embed("fruit"))
    await driver.community_node_ops.save(driver, community)
    await driver.community_edge_ops.save(driver, CommunityEdge(uuid="hm", group_id="g", source_node_uuid="c", target_node_uuid="g-apple", created_at=NOW))
    got = await driver.search_ops.community_similarity_search(driver, embed("fruit"), ["g"])
    assert [c.uuid for c in got] == ["c"]
    assert [c.uuid for c in await driver.graph_ops.get_communities_by_nodes(driver, nodes("g"))] == ["c"]


async def test_delete(driver):
    await fill(driver, "g", "h")
    await driver.entity_edge_ops.delete(driver, edges("g")[0])
    for n in nodes("g")[:2]:
        await driver.entity_node_ops.delete(driver, n)
    records, _, _ = await driver.execute_query("MATCH (n:Entity) RETURN count(n) AS n")
    assert records[0]["n"] == 16
    await driver.graph_ops.clear_data(driver, ["g", "h"])
    records, _, _ = await driver.execute_query("MATCH (n) RETURN count(n) AS n")
    assert records[0]["n"] == 0


async def test_delete_by_group(driver):
    await fill(driver, "g", "h")
    await driver.entity_node_ops.delete_by_group_id(driver, "h")
    records, _, _ = await driver.execute_query("MATCH (n:Entity) RETURN count(n) AS n")
    assert records[0]["n"] == 9


async def test_node_fulltext(driver):
    await driver.graph_ops.build_indices_and_constraints(driver)
    await fill(driver, "g", "h")
    got = await driver.search_ops.node_fulltext_search(driver, "hammer", SearchFilters(), ["g"])
    assert [n.uuid for n in got] == ["g-hammer"]


async def test_edge_fulltext(driver):
    await driver.graph_ops.build_indices_and_constraints(driver)
    await fill(driver, "g", "h")
    got = await driver.search_ops.edge_fulltext_search(driver, "hammer", SearchFilters(), ["h"])
    assert [e.uuid for e in got] == ["h-hammer-saw"]


async def clients(driver):
    await driver.graph_ops.build_indices_and_constraints(driver)
    await fill(driver, "g", "h")
    return GraphitiClients.model_construct(driver=driver, llm_client=None, embedder=Embedder(), cross_encoder=None, tracer=None)


async def test_hybrid_nodes(driver):
    got = await search(await clients(driver), "hammer", ["g"], NODE_HYBRID_SEARCH_RRF, SearchFilters())
    assert got.nodes[0].uuid == "g-hammer" and {n.group_id for n in got.nodes} == {"g"}


async def test_hybrid_edges(driver):
    got = await search(await clients(driver), "hammer is next to saw", ["g"], EDGE_HYBRID_SEARCH_MMR, SearchFilters())
    assert got.edges[0].uuid == "g-hammer-saw"


async def test_hybrid_all(driver):
    got = await search(await clients(driver), "rhine", ["h"], COMBINED_HYBRID_SEARCH_RRF, SearchFilters())
    assert got.nodes[0].uuid == "h-rhine" and {e.group_id for e in got.edges} == {"h"}
