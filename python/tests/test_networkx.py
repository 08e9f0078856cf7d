import gc

import pytest

import hopgate

nx = pytest.importorskip("networkx")
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python  # noqa: E402 - the other one needs SciPy

import hopgate.nx  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def backend(server):
    nx.config.warnings_to_ignore.add("cache")
    hopgate.nx.use(server)


def graphs():
    yield "path", nx.path_graph(5)
    yield "karate", nx.Graph(nx.karate_club_graph().edges())
    yield "parts", nx.disjoint_union(nx.gnp_random_graph(30, 0.1, seed=1), nx.complete_graph(5))
    yield "words", nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), (("x", 1), "a")])
    yield "directed", nx.gnp_random_graph(40, 0.05, seed=2, directed=True)
    yield "cycle", nx.DiGraph([(1, 2), (2, 3), (3, 1), (3, 4)])


def groups(found):
    return sorted(sorted(map(repr, nodes)) for nodes in found)


@pytest.mark.parametrize("g", [pytest.param(g, id=name) for name, g in graphs()])
def test_functions_return_what_networkx_does(g):
    run = {"backend": "hopgate"}
    assert nx.pagerank(g, tol=1e-9, max_iter=500, **run) == pytest.approx(_pagerank_python(g, tol=1e-9, max_iter=500), abs=1e-5)
    assert nx.betweenness_centrality(g, **run) == pytest.approx(nx.betweenness_centrality(g))
    assert nx.betweenness_centrality(g, normalized=False, **run) == pytest.approx(nx.betweenness_centrality(g, normalized=False))
    if g.is_directed():
        for f in (nx.weakly_connected_components, nx.strongly_connected_components):
            assert groups(f(g, **run)) == groups(f(g))
        assert nx.number_strongly_connected_components(g, **run) == nx.number_strongly_connected_components(g)
    else:
        assert groups(nx.connected_components(g, **run)) == groups(nx.connected_components(g))
        assert nx.triangles(g, **run) == nx.triangles(g)
        assert nx.core_number(g, **run) == nx.core_number(g)
        assert nx.clustering(g, **run) == pytest.approx(nx.clustering(g))
    source = next(iter(g))
    want = dict(nx.single_source_shortest_path_length(g, source))
    assert nx.single_source_shortest_path_length(g, source, **run) == want
    for target in g:
        if target in want:
            assert nx.shortest_path_length(g, source, target, **run) == want[target]
            path = nx.shortest_path(g, source, target, **run)
            assert (path[0], path[-1], len(path)) == (source, target, want[target] + 1) and nx.is_path(g, path)
        else:
            with pytest.raises(nx.NetworkXNoPath):
                nx.shortest_path(g, source, target, **run)
    with pytest.raises(nx.NodeNotFound):
        nx.shortest_path(g, source, "nowhere", **run)


