"""The entity resolution of neo4j-graphrag, without a language model."""
import asyncio
import os

import neo4j
import pytest
from neo4j_graphrag.components.resolver import SinglePropertyExactMatchResolver


@pytest.fixture
def driver():
    with neo4j.GraphDatabase.driver(os.environ["NEO4J_URI"], auth=("neo4j", "password")) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        yield driver
        driver.execute_query("MATCH (n) DETACH DELETE n")


def test_entities_of_one_name_become_one(driver):
    driver.execute_query("""CREATE (d1:Document {path: 'a'})<-[:FROM_DOCUMENT]-(c1:Chunk {text: '1'}), (d2:Document {path: 'b'})<-[:FROM_DOCUMENT]-(c2:Chunk {text: '2'}),
        (c1)<-[:FROM_CHUNK]-(p:__Entity__:__KGBuilder__:Person {name: 'Ann', born: 1990}), (c2)<-[:FROM_CHUNK]-(q:__Entity__:__KGBuilder__:Person {name: 'Ann', died: 2020}),
        (c2)<-[:FROM_CHUNK]-(o:__Entity__:__KGBuilder__:Organization {name: 'Ann'}), (c2)<-[:FROM_CHUNK]-(:__Entity__:__KGBuilder__:Person {name: 'Bob'}),
        (p)-[:WORKS_AT {since: 1}]->(o), (q)-[:WORKS_AT {since: 2}]->(o), (q)-[:KNOWS]->(p)""")
    stats = asyncio.run(SinglePropertyExactMatchResolver(driver).run())
    assert (stats.number_of_nodes_to_resolve, stats.number_of_created_nodes) == (4, 3)
    rows, _, _ = driver.execute_query("MATCH (p:Person {name: 'Ann'}) RETURN p.born AS born, p.died AS died, COUNT { (p)-[:FROM_CHUNK]->(:Chunk) } AS chunks, "
                                      "[(p)-[r:WORKS_AT]->(:Organization) | r.since] AS since, COUNT { (p)-[:KNOWS]->(p) } AS self")
    assert [r.data() for r in rows] == [{"born": 1990, "died": 2020, "chunks": 2, "since": [1], "self": 1}]
