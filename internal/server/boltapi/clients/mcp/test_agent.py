"""A scripted agent answers questions through tools alone; the files that were loaded give the answers to compare with."""
import collections
import csv
import os
import re

import pytest
from client import over_http, rows, talk, text

WORK = os.environ["WORK"] + "/network/"


def table(name):
    with open(WORK + name + ".csv", encoding="utf-8", newline="") as f:
        return list(csv.reader(f))[1:]


def pairs(name):
    return [(int(r[0]), int(r[1])) for r in table(name)]


person = {int(r[0]): r for r in table("person")}
city = {int(r[0]): r[1] for r in table("city")}
tag = {int(r[0]): r[1] for r in table("tag")}
comment = {int(r[0]): r for r in table("comment")}
lives = dict(pairs("person_livesIn_city"))
author = dict(pairs("comment_hasCreator_person"))
interest = pairs("person_hasInterest_tag")
likes = pairs("person_likes_comment")
knows = collections.defaultdict(set)
for a, b in pairs("person_knows_person"):
    knows[a].add(b)
    knows[b].add(a)


def ball(start, hops):
    """Who is within some hops of a person."""
    seen, frontier = {start}, {start}
    for _ in range(hops):
        frontier = {b for a in frontier for b in knows[a]} - seen
        seen |= frontier
    return seen - {start}


def distance(a, b):
    hops = 0
    while b not in ball(a, hops) | {a}:
        hops += 1
    return hops


def top(counter, n):
    return [[k, c] for k, c in sorted(counter.items(), key=lambda x: (-x[1], x[0]))[:n]]


QUESTIONS = [
    ("How many people are there?", "MATCH (p:Person) RETURN count(p)", {}, [[len(person)]]),
    ("How many comments are there?", "MATCH (c:Comment) RETURN count(c)", {}, [[len(comment)]]),
    ("In which city does person 7 live?", "MATCH (:Person {id: $id})-[:LIVES_IN]->(c:City) RETURN c.name", {"id": 7}, [[city[lives[7]]]]),
    ("How many people live in each of the three largest cities?",
     "MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN c.name, count(p) AS n ORDER BY n DESC, c.name LIMIT 3", {},
     top(collections.Counter(city[c] for c in lives.values()), 3)),
    ("Whom does person 5 know?", "MATCH (:Person {id: 5})-[:KNOWS]-(f) RETURN DISTINCT f.id ORDER BY f.id", {}, [[i] for i in sorted(knows[5])]),
    ("How many people are within two hops of person 3?", "MATCH (p:Person {id: 3})-[:KNOWS*1..2]-(f) WHERE f <> p RETURN count(DISTINCT f)", {}, [[len(ball(3, 2))]]),
    ("And within three?", "MATCH (p:Person {id: 3})-[:KNOWS*1..3]-(f) WHERE f <> p RETURN count(DISTINCT f)", {}, [[len(ball(3, 3))]]),
    ("How far is person 2 from person 250?", "MATCH p = shortestPath((:Person {id: 2})-[:KNOWS*]-(:Person {id: 250})) RETURN length(p)", {}, [[distance(2, 250)]]),
    ("Who knows the most people?", "MATCH (p:Person) RETURN p.id, COUNT { (p)-[:KNOWS]-() } AS n ORDER BY n DESC, p.id LIMIT 1", {},
     top(collections.Counter(p for edge in pairs("person_knows_person") for p in edge), 1)),
    ("What are the most popular interests?", "MATCH (:Person)-[:HAS_INTEREST]->(t:Tag) RETURN t.name, count(*) AS n ORDER BY n DESC, t.name LIMIT 5", {},
     top(collections.Counter(tag[t] for _, t in interest), 5)),
    ("Which interests do persons 1 and 2 share?", "MATCH (:Person {id: 1})-[:HAS_INTEREST]->(t)<-[:HAS_INTEREST]-(:Person {id: 2}) RETURN t.name ORDER BY t.name", {},
     [[n] for n in sorted({tag[t] for p, t in interest if p == 1} & {tag[t] for p, t in interest if p == 2})]),
    ("Who wrote comment 10?", "MATCH (:Comment {id: 10})-[:HAS_CREATOR]->(p) RETURN p.firstName, p.lastName", {}, [person[author[10]][1:3]]),
    ("Which comment has the most likes?", "MATCH (:Person)-[:LIKES]->(c:Comment) RETURN c.id, count(*) AS n ORDER BY n DESC, c.id LIMIT 1", {},
     top(collections.Counter(c for _, c in likes), 1)),
    ("How many comments have no like?", "MATCH (c:Comment) WHERE NOT EXISTS { (c)<-[:LIKES]-() } RETURN count(c)", {}, [[len(comment) - len({c for _, c in likes})]]),
    ("Who likes comments of their own?", "MATCH (p:Person)-[:LIKES]->(:Comment)-[:HAS_CREATOR]->(p) RETURN DISTINCT p.id ORDER BY p.id", {},
     [[p] for p in sorted({p for p, c in likes if author[c] == p})]),
    ("How many triangles of acquaintances hold person 9?", "MATCH (p:Person {id: 9})-[:KNOWS]-(a)-[:KNOWS]-(b)-[:KNOWS]-(p) WHERE a.id < b.id RETURN count(DISTINCT [a.id, b.id])", {},
     [[sum(1 for a in knows[9] for b in knows[9] if a < b and b in knows[a])]]),
    ("Which browsers are used, by how many?", "MATCH (p:Person) RETURN p.browserUsed, count(*) AS n ORDER BY n DESC, p.browserUsed", {},
     top(collections.Counter(p[7] for p in person.values()), 99)),
    ("How many women live in person 11's city?", "MATCH (:Person {id: 11})-[:LIVES_IN]->(c)<-[:LIVES_IN]-(p:Person {gender: $g}) RETURN count(p) + CASE $own WHEN $g THEN 1 ELSE 0 END",
     {"g": "female", "own": person[11][3]}, [[sum(1 for p, c in lives.items() if c == lives[11] and person[p][3] == "female")]]),
    ("When was the first comment written?", "MATCH (c:Comment) RETURN min(c.creationDate)", {}, [[min(int(c[1]) for c in comment.values())]]),
    ("Who of person 4's acquaintances wrote the most comments?",
     "MATCH (:Person {id: 4})-[:KNOWS]-(f) WITH DISTINCT f RETURN f.id, COUNT { (f)<-[:HAS_CREATOR]-(:Comment) } AS n ORDER BY n DESC, f.id LIMIT 1", {},
     top(collections.Counter({f: sum(1 for p in author.values() if p == f) for f in knows[4]}), 1)),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_question(question):
    _, statement, params, want = question

    async def conversation(s):
        # What a statement names must be in the schema, and its plan must not read everything without a reason that the agent accepts.
        schema = text(await s.call_tool("get-schema", {}))
        for name in re.findall(r":([A-Z]\w+)", statement):
            assert name in schema
        plan = text(await s.call_tool("explain", {"query": statement, "params": params}))
        assert plan.startswith("ProduceResults") or "rows)" in plan
        got = rows(await s.call_tool("read-cypher", {"query": statement, "params": params}))
        assert got == want
    talk(over_http("?profile=reader"), conversation)


def test_schema_is_short():
    async def conversation(s):
        assert len(text(await s.call_tool("get-schema", {}))) / 3 < 2000
    talk(over_http(), conversation)
