package server

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// Leader is the state of a process that leads the cluster: the graphs, and the transactions of gateways.
type Leader struct {
	ctx     context.Context // ends with the lead
	store   *local.Store
	epoch   uint64
	layout  shard.Layout
	confirm func(ctx context.Context) error
	copies  func(no int) int
	quotas  *quota.Lender

	mu     sync.Mutex
	txs    map[uint64]*led
	graphs map[*local.Graph]uint64 // the epoch of each catalog
}

// NewLeader returns a leader until ctx ends. confirm returns nil if no other process led before the call. copies returns the process that
// copies a shard for a backup.
func NewLeader(
	ctx context.Context, store *local.Store, epoch uint64, layout shard.Layout, confirm func(ctx context.Context) error, copies func(no int) int,
) *Leader {
	return &Leader{
		ctx: ctx, store: store, epoch: epoch, layout: layout, confirm: confirm, copies: copies, txs: map[uint64]*led{}, graphs: map[*local.Graph]uint64{},
		quotas: quota.NewLender(nil),
	}
}

// Store returns the graphs.
func (l *Leader) Store() *local.Store { return l.store }

// Close ends all transactions and closes the graphs, once the lead has ended.
func (l *Leader) Close() error {
	l.mu.Lock()
	for _, t := range l.txs {
		go t.end()
	}
	l.mu.Unlock()
	return l.store.Close()
}

// led is a gateway's transaction.
type led struct {
	g  *local.Graph
	tx *local.Tx

	mu    sync.RWMutex // held for reading by users, for writing by end
	ended bool
}

// end waits for the users of the transaction, and rolls it back unless it has committed.
func (t *led) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.tx.Rollback()
}

// use returns a transaction, which does not end before done.
func (l *Leader) use(id uint64) (t *led, done func(), err error) {
	l.mu.Lock()
	t = l.txs[id]
	l.mu.Unlock()
	if t != nil {
		t.mu.RLock()
		if !t.ended {
			return t, t.mu.RUnlock, nil
		}
		t.mu.RUnlock()
	}
	return nil, nil, wire.Unavailable(shard.TransactionLost, "the transaction has ended, or was lost when its leader restarted; run it again", nil)
}

// current returns an error unless a new transaction would see the same snapshot.
func (l *Leader) current(ctx context.Context, snap *pb.Snapshot) error {
	t, done, err := l.use(snap.GetTx())
	if err != nil {
		return err
	}
	defer done()
	same, err := l.present(ctx, t, snap.GetGraph(), snap.GetPresent(), snap.GetKnown())
	if err == nil && !same {
		err = wire.Superseded()
	}
	return err
}

// leadService answers LeadService. If the process does not lead the cluster, or no longer leads it when the answer is ready, the answer names
// the one that does.
type leadService struct {
	pb.UnimplementedLeadServiceServer
	*Host
}

// asLeader calls f with the Leader. confirmed has the lead confirmed after f, so that no other process led before the call; changes need no
// confirmation.
func asLeader[A any](ctx context.Context, s *leadService, confirmed bool, f func(l *Leader) (*A, error)) (*A, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	a, err := f(l)
	switch {
	case l.ctx.Err() != nil && err != nil:
		return nil, s.notLeading()
	case err == nil && confirmed:
		err = l.confirm(ctx)
	}
	if err != nil {
		return nil, Status(err)
	}
	return a, nil
}

// withGraph is asLeader with a graph.
func withGraph[A any](ctx context.Context, s *leadService, name string, confirmed bool, f func(l *Leader, g *local.Graph) (*A, error)) (*A, error) {
	return asLeader(ctx, s, confirmed, func(l *Leader) (*A, error) {
		g, err := l.store.Local(name)
		if err != nil {
			return nil, err
		}
		return f(l, g)
	})
}

// withTx is asLeader with a transaction of a gateway.
func withTx[A any](ctx context.Context, s *leadService, id uint64, confirmed bool, f func(l *Leader, t *led) (*A, error)) (*A, error) {
	return asLeader(ctx, s, confirmed, func(l *Leader) (*A, error) {
		t, done, err := l.use(id)
		if err != nil {
			return nil, err
		}
		defer done()
		return f(l, t)
	})
}

