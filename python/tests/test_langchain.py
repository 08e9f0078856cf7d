"""LangChain's own tests of vector stores, and what they leave out."""
import asyncio
import datetime
import subprocess
import sys

import pytest

pytest.importorskip("langchain_community")
tests = pytest.importorskip("langchain_tests.integration_tests")
from langchain_community.graphs.graph_document import GraphDocument, Node, Relationship  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings  # noqa: E402

import hopgate  # noqa: E402
from hopgate.langchain import HopgateGraph, HopgateVector  # noqa: E402

class TestStandard(tests.VectorStoreIntegrationTests):
    """None of them is expected to fail."""

    @pytest.fixture
    def vectorstore(self, db):
        return HopgateVector(db, self.get_embeddings())


class Axes(Embeddings):
    """Texts as points of the plane: "3 4" is [3, 4]."""

    def embed_query(self, text):
        return [float(x) for x in text.split()]

    def embed_documents(self, texts):
        return [self.embed_query(t) for t in texts]


def texts(found):
    return [d.page_content for d in found]


@pytest.fixture
def store(db):
    made = [{"n": i, "lang": "en" if i % 2 else "de", "tags": ["a", "b"], "deep": {"x": [1, None]}, "none": None} for i in range(4)]
    made[3]["only"] = True
    return HopgateVector.from_texts(["1 0", "1 1", "0 1", "-1 0"], Axes(), made, ids=["a", "b", "c", "d"], db=db, label="Doc s")


def test_scores_and_metadata(store):
    found = store.similarity_search_with_score("2 0", k=3)
    assert texts(d for d, _ in found) == ["1 0", "1 1", "0 1"] and [round(s, 3) for _, s in found] == [1.0, 0.854, 0.5]
    assert found[0][0].metadata == {"n": 0, "lang": "de", "tags": ["a", "b"], "deep": {"x": [1, None]}, "none": None}
    assert store.similarity_search_with_relevance_scores("1 0", k=1)[0][1] == pytest.approx(1)
    assert texts(store.similarity_search_by_vector([0, 1], k=1)) == ["0 1"]
    assert texts(store.as_retriever(search_kwargs={"k": 1, "filter": {"n": 3}}).invoke("1 0")) == ["-1 0"]
    day = datetime.date(2026, 1, 2)
    store.add_texts(["0 -1"], [{"day": day}], ids=["e"])
    assert store.get_by_ids(["e", "x", "a"])[0].metadata == {"day": day}
    assert texts(store.get_by_ids(["e", "x", "a"])) == ["0 -1", "1 0"]


@pytest.mark.parametrize("filter,want", [
    ({"lang": "en"}, "bd"), ({"lang": "en", "n": 1}, "b"), ({"n": {"$gte": 1, "$lt": 3}}, "bc"), ({"n": {"$in": [0, 3]}}, "ad"), ({"n": {"$nin": [0, 3]}}, "bc"),
    ({"n": {"$ne": 0}}, "bcd"), ({"only": {"$ne": True}}, "abc"), ({"only": {"$exists": True}}, "d"), ({"only": {"$exists": False}}, "abc"),
    ({"$or": [{"n": 0}, {"lang": "en", "n": {"$gt": 1}}]}, "ad"), ({"$not": {"only": True}}, "abc"), ({"$and": [{"n": {"$lte": 2}}, {"lang": "de"}]}, "ac"),
    ({"$or": []}, ""), ({"`) OR true //": 1}, ""),
])
def test_filters(store, filter, want):
    assert "".join(sorted(d.id for d in store.similarity_search("1 0", k=10, filter=filter))) == want


@pytest.mark.parametrize("filter", [{"n": {"$near": 1}}, {"$xor": []}])
def test_wrong_filters(store, filter):
    with pytest.raises(ValueError, match="no operator"):
        store.similarity_search("1 0", filter=filter)


def test_marginal_relevance(store):
    assert texts(store.max_marginal_relevance_search("1 0.1", k=2, fetch_k=4, lambda_mult=1)) == ["1 0", "1 1"]
    assert texts(store.max_marginal_relevance_search("1 0.1", k=2, fetch_k=4, lambda_mult=0)) == ["1 0", "-1 0"]
    assert texts(asyncio.run(store.amax_marginal_relevance_search("1 0.1", k=2, fetch_k=4, lambda_mult=0, filter={"n": {"$lt": 3}}))) == ["1 0", "0 1"]