@pytest.mark.parametrize("call", [
    lambda: nx.pagerank(nx.Graph([(1, 2, {"weight": 5})]), backend="hopgate"),
    lambda: nx.shortest_path(nx.Graph([(1, 2, {"weight": 5})]), 1, 2, weight="weight", backend="hopgate"),
    lambda: nx.pagerank(nx.Graph([(1, 1)]), backend="hopgate"),
    lambda: nx.pagerank(nx.MultiGraph([(1, 2)]), backend="hopgate"),
    lambda: nx.single_source_dijkstra_path_length(nx.Graph([(1, 2, {"weight": -1})]), 1, backend="hopgate"),
    lambda: nx.single_source_dijkstra_path_length(nx.Graph([(1, 2)]), 1, weight=lambda u, v, d: 1, backend="hopgate"),
    lambda: nx.betweenness_centrality(nx.path_graph(3), k=1, backend="hopgate"),
    lambda: nx.betweenness_centrality(nx.path_graph(3), k=0, backend="hopgate"),
    lambda: nx.triangles(nx.path_graph(3), 0, backend="hopgate"),
    lambda: nx.core_number(nx.DiGraph([(1, 2), (2, 1)]), backend="hopgate"),
    lambda: nx.shortest_path(nx.path_graph(3), 1, backend="hopgate"),
])
def test_what_differs_is_refused(call):
    with pytest.raises(NotImplementedError):
        call()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_weights_loops_and_parallel_edges(kind):
    g = kind([(1, 2, {"w": 5}), (1, 3, {"w": 1.5}), (3, 2, {}), (2, 2, {"w": 7}), (4, 4, {})])
    g.add_edge(1, 2, w=4)
    g.add_edge(1, 3, w=9 if g.is_multigraph() else 1.5)
    run = {"backend": "hopgate"}
    assert nx.single_source_dijkstra_path_length(g, 1, weight="w", **run) == nx.single_source_dijkstra_path_length(g, 1, weight="w") == {1: 0, 3: 1.5, 2: 2.5}
    assert nx.single_source_shortest_path_length(g, 1, **run) == {1: 0, 2: 1, 3: 1}
    components = nx.strongly_connected_components if g.is_directed() else nx.connected_components
    assert groups(components(g, **run)) == groups(components(g))


def test_what_is_left_to_networkx(db):
    g = nx.path_graph(4)
    assert hopgate.nx.backend.should_run("triangles", (g,), {}) != True  # noqa: E712 - the reason is true as well
    assert hopgate.nx.backend.should_run("triangles", (hopgate.nx.Graph(db),), {}) is True
    db.query("CREATE (a:P {id: 1})-[:R {w: 2}]->(b:P {id: 2})-[:R]->(:P {id: 3}), (b)-[:S]->(:Q {id: 4})")
    ours = hopgate.nx.Graph(db, labels=["P"], types=["R"], key="id", directed=False)
    with nx.config(fallback_to_nx=True):
        assert nx.diameter(ours) == 2  # which Hopgate does not compute
        assert nx.betweenness_centrality(ours, endpoints=True) == nx.betweenness_centrality(nx.path_graph([1, 2, 3]), endpoints=True)
    copied = hopgate.nx.backend.convert_to_nx(ours)
    assert sorted(copied) == [1, 2, 3] and copied.edges[1, 2, 0] == {"w": 2} and copied.nodes[1] == {"id": 1}


def test_graphs_of_the_server(db):
    db.query("UNWIND range(1, 6) AS i CREATE (:P {id: i}) WITH count(*) AS n MATCH (a:P), (b:P) WHERE b.id = a.id + 1 CREATE (a)-[:NEXT]->(b)")
    db.query("MATCH (a:P {id: 1}), (b:P {id: 6}) CREATE (a)-[:OTHER]->(b), (a)-[:NEXT]->(x:Q {id: 7}), (x)-[:NEXT]->(b)")
    g = hopgate.nx.Graph(db, labels=["P"], types=["NEXT"], key="id")
    assert nx.shortest_path(g, 1, 6) == [1, 2, 3, 4, 5, 6]
    assert nx.single_source_shortest_path_length(g, 5) == {5: 0, 6: 1}
    assert list(nx.weakly_connected_components(g)) == [{1, 2, 3, 4, 5, 6}]
    assert sum(nx.pagerank(g).values()) == pytest.approx(1)
    whole = hopgate.nx.Graph(db, directed=False)
    assert len(next(nx.connected_components(whole))) == 7
    with pytest.raises(nx.NetworkXNoPath):
        nx.shortest_path(g, 6, 1)


def test_copies_are_dropped(server):
    def copies():
        gc.collect()
        return sum(str(r["name"]).startswith("networkx_") for r in server.query("SHOW GRAPHS").rows())

    before = copies()
    g = nx.path_graph(3)
    assert nx.number_connected_components(g, backend="hopgate") == 1 and nx.number_connected_components(g, backend="hopgate") == 1
    assert copies() == before + 1  # NetworkX keeps the copy for the next call
    del g
    assert copies() == before