func (s *leadService) Graphs(ctx context.Context, _ *pb.GraphsRequest) (*pb.GraphsResponse, error) {
	return asLeader(ctx, s, true, func(l *Leader) (*pb.GraphsResponse, error) {
		return &pb.GraphsResponse{Names: l.store.Graphs()}, nil
	})
}

func (s *leadService) CreateGraph(ctx context.Context, r *pb.CreateGraphRequest) (*pb.CreateGraphResponse, error) {
	return asLeader(ctx, s, false, func(l *Leader) (*pb.CreateGraphResponse, error) {
		return &pb.CreateGraphResponse{}, l.store.CreateGraph(ctx, r.GetName())
	})
}

func (s *leadService) DropGraph(ctx context.Context, r *pb.DropGraphRequest) (*pb.DropGraphResponse, error) {
	return withGraph(ctx, s, r.GetName(), false, func(l *Leader, g *local.Graph) (*pb.DropGraphResponse, error) {
		if err := l.store.DropGraph(ctx, r.GetName()); err != nil {
			return nil, err
		}
		l.mu.Lock()
		delete(l.graphs, g)
		l.mu.Unlock()
		return &pb.DropGraphResponse{}, nil
	})
}

// state returns the state of a graph's catalog.
func (l *Leader) state(g *local.Graph) *pb.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch := l.graphs[g]
	if epoch == 0 {
		epoch = rand.Uint64() | 1
		l.graphs[g] = epoch
	}
	return &pb.State{Epoch: epoch, Number: g.Changes()}
}

// catalog returns a graph's catalog, nil if its state is the known one.
func (l *Leader) catalog(g *local.Graph, known *pb.State) *pb.Catalog {
	state := l.state(g)
	if same(state, known) {
		return nil
	}
	c := encodeCatalog(g, state)
	c.Processes, c.Replicas = uint32(l.layout.Processes), uint32(l.layout.Replicas)
	return c
}

func same(a, b *pb.State) bool {
	return a.GetEpoch() == b.GetEpoch() && a.GetNumber() == b.GetNumber()
}

func (s *leadService) Describe(ctx context.Context, r *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), true, func(l *Leader, g *local.Graph) (*pb.DescribeResponse, error) {
		return &pb.DescribeResponse{Catalog: l.catalog(g, r.GetKnown())}, nil
	})
}

func (s *leadService) Begin(r *pb.BeginRequest, stream grpc.ServerStreamingServer[pb.BeginResponse]) error {
	l, err := s.leading()
	if err != nil {
		return err
	}
	err = l.begin(r, stream)
	if l.ctx.Err() != nil {
		return s.notLeading()
	}
	return err
}

// begin begins a transaction, which ends with the stream.
func (l *Leader) begin(r *pb.BeginRequest, stream grpc.ServerStreamingServer[pb.BeginResponse]) error {
	ctx := stream.Context()
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return Status(err)
	}
	mode := shard.Mode(r.GetMode())
	if mode == shard.Write && r.GetInTurn() {
		mode = shard.WriteInTurn
	}
	began, err := g.Begin(ctx, mode)
	if err != nil {
		return Status(err)
	}
	t := &led{g: g, tx: began.(*local.Tx)}
	out := &pb.Began{Epoch: l.epoch, Versions: t.tx.Versions()}
	out.Commit, out.Time = t.tx.Position()
	if out.Versions != nil {
		out.Snapshot = t.tx.SnapshotID()
	}
	out.Catalog = l.catalog(g, r.GetKnown())
	if out.Snapshot == 0 || out.Snapshot != r.GetCounted() || out.Catalog.GetState().GetEpoch() != 0 && out.Catalog.GetState().GetEpoch() != r.GetKnown().GetEpoch() {
		out.Counts = wire.EncodeCounts(t.tx.Statistics())
	}
	for _, id := range t.tx.Online() {
		out.Online = append(out.Online, uint32(id))
	}
	l.mu.Lock()
	for out.Tx == 0 || l.txs[out.Tx] != nil {
		out.Tx = rand.Uint64()
	}
	l.txs[out.Tx] = t
	l.mu.Unlock()
	defer func() {
		t.end() // before Outcome no longer finds it
		l.mu.Lock()
		delete(l.txs, out.Tx)
		l.mu.Unlock()
	}()
	if err := l.confirm(ctx); err != nil {
		return Status(err)
	}
	body, err := proto.Marshal(out)
	if err != nil {
		return err
	}
	for more := true; more; {
		part := body[:min(len(body), rpc.FrameBytes)]
		body = body[len(part):]
		more = len(body) > 0
		if err := stream.Send(&pb.BeginResponse{Part: part, More: more}); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
	return nil
}

