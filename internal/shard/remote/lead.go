package remote

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// leader answers gateways.
type leader struct {
	pb.UnimplementedLeadServiceServer
	store   *local.Store
	epoch   uint64
	layout  shard.Layout
	confirm func(ctx context.Context) error // returns nil if no other process led before the call

	over   chan struct{} // closed when the lead ends
	mu     sync.Mutex
	txs    map[uint64]*led
	graphs map[*local.Graph]uint64 // the epochs of their catalogs
}

func newLeader(store *local.Store, epoch uint64, layout shard.Layout, confirm func(ctx context.Context) error) *leader {
	return &leader{
		store: store, epoch: epoch, layout: layout, confirm: confirm, over: make(chan struct{}), txs: map[uint64]*led{},
		graphs: map[*local.Graph]uint64{},
	}
}

// shut ends all transactions, for what follows the lead.
func (l *leader) shut() {
	close(l.over)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.txs {
		go t.end()
	}
}

// led is a gateway's transaction.
type led struct {
	g  *local.Graph
	tx *local.Tx

	mu    sync.RWMutex // held for writing by its end
	ended bool
}

// end rolls the transaction back, unless it was committed, once it has no user.
func (t *led) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.tx.Rollback()
}

// use returns a transaction to be used until done.
func (l *leader) use(id uint64) (t *led, done func(), err error) {
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
	return nil, nil, unavailable(shard.TransactionLost, "the transaction has ended, or was lost when its leader restarted; run it again", nil)
}

// open returns the transaction that reads a snapshot.
func (l *leader) open(snap *pb.Snapshot) (shard.PartTx, func(), error) {
	t, done, err := l.use(snap.GetTx())
	if err != nil {
		return nil, nil, err
	}
	return t.tx, done, nil
}

// current returns an error unless a snapshot is what a new transaction would see.
func (l *leader) current(ctx context.Context, snap *pb.Snapshot) error {
	t, done, err := l.use(snap.GetTx())
	if err != nil {
		return err
	}
	defer done()
	same, err := l.present(ctx, t, snap.GetGraph(), snap.GetPresent(), snap.GetKnown())
	if err == nil && !same {
		err = past()
	}
	return err
}

// Graphs implements the call.
func (l *leader) Graphs(context.Context, *pb.GraphsRequest) (*pb.GraphsResponse, error) {
	return &pb.GraphsResponse{Names: l.store.Graphs()}, nil
}

// CreateGraph implements the call.
func (l *leader) CreateGraph(ctx context.Context, r *pb.CreateGraphRequest) (*pb.CreateGraphResponse, error) {
	return &pb.CreateGraphResponse{}, toStatus(l.store.CreateGraph(ctx, r.GetName()))
}

// DropGraph implements the call.
func (l *leader) DropGraph(ctx context.Context, r *pb.DropGraphRequest) (*pb.DropGraphResponse, error) {
	g, err := l.store.Local(r.GetName())
	if err != nil {
		return nil, toStatus(err)
	}
	if err := l.store.DropGraph(ctx, r.GetName()); err != nil {
		return nil, toStatus(err)
	}
	l.mu.Lock()
	delete(l.graphs, g)
	l.mu.Unlock()
	return &pb.DropGraphResponse{}, nil
}

// state returns the state of a graph's catalog.
func (l *leader) state(g *local.Graph) *pb.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch := l.graphs[g]
	if epoch == 0 {
		epoch = rand.Uint64() | 1
		l.graphs[g] = epoch
	}
	return &pb.State{Epoch: epoch, Number: g.Changes()}
}

