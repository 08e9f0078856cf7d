MATCH (n) DETACH DELETE n;
CREATE (a:Person {name: 'Ann', born: date('1990-02-03')})-[:KNOWS {since: 2010}]->(b:Person {name: 'Bo'});
MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r, b.name AS name;
:begin
CREATE (:Person {name: 'Cy'});
MATCH (p:Person) RETURN count(p) AS n;
:rollback
MATCH (p:Person) RETURN count(p) AS n;
:begin
CREATE (:Person {name: 'Cy'});
:commit
MATCH (p:Person) RETURN p.name AS name ORDER BY name;
:param {limit: 2}
MATCH (p:Person) RETURN p.name AS name ORDER BY name LIMIT $limit;
CREATE INDEX person_name IF NOT EXISTS FOR (p:Person) ON (p.name);
CREATE CONSTRAINT person_key IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE;
SHOW INDEXES YIELD name, type, labelsOrTypes, properties ORDER BY name;
SHOW CONSTRAINTS YIELD name, type ORDER BY name;
:use system
SHOW DATABASES YIELD name, currentStatus ORDER BY name;
:use neo4j
RETURN [1, 2.5, 'a', true, null] AS list, {a: 1} AS map, duration('P1DT2H') AS d, point({x: 1, y: 2}) AS p, datetime('2024-07-01T12:00+02:00') AS t;
UNWIND range(1, 5) AS i CALL (i) { CREATE (:Row {i: i}) } IN TRANSACTIONS OF 2 ROWS;
MATCH (r:Row) RETURN sum(r.i) AS sum;