func (s *leadService) Renew(ctx context.Context, r *pb.RenewRequest) (*pb.RenewResponse, error) {
	return asLeader(ctx, s, false, func(l *Leader) (*pb.RenewResponse, error) {
		t, done, err := l.use(r.GetTx())
		if err != nil {
			return &pb.RenewResponse{}, nil // the transaction that pins the snapshot has ended
		}
		defer done()
		same, err := l.present(ctx, t, r.GetGraph(), r.GetSnapshot(), r.GetKnown())
		return &pb.RenewResponse{Same: same}, err
	})
}

// present reports whether a new transaction would see the snapshot of t, and the known state of the catalog.
func (l *Leader) present(ctx context.Context, t *led, name string, snap uint64, known *pb.State) (bool, error) {
	g, err := l.store.Local(name)
	if err != nil || t.g != g {
		return false, err
	}
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if tx.(*local.Tx).SnapshotID() != snap || !same(l.state(g), known) {
		return false, nil
	}
	return true, l.confirm(ctx)
}

// Version does not confirm the lead: the versions of a snapshot never change, and Renew tells whether it is current.
func (s *leadService) Version(ctx context.Context, r *pb.VersionRequest) (*pb.VersionResponse, error) {
	return withTx(ctx, s, r.GetTx(), false, func(_ *Leader, t *led) (*pb.VersionResponse, error) {
		v, ok, err := t.tx.Version(ctx, &shard.Parts{
			Labels: wire.Numbers[graph.LabelID](r.GetLabels()), Types: wire.Numbers[graph.TypeID](r.GetTypes()), Props: wire.Numbers[graph.PropID](r.GetProps()),
			Any: shard.AnyPart(r.GetAny()),
		})
		return &pb.VersionResponse{Known: ok, Opened: v.Opened, Commit: v.Commit}, err
	})
}

func (s *leadService) Intern(ctx context.Context, r *pb.InternRequest) (*pb.InternResponse, error) {
	return withTx(ctx, s, r.GetTx(), false, func(l *Leader, t *led) (*pb.InternResponse, error) {
		out := &pb.InternResponse{}
		var err error
		switch n := r.GetName().(type) {
		case *pb.InternRequest_Label:
			var id graph.LabelID
			id, err = t.tx.Label(n.Label)
			out.Id = uint32(id)
		case *pb.InternRequest_Type:
			var id graph.TypeID
			id, err = t.tx.Type(n.Type)
			out.Id = uint32(id)
		case *pb.InternRequest_Prop:
			var id graph.PropID
			id, err = t.tx.Prop(n.Prop)
			out.Id = uint32(id)
		case *pb.InternRequest_Set:
			var id graph.LabelSet
			id, err = t.tx.LabelSet(wire.Numbers[graph.LabelID](n.Set.GetMembers()))
			out.Id = uint32(id)
		}
		if err != nil {
			return nil, err
		}
		out.Catalog = l.catalog(t.g, r.GetKnown())
		return out, nil
	})
}

func (s *leadService) Mutate(ctx context.Context, r *pb.MutateRequest) (*pb.MutateResponse, error) {
	return withTx(ctx, s, r.GetTx(), false, func(l *Leader, t *led) (*pb.MutateResponse, error) {
		if of := r.GetHeirOf(); of != 0 {
			if err := l.inherit(ctx, t, of); err != nil {
				return nil, err
			}
		}
		if err := takeTurns(ctx, t.tx, r); err != nil {
			return nil, err
		}
		ms, err := wire.DecodeMutations(r)
		if err != nil {
			return nil, err
		}
		if err := t.tx.Apply(ctx, ms); err != nil {
			return nil, err
		}
		if r.GetCheckUnique() {
			if err := t.tx.CheckUnique(ctx); err != nil {
				return nil, err
			}
		}
		var vertices []graph.VertexID
		var edges []graph.EdgeID
		for i := range ms {
			switch ms[i].Op {
			case shard.CreateVertex:
				vertices = append(vertices, ms[i].Vertex)
			case shard.CreateEdge:
				edges = append(edges, ms[i].Edge.ID)
			}
		}
		return &pb.MutateResponse{Vertices: wire.EncodeIDs(vertices), Edges: wire.EncodeIDs(edges), Catalog: l.catalog(t.g, r.GetKnown()), Duplicates: !t.tx.KeepsUnique()}, nil
	})
}