// catalog returns a graph's catalog unless it is the one that is known.
func (l *leader) catalog(g *local.Graph, known *pb.State) *pb.Catalog {
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

// Describe implements the call.
func (l *leader) Describe(_ context.Context, r *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.DescribeResponse{Catalog: l.catalog(g, r.GetKnown())}, nil
}

// Begin implements the call.
func (l *leader) Begin(r *pb.BeginRequest, stream grpc.ServerStreamingServer[pb.BeginResponse]) error {
	ctx := stream.Context()
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return toStatus(err)
	}
	mode := shard.Mode(r.GetMode())
	if mode == shard.Write && r.GetInTurn() {
		mode = shard.WriteInTurn
	}
	began, err := g.Begin(ctx, mode)
	if err != nil {
		return toStatus(err)
	}
	t := &led{g: g, tx: began.(*local.Tx)}
	out := &pb.Began{Epoch: l.epoch, Versions: t.tx.Versions()}
	if out.Versions != nil {
		out.Snapshot = t.tx.SnapshotID()
	}
	out.Catalog = l.catalog(g, r.GetKnown())
	if out.Snapshot == 0 || out.Snapshot != r.GetCounted() || out.Catalog.GetState().GetEpoch() != 0 && out.Catalog.GetState().GetEpoch() != r.GetKnown().GetEpoch() {
		out.Counts = encodeCounts(t.tx.Statistics())
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
		t.end() // before Outcome misses it
		l.mu.Lock()
		delete(l.txs, out.Tx)
		l.mu.Unlock()
	}()
	if err := l.confirm(ctx); err != nil {
		return toStatus(err)
	}
	body, err := proto.Marshal(out)
	if err != nil {
		return err
	}
	for more := true; more; {
		part := body[:min(len(body), frameBytes)]
		body = body[len(part):]
		more = len(body) > 0
		if err := stream.Send(&pb.BeginResponse{Part: part, More: more}); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
	case <-l.over:
	}
	return nil
}

// Renew implements the call.
func (l *leader) Renew(ctx context.Context, r *pb.RenewRequest) (*pb.RenewResponse, error) {
	t, done, err := l.use(r.GetTx())
	if err != nil {
		return &pb.RenewResponse{}, nil // the transaction that has the snapshot is gone
	}
	defer done()
	same, err := l.present(ctx, t, r.GetGraph(), r.GetSnapshot(), r.GetKnown())
	return &pb.RenewResponse{Same: same}, toStatus(err)
}

// present reports whether a new transaction would see the snapshot of t, and the catalog in a known state.
func (l *leader) present(ctx context.Context, t *led, name string, snap uint64, known *pb.State) (bool, error) {
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

// Intern implements the call.
func (l *leader) Intern(_ context.Context, r *pb.InternRequest) (*pb.InternResponse, error) {
	t, done, err := l.use(r.GetTx())
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	out := &pb.InternResponse{}
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
		id, err = t.tx.LabelSet(numbers[graph.LabelID](n.Set.GetMembers()))
		out.Id = uint32(id)
	}
	if err != nil {
		return nil, toStatus(err)
	}
	out.Catalog = l.catalog(t.g, r.GetKnown())
	return out, nil
}

