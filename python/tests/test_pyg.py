"""The stores for PyTorch Geometric, where it is installed: it is large, so CI does without it unless HOPGATE_TEST_TORCH is 1."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; HOPGATE_TEST_TORCH=1 has test.sh install it")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed; HOPGATE_TEST_TORCH=1 has test.sh install it")
from torch_geometric.data import TensorAttr  # noqa: E402
from torch_geometric.loader import NodeLoader  # noqa: E402
from torch_geometric.nn import HeteroConv, SAGEConv  # noqa: E402
from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput  # noqa: E402

import hopgate  # noqa: E402
from hopgate.pyg import hetero_data, stores  # noqa: E402

CITES = ("Paper", "CITES", "Paper")


@pytest.fixture
def papers(db):
    db.query("UNWIND range(0, 5) AS i CREATE (:Paper {i: i, x: [toFloat(i), 1.0, -1.0], v: vector([i, 2 * i], 2, FLOAT32), y: i % 3, train: i < 4})")
    db.query("UNWIND range(0, 2) AS i CREATE (:Author:`Odd one` {i: i, score: i / 2.0})")
    db.query("MATCH (a:Author), (p:Paper) WHERE p.i % 3 = a.i CREATE (a)-[:WROTE]->(p)")
    db.query("MATCH (p:Paper), (q:Paper) WHERE q.i = p.i - 1 OR q.i = p.i - 3 CREATE (p)-[:CITES]->(q)")
    return db


@pytest.fixture
def both(papers):
    return stores(papers, {"Paper": {"x": "x", "emb": "v", "y": "y", "train_mask": "train"}, "Author": ["score"]})


def test_tensors(both):
    features, _ = both
    assert features.get_tensor("Paper", "x", index=None).tolist() == [[float(i), 1.0, -1.0] for i in range(6)]
    emb = features.get_tensor("Paper", "emb", index=torch.tensor([4, 1, 4]))
    assert emb.dtype == torch.float32 and emb.tolist() == [[4.0, 8.0], [1.0, 2.0], [4.0, 8.0]]
    assert features.get_tensor("Paper", "y", index=slice(1, 4)).tolist() == [1, 2, 0]
    assert features.get_tensor("Paper", "y", index=-1).tolist() == [2]
    assert features.get_tensor("Paper", "train_mask", index=None).dtype == torch.bool
    assert features.get_tensor("Paper", "y", index=torch.tensor([True, False, False, False, False, True])).tolist() == [0, 2]
    many = features.multi_get_tensor([TensorAttr("Paper", "y", torch.tensor([2])), TensorAttr("Author", "score", None)])
    assert [t.tolist() for t in many] == [[2], [0.0, 0.5, 1.0]]
    assert features["Paper", "y", None].tolist() == [0, 1, 2, 0, 1, 2]
    assert features.get_tensor_size("Paper", "x") == (6, 3) and features.get_tensor_size("Author", "score") == (3,)
    assert {(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()} == {
        ("Paper", "x"), ("Paper", "emb"), ("Paper", "y"), ("Paper", "train_mask"), ("Author", "score")}


def test_edges(both):
    _, edges = both
    assert [a.edge_type for a in edges.get_all_edge_attrs()] == [("Author", "WROTE", "Paper"), CITES]
    row, col = edges.get_edge_index(("Author", "WROTE", "Paper"), "coo")
    assert list(zip(row.tolist(), col.tolist())) == [(i % 3, i) for i in range(6)]
    cites = [(p, q) for q in range(6) for p in range(6) if q in (p - 1, p - 3)]
    rows, pointers, _ = edges.csc()
    assert rows[CITES].tolist() == [p for p, _ in cites]
    assert pointers[CITES].tolist() == [sum(q < n for _, q in cites) for n in range(7)]
    with pytest.raises(KeyError, match="not found"):
        edges.get_edge_index(("Paper", "WROTE", "Paper"), "coo")
    with pytest.raises(NotImplementedError):
        edges.put_edge_index((row, col), ("Author", "WROTE", "Paper"), "coo")


class Cited(BaseSampler):
    """The papers that cite the seeds, as pyg-lib would sample them all."""

    def __init__(self, edges):
        self.rows, self.pointers, _ = edges.csc()

    def sample_from_nodes(self, index, **_):
        pairs = [(p, q) for q in index.node.tolist() for p in self.rows[CITES][self.pointers[CITES][q]:self.pointers[CITES][q + 1]].tolist()]
        nodes = list(dict.fromkeys([*index.node.tolist(), *(p for p, _ in pairs)]))
        ends = torch.tensor([[nodes.index(v) for v in pair] for pair in pairs], dtype=torch.int64).reshape(-1, 2).T
        return HeteroSamplerOutput(node={"Paper": torch.tensor(nodes)}, row={CITES: ends[0]}, col={CITES: ends[1]}, edge={CITES: None},
                                   metadata=(index.input_id, index.time))

    def sample_from_edges(self, index, **_):
        raise NotImplementedError


def test_loader(both):
    batches = list(NodeLoader(both, Cited(both[1]), input_nodes=("Paper", torch.arange(6)), batch_size=4))
    assert [b["Paper"].batch_size for b in batches] == [4, 2]
    for batch in batches:
        source, target = batch["Paper"].x[:, 0][batch[CITES].edge_index]
        assert set((source - target).tolist()) <= {1.0, 3.0}
        assert batch["Paper"].emb[:, 1].tolist() == (2 * batch["Paper"].x[:, 0]).tolist()
    assert batches[0][CITES].edge_index.shape[1] == 7 and batches[1][CITES].edge_index.shape[1] == 1


@pytest.mark.filterwarnings("ignore:There exist node types")  # authors send messages only
def test_hetero_data_trains(both):
    data = hetero_data(*both)
    assert data.validate() and data["Paper"].num_nodes == 6 and data["Author", "WROTE", "Paper"].edge_index.shape == (2, 6)
    torch.manual_seed(1)
    net = HeteroConv({CITES: SAGEConv((3, 3), 3), ("Author", "WROTE", "Paper"): SAGEConv((1, 3), 3)})
    inputs = {"Paper": data["Paper"].x.float(), "Author": data["Author"].score.float().unsqueeze(1)}
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(inputs, data.edge_index_dict)["Paper"], data["Paper"].y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_writes(both, papers):
    features, _ = both
    features.put_tensor(torch.tensor([[0.5, 1.5]] * 6), "Paper", "out", index=None)
    features.put_tensor(torch.tensor([7, 8]), "Paper", "y", index=torch.tensor([5, 0]))
    assert papers.query("MATCH (p:Paper) RETURN p.out AS o, p.y AS y ORDER BY p.i").lists()[0] == [[0.5, 1.5], 8]
    assert features.get_tensor("Paper", "out", index=[1]).tolist() == [[0.5, 1.5]]
    assert features.remove_tensor("Paper", "out", None)
    assert papers.query("MATCH (p:Paper) WHERE p.out IS NOT NULL RETURN count(*)").value() == 0
    with pytest.raises(ValueError, match="2 rows for 6 nodes"):
        features.put_tensor(torch.tensor([1, 2]), "Paper", "y", index=None)


def test_faults(papers):
    features, edges = stores(papers, {"Paper": ["i", "title", "x"], "Odd one": ["i"], "Nothing": []}, [("Odd one", "WROTE", "Paper")])
    with pytest.raises(hopgate.HopgateError, match="property title of Paper: 6 of 6 nodes have no value"):
        features.get_tensor("Paper", "title", index=None)
    papers.query("MATCH (p:Paper) SET p.title = 'a'")
    with pytest.raises(hopgate.HopgateError, match="must be numbers"):
        features.get_tensor("Paper", "title", index=None)
    papers.query("MATCH (p:Paper {i: 2}) SET p.x = [1.0]")
    with pytest.raises(hopgate.HopgateError, match="differ in length"):
        features.get_tensor("Paper", "x", index=None)
    with pytest.raises(KeyError, match="no tensor z of Paper"):
        features.get_tensor("Paper", "z", index=None)
    assert features.get_tensor_size("Nothing") == (0,) and len(edges.get_edge_index(("Odd one", "WROTE", "Paper"), "coo")[0]) == 6
    papers.query("MATCH (a:Author {i: 0}) CREATE (a)-[:WROTE]->(:Paper {i: 6})")
    for read in (lambda: features.get_tensor("Paper", "i", index=None), lambda: edges.get_edge_index(("Odd one", "WROTE", "Paper"), "coo")):
        with pytest.raises(hopgate.HopgateError, match=r"call refresh\(\)"):
            read()
    features.refresh()
    assert features.get_tensor("Paper", "i", index=None).tolist() == list(range(7))