// inherit passes the turns of another transaction on to t.
func (l *Leader) inherit(ctx context.Context, t *led, of uint64) error {
	old, done, err := l.use(of)
	if err != nil {
		return err
	}
	defer done()
	return t.tx.Inherit(ctx, old.tx)
}

// takeTurns waits for the turns that a request names.
func takeTurns(ctx context.Context, tx *local.Tx, r *pb.MutateRequest) error {
	var keys []shard.Key
	for edge, column := range map[bool][]byte{false: r.GetTurnVertices(), true: r.GetTurnEdges()} {
		if len(column) == 0 {
			continue
		}
		ids, err := wire.DecodeIDs([]uint64(nil), column)
		if err != nil {
			return err
		}
		for _, id := range ids {
			keys = append(keys, shard.Key{ID: id, Edge: edge})
		}
	}
	if keys == nil {
		return nil
	}
	slices.SortFunc(keys, shard.CompareKeys)
	return tx.TakeTurns(ctx, keys)
}

func (s *leadService) Count(ctx context.Context, r *pb.CountRequest) (*pb.CountResponse, error) {
	return withTx(ctx, s, r.GetTx(), true, func(l *Leader, t *led) (*pb.CountResponse, error) {
		return &pb.CountResponse{Counts: wire.EncodeCounts(t.tx.Statistics())}, nil
	})
}

func (s *leadService) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	return withTx(ctx, s, r.GetTx(), false, func(l *Leader, t *led) (*pb.CommitResponse, error) {
		if len(r.GetId()) > 0 {
			id, err := commitID(r.GetId())
			if err != nil {
				return nil, err
			}
			t.tx.Name(id)
		}
		if r.GetOrigin() != nil {
			t.tx.From(originOf(r.GetOrigin()))
		}
		err := t.tx.Commit(ctx)
		number, time := t.tx.CommittedAt()
		return &pb.CommitResponse{Commit: number, Time: time}, err
	})
}

func (s *leadService) Load(ctx context.Context, r *pb.LoadRequest) (*pb.LoadResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(l *Leader, g *local.Graph) (*pb.LoadResponse, error) {
		load, err := wire.DecodeLoad(r)
		if err != nil {
			return nil, err
		}
		if err := g.Load(ctx, load); err != nil {
			return nil, err
		}
		out := &pb.LoadResponse{
			Vertices: uint64(load.Counts.Vertices.Applied()), Edges: uint64(load.Counts.Edges.Applied()), Counts: load.Counts.Append(nil),
			Skipped: load.Skipped, ResolveNanos: int64(load.Resolve),
		}
		for _, x := range load.Rejected {
			out.Rejected = append(out.Rejected, &pb.Rejected{Edge: x.Edge, Group: uint32(x.Group), Row: uint32(x.Row), Code: x.Code, Msg: x.Msg})
		}
		return out, nil
	})
}

func (s *leadService) LoadState(ctx context.Context, r *pb.LoadStateRequest) (*pb.LoadStateResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), true, func(l *Leader, g *local.Graph) (*pb.LoadStateResponse, error) {
		seq, mark, err := g.LoadState(ctx, r.GetStream())
		return &pb.LoadStateResponse{Seq: seq, Mark: mark}, err
	})
}

func (s *leadService) CreateIndex(ctx context.Context, r *pb.CreateIndexRequest) (*pb.CreateIndexResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.CreateIndexResponse, error) {
		return &pb.CreateIndexResponse{}, g.CreateIndex(ctx, wire.DecodeIndex(r.GetIndex()))
	})
}

func (s *leadService) DropIndex(ctx context.Context, r *pb.DropIndexRequest) (*pb.DropIndexResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.DropIndexResponse, error) {
		return &pb.DropIndexResponse{}, g.DropIndex(ctx, r.GetName())
	})
}

func (s *leadService) IndexProgress(ctx context.Context, r *pb.IndexProgressRequest) (*pb.IndexProgressResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), true, func(l *Leader, g *local.Graph) (*pb.IndexProgressResponse, error) {
		return &pb.IndexProgressResponse{Part: g.IndexProgress(graph.IndexID(r.GetId()))}, nil
	})
}