// Mutate implements the call.
func (l *leader) Mutate(ctx context.Context, r *pb.MutateRequest) (*pb.MutateResponse, error) {
	t, done, err := l.use(r.GetTx())
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	if of := r.GetHeirOf(); of != 0 {
		if err := l.inherit(ctx, t, of); err != nil {
			return nil, toStatus(err)
		}
	}
	if err := takeTurns(ctx, t.tx, r); err != nil {
		return nil, toStatus(err)
	}
	ms, err := decodeMutations(r)
	if err != nil {
		return nil, toStatus(err)
	}
	if err := t.tx.Apply(ctx, ms); err != nil {
		return nil, toStatus(err)
	}
	if r.GetCheckUnique() {
		if err := t.tx.CheckUnique(ctx); err != nil {
			return nil, toStatus(err)
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
	return &pb.MutateResponse{Vertices: appendIDs(nil, vertices), Edges: appendIDs(nil, edges), Catalog: l.catalog(t.g, r.GetKnown()), Duplicates: !t.tx.KeepsUnique()}, nil
}

// inherit gives a transaction the turns of another.
func (l *leader) inherit(ctx context.Context, t *led, of uint64) error {
	old, done, err := l.use(of)
	if err != nil {
		return err
	}
	defer done()
	return t.tx.Inherit(ctx, old.tx)
}

// takeTurns waits for the turns that a request asks for.
func takeTurns(ctx context.Context, tx *local.Tx, r *pb.MutateRequest) error {
	var keys []shard.Key
	for edge, column := range map[bool][]byte{false: r.GetTurnVertices(), true: r.GetTurnEdges()} {
		if len(column) == 0 {
			continue
		}
		ids, err := parseIDs([]uint64(nil), column)
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

// Count implements the call.
func (l *leader) Count(_ context.Context, r *pb.CountRequest) (*pb.CountResponse, error) {
	t, done, err := l.use(r.GetTx())
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	return &pb.CountResponse{Counts: encodeCounts(t.tx.Statistics())}, nil
}

// Commit implements the call.
func (l *leader) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	t, done, err := l.use(r.GetTx())
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	if len(r.GetId()) > 0 {
		id, err := commitID(r.GetId())
		if err != nil {
			return nil, toStatus(err)
		}
		t.tx.Name(id)
	}
	return &pb.CommitResponse{}, toStatus(t.tx.Commit(ctx))
}

// Load implements the call.
func (l *leader) Load(ctx context.Context, r *pb.LoadRequest) (*pb.LoadResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	load, err := decodeLoad(r)
	if err != nil {
		return nil, toStatus(err)
	}
	if err := g.Load(ctx, load); err != nil {
		return nil, toStatus(err)
	}
	out := &pb.LoadResponse{Vertices: uint64(load.AppliedVertices), Edges: uint64(load.AppliedEdges), Skipped: load.Skipped, ResolveNanos: int64(load.Resolve)}
	for _, x := range load.Rejected {
		out.Rejected = append(out.Rejected, &pb.Rejected{Edge: x.Edge, Group: uint32(x.Group), Row: uint32(x.Row), Code: x.Code, Msg: x.Msg})
	}
	return out, nil
}

// LoadState implements the call.
func (l *leader) LoadState(ctx context.Context, r *pb.LoadStateRequest) (*pb.LoadStateResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	seq, mark, err := g.LoadState(ctx, r.GetStream())
	return &pb.LoadStateResponse{Seq: seq, Mark: mark}, toStatus(err)
}

// CreateIndex implements the call.
func (l *leader) CreateIndex(ctx context.Context, r *pb.CreateIndexRequest) (*pb.CreateIndexResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err == nil {
		err = g.CreateIndex(ctx, decodeIndex(r.GetIndex()))
	}
	return &pb.CreateIndexResponse{}, toStatus(err)
}

// DropIndex implements the call.
func (l *leader) DropIndex(ctx context.Context, r *pb.DropIndexRequest) (*pb.DropIndexResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err == nil {
		err = g.DropIndex(ctx, r.GetName())
	}
	return &pb.DropIndexResponse{}, toStatus(err)
}

// IndexProgress implements the call.
func (l *leader) IndexProgress(_ context.Context, r *pb.IndexProgressRequest) (*pb.IndexProgressResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.IndexProgressResponse{Part: g.IndexProgress(graph.IndexID(r.GetId()))}, nil
}

// SetTTL implements the call.
func (l *leader) SetTTL(ctx context.Context, r *pb.SetTTLRequest) (*pb.SetTTLResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err == nil {
		err = g.SetTTL(ctx, decodeTTL(r.GetTtl()))
	}
	return &pb.SetTTLResponse{}, toStatus(err)
}

// DropTTL implements the call.
func (l *leader) DropTTL(ctx context.Context, r *pb.DropTTLRequest) (*pb.DropTTLResponse, error) {
	g, err := l.store.Local(r.GetGraph())
	if err == nil {
		err = g.DropTTL(ctx, r.GetLabel(), r.GetType())
	}
	return &pb.DropTTLResponse{}, toStatus(err)
}

// patience is how long a request without a deadline waits for a process that does not answer.
const patience = 30 * time.Second
