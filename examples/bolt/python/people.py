"""Loads, queries, streams and changes a graph with Neo4j's driver: people.py [ADDRESS]."""
import sys

from neo4j import GraphDatabase


def load(driver, people, batch=1_000):
    driver.execute_query("CREATE CONSTRAINT person IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE")
    rows = [{"id": i, "name": f"P{i}", "friend": (i * 7 + 1) % people} for i in range(people)]
    batches = [rows[at : at + batch] for at in range(0, people, batch)]
    for rows in batches:
        driver.execute_query("UNWIND $rows AS row MERGE (p:Person {id: row.id}) SET p.name = row.name, p.coins = 10", rows=rows)
    for rows in batches:
        driver.execute_query(
            "UNWIND $rows AS row MATCH (a:Person {id: row.id}), (b:Person {id: row.friend}) MERGE (a)-[:KNOWS]->(b)", rows=rows)


def near(driver, id):
    records, _, _ = driver.execute_query(
        "MATCH (:Person {id: $id})-[:KNOWS*1..3]->(p) RETURN DISTINCT p.name AS name ORDER BY name", id=id, routing_="r")
    return [record["name"] for record in records]


def total(driver, rows):
    with driver.session() as session:  # The rows come as the loop asks for them: memory holds a thousand at a time.
        return sum(record["i"] for record in session.run("UNWIND range(1, $rows) AS i RETURN i", rows=rows))


def give(tx, giver, taker, coins):
    # The driver runs this function again if the transaction conflicts with another one or loses its server.
    left = tx.run("MATCH (p:Person {id: $id}) SET p.coins = p.coins - $coins RETURN p.coins AS left", id=giver, coins=coins).single()["left"]
    if left < 0:
        raise ValueError(f"{giver} has only {left + coins} coins")  # rolls back
    tx.run("MATCH (p:Person {id: $id}) SET p.coins = p.coins + $coins", id=taker, coins=coins)
    return left


address = sys.argv[1] if len(sys.argv) > 1 else "localhost:7687"
with GraphDatabase.driver(f"neo4j://{address}", auth=("neo4j", "any")) as driver:
    load(driver, people=5_000)
    print("near 42:", *near(driver, 42))
    print("total:", total(driver, 1_000_000))
    with driver.session() as session:
        print("left:", session.execute_write(give, 42, 43, coins=7))
        try:
            session.execute_write(give, 42, 43, coins=7)
        except ValueError as refused:
            print("refused:", refused)
