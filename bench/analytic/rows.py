"""The statements of the table, each in openCypher and in SQL. They have the same answer in every engine, in any order unless they sort."""
from typing import NamedTuple

COLUMNS = "id firstName lastName gender birthday creationDate locationIP browserUsed".split()
INTEGERS = {"id", "birthday", "creationDate"}


class Row(NamedTuple):
    name: str
    cypher: str
    sql: str
    arrow: bool = False  # measured up to a table of Arrow; else up to Python's objects


EIGHT = (f"MATCH (p:Person) RETURN {', '.join(f'p.{c} AS {c}' for c in COLUMNS)} LIMIT 100000",
         f"SELECT {', '.join(COLUMNS)} FROM Person LIMIT 100000")

ROWS = [
    Row("people by gender, avg",
        "MATCH (p:Person) RETURN p.gender AS gender, count(*) AS n, avg(p.birthday) AS birthday",
        "SELECT gender, count(*), avg(birthday) FROM Person GROUP BY gender"),
    Row("top 10 first names",
        "MATCH (p:Person) RETURN p.firstName AS name, count(*) AS n ORDER BY n DESC, name LIMIT 10",
        "SELECT firstName AS name, count(*) AS n FROM Person GROUP BY name ORDER BY n DESC, name LIMIT 10"),
    Row("string filter, sort, limit 100",
        "MATCH (p:Person) WHERE p.locationIP CONTAINS '9.1' RETURN p.locationIP AS ip, p.id AS id ORDER BY ip, id LIMIT 100",
        "SELECT locationIP, id FROM Person WHERE contains(locationIP, '9.1') ORDER BY locationIP, id LIMIT 100"),
    Row("edges by gender of both ends",
        "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.gender AS x, b.gender AS y, count(*) AS n",
        "SELECT a.gender, b.gender, count(*) FROM KNOWS k JOIN Person a ON k.src = a.id JOIN Person b ON k.dst = b.id GROUP BY ALL"),
    Row("min, max, count of an edge property",
        "MATCH (:Person)-[k:KNOWS]->(:Person) RETURN min(k.creationDate) AS lo, max(k.creationDate) AS hi, count(k.creationDate) AS n",
        "SELECT min(creationDate), max(creationDate), count(creationDate) FROM KNOWS"),
    Row("edge property filter, count",
        "MATCH (:Person)-[k:KNOWS]->(:Person) WHERE k.creationDate >= 1320000000000 RETURN count(*) AS n",
        "SELECT count(*) FROM KNOWS WHERE creationDate >= 1320000000000"),
    Row("two hops, count(*)",
        "MATCH (a:Person)-[:KNOWS]->(b:Person)-[:KNOWS]->(c:Person) RETURN count(*) AS n",
        "SELECT count(*) FROM KNOWS x JOIN KNOWS y ON x.dst = y.src"),
    Row("common friends of 50 people, top 10",
        "MATCH (a:Person)-[:KNOWS]->(:Person)<-[:KNOWS]-(b:Person) WHERE a.id <= 50 AND a.id <> b.id "
        "RETURN a.id AS x, b.id AS y, count(*) AS n ORDER BY n DESC, x, y LIMIT 10",
        "SELECT x.src AS a, y.src AS b, count(*) AS n FROM KNOWS x JOIN KNOWS y ON x.dst = y.dst WHERE x.src <= 50 AND x.src <> y.src "
        "GROUP BY ALL ORDER BY n DESC, a, b LIMIT 10"),
    Row("two hops from 50 people by first name, top 10",
        "MATCH (a:Person)-[:KNOWS]->(:Person)-[:KNOWS]->(c:Person) WHERE a.id <= 50 "
        "RETURN c.firstName AS name, count(*) AS n ORDER BY n DESC, name LIMIT 10",
        "SELECT p.firstName AS name, count(*) AS n FROM KNOWS x JOIN KNOWS y ON x.dst = y.src JOIN Person p ON y.dst = p.id WHERE x.src <= 50 "
        "GROUP BY name ORDER BY n DESC, name LIMIT 10"),
    Row("top 10 by out-degree",
        "MATCH (a:Person)-[:KNOWS]->(:Person) RETURN a.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 10",
        "SELECT src AS id, count(*) AS n FROM KNOWS GROUP BY src ORDER BY n DESC, id LIMIT 10"),
    Row("distinct pairs of concatenated names",
        "MATCH (a:Person)-[:KNOWS]->(b:Person) WITH DISTINCT a.firstName + ' ' + a.lastName AS x, b.firstName + ' ' + b.lastName AS y RETURN count(*) AS n",
        "SELECT count(*) FROM (SELECT DISTINCT a.firstName || ' ' || a.lastName, b.firstName || ' ' || b.lastName "
        "FROM KNOWS k JOIN Person a ON k.src = a.id JOIN Person b ON k.dst = b.id)"),
    Row("substring scan of all texts",
        "MATCH (c:Comment) WHERE c.content CONTAINS 'over an old' RETURN count(*) AS n",
        "SELECT count(*) FROM Comment WHERE contains(content, 'over an old')"),
    Row("distinct pairs of names over all edges",
        "MATCH (a:Person)-[:KNOWS]->(b:Person) WITH DISTINCT a.firstName AS x, b.firstName AS y RETURN count(*) AS n",
        "SELECT count(*) FROM (SELECT DISTINCT a.firstName, b.firstName FROM KNOWS k JOIN Person a ON k.src = a.id JOIN Person b ON k.dst = b.id)"),
    Row("100k rows x 8 columns to Arrow", *EIGHT, arrow=True),
    Row("1M rows x 3 integers to Arrow",
        "MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id AS a, b.id AS b, k.creationDate AS at LIMIT 1000000",
        "SELECT src AS a, dst AS b, creationDate AS at FROM KNOWS LIMIT 1000000", arrow=True),
    Row("100k rows x 8 columns to Python", *EIGHT),
]

# Two hops from one person, whose id is the parameter.
TWO_HOPS = ("MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(c:Person) RETURN count(DISTINCT c) AS n",
            "SELECT count(DISTINCT y.dst) FROM KNOWS x JOIN KNOWS y ON x.dst = y.src WHERE x.src = $id")