def test_async(store, db):
    async def run():
        made = await HopgateVector.afrom_texts(["1 0"], Axes(), db=db, label="Other", ids=["x"], settings={"vector.similarity_function": "euclidean"})
        await made.aadd_texts(["0 2"], [{"n": 7}])
        assert texts(await made.asimilarity_search("0 1", k=1)) == ["0 2"]
        assert (await made.asimilarity_search_with_score("0 2", k=1))[0][1] == 1
        assert texts(await made.asimilarity_search_by_vector([0, 1], k=2)) == ["0 2", "1 0"]
        await made.adelete(["x"])
        assert texts(await made.asimilarity_search("1 0")) == ["0 2"] and await made.aget_by_ids(["x"]) == []
        await made.adelete()
        assert await made.asimilarity_search("1 0") == []

    asyncio.run(run())
    assert len(store.similarity_search("1 0", k=10)) == 4


def test_wrong_numbers(store):
    for options in ({"ids": ["1", "2"]}, {"metadatas": [{}, {}]}):
        with pytest.raises(ValueError, match="there are 2 for 1 texts"):
            store.add_texts(["1 0"], **options)
    with pytest.raises(ValueError, match="db"):
        HopgateVector.from_texts([], Axes())


def test_many_texts(db):
    store = HopgateVector(db, DeterministicFakeEmbedding(size=8))
    assert len(set(store.add_texts(f"text {i}" for i in range(2500)))) == 2500
    assert texts(store.similarity_search("text 77", k=1)) == ["text 77"]


def test_graph(db):
    ann, bob, acme = Node(id="Ann", type="Person", properties={"age": 30}), Node(id="Bob", type="Person"), Node(id=7, type="Big Firm")
    source = Document(page_content="Ann knows Bob.", metadata={"page": 1})
    graph = HopgateGraph(db)
    for _ in range(2):
        graph.add_graph_documents([GraphDocument(
            nodes=[ann], relationships=[Relationship(source=ann, target=bob, type="KNOWS", properties={"since": 2020}),
                                        Relationship(source=bob, target=acme, type="WORKS AT")], source=source)], include_source=True)
    assert graph.query("MATCH (n) RETURN count(*) AS n, sum(COUNT { (n)-->() }) AS r") == [{"n": 4, "r": 3}]
    assert graph.query("MATCH p = (a)-[r:KNOWS]->(b) WHERE a.age >= $age RETURN p, r, [b] AS list", {"age": 30}) == [
        {"p": [{"id": "Ann", "age": 30}, {"since": 2020}, {"id": "Bob"}], "r": {"since": 2020}, "list": [{"id": "Bob"}]}]
    assert graph.query("MATCH (d:Document)-[:MENTIONS]->(n) RETURN d.text AS text, d.page AS page, n.id AS id") == [
        {"text": "Ann knows Bob.", "page": 1, "id": "Ann"}]
    graph.refresh_schema()
    schema = graph.get_structured_schema
    assert {"property": "age", "type": "INTEGER"} in schema["node_props"]["Person"]
    assert schema["rel_props"]["KNOWS"] == [{"property": "since", "type": "INTEGER"}]
    assert {"start": "Person", "type": "KNOWS", "end": "Person"} in schema["relationships"]
    assert "(:Person)-[:WORKS AT]->(:Big Firm)" in graph.get_schema and "KNOWS {since: INTEGER}" in graph.get_schema
    with pytest.raises(hopgate.RequestError):
        graph.query("MATCH (n) RETURN m")


def test_a_graph_document_is_added_whole_or_not(db):
    wrong = Node(id="Bob", type="Person", properties={"deep": {"x": 1}})
    with pytest.raises(hopgate.RequestError):
        HopgateGraph(db).add_graph_documents([GraphDocument(nodes=[Node(id="Ann", type="Other"), wrong], relationships=[],
                                                            source=Document(page_content=""))])
    assert db.query("MATCH (n) RETURN count(*)").value() == 0


def test_without_langchain():
    text = "import sys; sys.modules['langchain_core'] = sys.modules['langchain_community'] = None; import hopgate.langchain"
    got = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert got.returncode == 1 and "pip install 'hopgate[langchain]'" in got.stderr