func (s *leadService) SetTTL(ctx context.Context, r *pb.SetTTLRequest) (*pb.SetTTLResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.SetTTLResponse, error) {
		return &pb.SetTTLResponse{}, g.SetTTL(ctx, wire.DecodeTTL(r.GetTtl()))
	})
}

func (s *leadService) DropTTL(ctx context.Context, r *pb.DropTTLRequest) (*pb.DropTTLResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.DropTTLResponse, error) {
		return &pb.DropTTLResponse{}, g.DropTTL(ctx, r.GetLabel(), r.GetType())
	})
}

func (s *leadService) Define(ctx context.Context, r *pb.DefineRequest) (*pb.DefineResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), true, func(l *Leader, g *local.Graph) (*pb.DefineResponse, error) {
		c := definition.Change{If: r.GetVersion(), Put: wire.DecodeDefinitions(r.GetPut())}
		for _, d := range r.GetDrop() {
			c.Drop = append(c.Drop, definition.Ref{Kind: d.GetKind(), Name: d.GetName()})
		}
		if err := g.Define(ctx, c); err != nil {
			return nil, err
		}
		return &pb.DefineResponse{Catalog: l.catalog(g, r.GetKnown())}, nil
	})
}

// ShareQuotas implements the call.
func (s *leadService) ShareQuotas(ctx context.Context, r *pb.ShareQuotasRequest) (*pb.ShareQuotasResponse, error) {
	return asLeader(ctx, s, true, func(l *Leader) (*pb.ShareQuotasResponse, error) {
		return wire.EncodeQuotaAnswer(l.quotas.Share(wire.DecodeQuotaReport(r), func(graphName, name string) *quota.Quota {
			g, err := l.store.Local(graphName)
			if err != nil {
				return nil // it has been dropped
			}
			return quota.Get(g.Definitions(), name)
		})), nil
	})
}

// Outcome implements the call. It ends the transaction first, so that no commit of it can follow.
func (s *leadService) Outcome(ctx context.Context, r *pb.OutcomeRequest) (*pb.OutcomeResponse, error) {
	return asLeader(ctx, s, true, func(l *Leader) (*pb.OutcomeResponse, error) {
		id, err := commitID(r.GetId())
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		t := l.txs[r.GetTx()]
		l.mu.Unlock()
		if t != nil {
			t.end()
		}
		g, err := l.store.Local(r.GetGraph())
		if err != nil {
			return nil, err
		}
		o, err := g.Outcome(id)
		if err != nil {
			return nil, err
		}
		return &pb.OutcomeResponse{Outcome: map[storage.Outcome]pb.OutcomeResponse_Outcome{
			storage.OutcomeCommitted: pb.OutcomeResponse_OUTCOME_COMMITTED, storage.OutcomeAbsent: pb.OutcomeResponse_OUTCOME_ABSENT,
		}[o]}, nil
	})
}

// commitID decodes the id of a commit.
func commitID(b []byte) (id storage.CommitID, err error) {
	if copy(id[:], b) != len(id) || len(b) != len(id) {
		return id, wire.ErrMalformed
	}
	return id, nil
}

func encodeCatalog(g *local.Graph, state *pb.State) *pb.Catalog {
	c := &pb.Catalog{State: state, Labels: g.AllLabels(), Types: g.AllTypes(), Props: g.AllProps(), Version: g.Version(), Shards: uint32(g.Shards()), Id: g.ID()}
	for s := graph.NoLabels; int(s) <= g.LabelSets(); s++ {
		if s > graph.NoLabels {
			c.LabelSets = append(c.LabelSets, &pb.LabelSet{Members: wire.Numbers[uint32](g.Labels(s))})
		}
		c.Present = append(c.Present, &pb.LabelSet{Members: wire.Numbers[uint32](g.PropsOf(nil, s))})
	}
	for _, ix := range g.Indexes() {
		c.Indexes = append(c.Indexes, wire.EncodeIndex(ix))
	}
	for _, t := range g.TTLs() {
		c.Ttls = append(c.Ttls, wire.EncodeTTL(t))
	}
	defined := g.Definitions()
	c.Definitions, c.DefinitionsVersion = wire.EncodeDefinitions(defined.Records()), defined.Version()
	return c
}
