package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Tx is a gateway's transaction. It implements shard.Tx. Until its first change, it reads a snapshot
// that the leader has pinned, from all shards in parallel; then it asks the leader, which lays the changes over the snapshot.
type Tx struct {
	g          *Graph
	mode       shard.Mode
	l          *lease
	renewal    *renewal // nil if no other transaction shares the snapshot
	ended      atomic.Bool
	wrote      atomic.Bool
	asked      atomic.Bool              // something was read
	duplicates bool                     // the changes so far break a unique constraint
	changed    []shard.Key              // at which its changes take turns
	next       atomic.Pointer[prefetch] // of the last Seek
	beyond     atomic.Pointer[prefetch] // of the last prefetched Expand

	wire *graph.Wire // counts calls and bytes, if not nil

	origin *pb.Origin // where it comes from; nil if nobody said
	number uint64     // of its commit
	time   int64      // of its commit

	mu     sync.Mutex
	counts *graph.Counts // nil after a change, until Counts asks for them
	failed error         // of Counts
}

// BeginStale implements shard.Graph. A graph with access rules has no stale transactions, since they would follow stale rules.
func (g *Graph) BeginStale(ctx context.Context, within time.Duration) (shard.Tx, error) {
	if len(rules.Of(g.Definitions())) == 0 {
		if l := g.borrowStale(within); l != nil {
			return &Tx{g: g, mode: shard.Read, l: l, counts: l.counts}, nil
		}
	}
	return g.Begin(ctx, shard.Read)
}

// Begin implements shard.Graph. It repeats the call while the leader does not answer.
func (g *Graph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	if mode == shard.Read {
		if l := g.borrow(); l != nil {
			return &Tx{g: g, mode: mode, l: l, renewal: &renewal{g: g, l: l}, counts: l.counts}, nil
		}
	}
	limit, cancel := peers.Within(ctx)
	defer cancel()
	for r := new(rpc.Retries); ; {
		tx, retryable, err := g.begin(ctx, limit, mode)
		if !retryable || limit.Err() != nil {
			if err != nil {
				return nil, err
			}
			return tx, nil
		}
		if !r.Pause(limit) {
			if ctx.Err() != nil {
				return nil, graph.DeadlineError(ctx.Err())
			}
			return nil, err
		}
	}
}

// begin begins a transaction. ctx bounds how long an exclusive one waits for other writers, limit how long others wait for the leader.
func (g *Graph) begin(ctx, limit context.Context, mode shard.Mode) (_ *Tx, retryable bool, err error) {
	wait := limit
	if mode == shard.WriteExclusive {
		wait = ctx
	}
	// The stream lasts as long as the transaction, even if the request that began it ends.
	stream, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			stop()
		}
	}()
	undo := context.AfterFunc(wait, stop)
	seen := g.state.Load()
	r := &pb.BeginRequest{Graph: g.name, Mode: uint32(mode), Known: seen.state}
	if mode == shard.WriteInTurn {
		// The leader reads the mode from InTurn.
		r.Mode = uint32(shard.Write)
		r.InTurn = true
	}
	had := g.counts.Load()
	if had != nil && had.epoch == r.GetKnown().GetEpoch() {
		r.Counted = had.snap
	}
	asked := clock()
	s, err := g.s.lead.Begin(stream, r)
	b := &pb.Began{}
	if err == nil {
		err = recvBegan(s, b)
	}
	if err != nil || !undo() {
		switch {
		case ctx.Err() != nil:
			return nil, true, graph.DeadlineError(ctx.Err())
		case wait.Err() != nil:
			return nil, true, wire.TimedOut(leaderName, wait.Err())
		}
		if err, retryable = wire.FromStatus(wait, leaderName, err); graph.AsError(err).Kind == graph.KindNotFound {
			g.s.forget(g)
		}
		return nil, retryable, err
	}
	if c := b.GetCatalog(); c != nil && c.GetId() != g.id {
		g.s.forget(g)
		return nil, false, wire.Unavailable(shard.SnapshotGone, "the graph has been recreated", nil)
	}
	switch fresh, err := g.learn(b.GetCatalog(), seen); {
	case err != nil:
		return nil, false, err
	case !fresh:
		return nil, true, wire.Unavailable(shard.SnapshotGone, "the leader has changed while the transaction began", nil)
	}
	l := &lease{
		id: b.GetTx(), epoch: b.GetEpoch(), snap: b.GetSnapshot(), versions: b.GetVersions(), online: b.GetOnline(), commit: b.GetCommit(), time: b.GetTime(),
		names: g.state.Load(), stop: stop,
	}
	l.confirmed.Store(asked)
	switch {
	case b.GetCounts() != nil:
		l.counts = wire.DecodeCounts(b.GetCounts())
		if mode == shard.Read {
			g.counts.Store(&counted{l.names.state.GetEpoch(), l.snap, l.counts})
		}
	case r.Counted != 0:
		l.counts = had.counts
	default:
		return nil, false, wire.ErrMalformed
	}
	l.refs.Add(1)
	if mode == shard.Read && l.snap != 0 {
		g.share(l)
	}
	return &Tx{g: g, mode: mode, l: l, counts: l.counts}, false, nil
}

// recvBegan receives the answer to Begin.
func recvBegan(s grpc.ServerStreamingClient[pb.BeginResponse], b *pb.Began) error {
	var body []byte
	for {
		part, err := s.Recv()
		if err != nil {
			return err
		}
		if body = append(body, part.GetPart()...); !part.GetMore() {
			return proto.Unmarshal(body, b)
		}
	}
}

// check returns an error if the transaction has ended, or ctx has.
func (tx *Tx) check(ctx context.Context) error {
	if tx.ended.Load() {
		return misuse("the transaction has ended")
	}
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err())
	}
	return nil
}

// misuse is the error of requests that do not fit the transaction.
func misuse(format string, args ...any) error {
	return graph.InternalError(fmt.Sprintf(format, args...), nil)
}

// clean reports whether reads go to the shards, not to the leader.
func (tx *Tx) clean() bool { return len(tx.l.versions) > 0 && !tx.wrote.Load() }

// target is where a read goes.
type target struct {
	no   int // the shard; -1: the leader, which sees the transaction's changes
	conn rpc.Caller
	snap *pb.Snapshot
	// answer, if not nil, is already known, and no call is made.
	answer proto.Message
}

// all is the leader, which sees the transaction's changes.
func (tx *Tx) all() target {
	return target{no: -1, conn: tx.g.s.leader, snap: &pb.Snapshot{Graph: tx.g.name, Tx: tx.l.id}}
}

// shard is a shard of the snapshot.
func (tx *Tx) shard(no int) target {
	snap := &pb.Snapshot{Graph: tx.g.name, Epoch: tx.l.epoch, Version: tx.l.versions[no], Shard: uint32(no)}
	return target{no: no, conn: tx.g.reads[no], snap: snap}
}

func (t target) String() string {
	if t.no < 0 {
		return leaderName
	}
	return fmt.Sprintf("shard %d", t.no)
}

// Wire implements shard.Wired.
func (tx *Tx) Wire(w *graph.Wire) { tx.wire = w }

// message is a pointer to a message.
type message[A any] interface {
	*A
	proto.Message
}

// ask makes a reading call to each target: it sends all calls before it waits for the first answer. take gets the answers in the order of the
// targets.
func ask[A any, P message[A]](ctx context.Context, tx *Tx, method string, targets []target, request func(i int) proto.Message, take func(i int, a P) error) error {
	return askFirst(ctx, tx, method, targets, false, request, take)
}

// askFirst is ask. more says that a call to the leader is likely to follow, which can carry the question of the renewal.
func askFirst[A any, P message[A]](
	ctx context.Context, tx *Tx, method string, targets []target, more bool, request func(i int) proto.Message, take func(i int, a P) error,
) error {
	if len(targets) == 0 {
		return nil
	}
	limited, cancel := peers.Within(ctx)
	defer cancel()
	type call struct {
		in     proto.Message
		out    A
		finish func() error
	}
	calls := make([]call, len(targets))
	r, piggybacked, asked := tx.renewal, false, int64(0)
	if r != nil && r.open() {
		if piggybacked = targets[0].no == 0 && targets[0].answer == nil && tx.g.s.assigned.Single(); piggybacked {
			asked = r.piggyback(targets[0].snap)
		} else if !more {
			r.send(ctx)
		}
	}
	group := rpc.NewGroup(limited, tx.wire)
	start := func(ctx context.Context, i int) (finish func() error) {
		return targets[i].conn.Start(ctx, method, calls[i].in, P(&calls[i].out), group)
	}
	for i := range calls {
		if targets[i].answer == nil {
			calls[i].in = request(i)
			calls[i].finish = start(limited, i)
		}
	}
	group.Send()
	var err error
	if tx.asked.Swap(true) && !piggybacked {
		err = tx.Check(ctx) // the answer is usually here: an earlier read has asked
	}
	for i := range calls {
		if err != nil {
			cancel()
		}
		if targets[i].answer != nil {
			if err == nil {
				err = take(i, targets[i].answer.(P))
			}
			continue
		}
		one := calls[i].finish()
		if err != nil {
			continue
		}
		if one != nil {
			var retryable bool
			if err, retryable = wire.FromStatus(ctx, targets[i].String(), one); retryable {
				err = peers.Retry(ctx, limited, targets[i].String(), func(ctx context.Context) error { return start(ctx, i)() })
			}
		}
		if err == nil && i == 0 && piggybacked {
			r.answered(asked)
		}
		if err == nil {
			err = take(i, &calls[i].out)
		}
	}
	if err != nil && shard.Retriable(err) {
		tx.g.drop(tx.l, true)
		if r == nil { // the snapshot itself is lost, rather than superseded
			tx.g.dropStale(tx.l)
		}
	}
	return err
}

// targets returns the targets of n rows, and the rows of each; rows whose shard does not exist are left out.
func (tx *Tx) targets(n int, shardOf func(i int) int) (targets []target, rows [][]int32) {
	byShard := make([][]int32, tx.g.shards)
	for i := range n {
		if no := shardOf(i); no < tx.g.shards {
			byShard[no] = append(byShard[no], int32(i))
		}
	}
	if !tx.clean() && n > 0 {
		return []target{tx.all()}, [][]int32{slices.Concat(byShard...)}
	}
	for no, r := range byShard {
		if len(r) > 0 {
			targets, rows = append(targets, tx.shard(no)), append(rows, r)
		}
	}
	return targets, rows
}

// vertexTargets is targets for vertices.
func (tx *Tx) vertexTargets(ids []graph.VertexID) (targets []target, rows [][]int32) {
	return tx.targets(len(ids), func(i int) int { return ids[i].Shard() })
}

// edgeTargets is targets for edges, which are in the shards of their sources.
func (tx *Tx) edgeTargets(edges []graph.Edge) (targets []target, rows [][]int32) {
	return tx.targets(len(edges), func(i int) int { return edges[i].Src.Shard() })
}

// pick returns some rows of a column.
func pick[T any](col []T, rows []int32) []T {
	out := make([]T, len(rows))
	for j, i := range rows {
		out[j] = col[i]
	}
	return out
}

// Statistics implements shard.Tx: the leader sends all at once.
func (tx *Tx) Statistics() *graph.Counts { return tx.Counts() }

// Counts implements shard.Tx. If the leader is lost, the transaction is: then these are the last ones that are known.
func (tx *Tx) Counts() *graph.Counts {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.counts != nil {
		return tx.counts
	}
	r, err := peers.Call(context.Background(), leaderName, tx.g.s.lead.Count, &pb.CountRequest{Graph: tx.g.name, Tx: tx.l.id})
	if err != nil {
		tx.failed = err
		return &graph.Counts{}
	}
	tx.counts = wire.DecodeCounts(r.GetCounts())
	return tx.counts
}

// Commit implements shard.Tx.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.ended.Load() {
		return misuse("the transaction has ended")
	}
	defer tx.Rollback()
	if !tx.wrote.Load() {
		return nil
	}
	tx.mu.Lock()
	err := tx.failed
	tx.mu.Unlock()
	if err != nil {
		return err
	}
	return tx.commit(ctx)
}

// Rollback implements shard.Tx.
func (tx *Tx) Rollback() {
	if !tx.ended.Swap(true) {
		if tx.renewal != nil {
			tx.renewal.end()
		}
		tx.l.release()
	}
}

// writable returns an error if the transaction cannot write.
func (tx *Tx) writable() error {
	switch {
	case tx.ended.Load():
		return misuse("the transaction has ended")
	case tx.mode == shard.Read:
		return misuse("a write in a read-only transaction")
	}
	return nil
}

// intern returns the number of a name, which may be new.
func (tx *Tx) intern(r *pb.InternRequest) (uint32, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	r.Graph, r.Tx, r.Known = tx.g.name, tx.l.id, tx.g.state.Load().state
	a, err := peers.Call(context.Background(), leaderName, tx.g.s.lead.Intern, r)
	if err == nil {
		_, err = tx.g.learn(a.GetCatalog(), nil)
	}
	return a.GetId(), err
}

// number returns the number of a name: known tells that of an existing one.
func number[T ~uint32](tx *Tx, known func(name string) (T, bool), name string, r *pb.InternRequest) (T, error) {
	if id, ok := known(name); ok && tx.writable() == nil {
		return id, nil
	}
	id, err := tx.intern(r)
	return T(id), err
}

// Label implements shard.Tx.
func (tx *Tx) Label(name string) (graph.LabelID, error) {
	return number(tx, tx.g.Label, name, &pb.InternRequest{Name: &pb.InternRequest_Label{Label: name}})
}

// Type implements shard.Tx.
func (tx *Tx) Type(name string) (graph.TypeID, error) {
	return number(tx, tx.g.Type, name, &pb.InternRequest{Name: &pb.InternRequest_Type{Type: name}})
}

// Prop implements shard.Tx.
func (tx *Tx) Prop(name string) (graph.PropID, error) {
	return number(tx, tx.g.Prop, name, &pb.InternRequest{Name: &pb.InternRequest_Prop{Prop: name}})
}

// LabelSet implements shard.Tx.
func (tx *Tx) LabelSet(labels []graph.LabelID) (graph.LabelSet, error) {
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for set, have := range tx.g.state.Load().labels {
		if set >= int(graph.NoLabels) && slices.Equal(have, sorted) && tx.writable() == nil {
			return graph.LabelSet(set), nil
		}
	}
	id, err := tx.intern(&pb.InternRequest{Name: &pb.InternRequest_Set{Set: &pb.LabelSet{Members: wire.Numbers[uint32](sorted)}}})
	return graph.LabelSet(id), err
}

// mutate sends changes to the leader.
func (tx *Tx) mutate(ctx context.Context, r *pb.MutateRequest) (*pb.MutateResponse, error) {
	r.Graph, r.Tx, r.Known = tx.g.name, tx.l.id, tx.g.state.Load().state
	a, err := tx.g.s.lead.Mutate(ctx, r)
	if err != nil {
		err, retryable := wire.FromStatus(ctx, leaderName, err)
		if retryable {
			err = wire.Unavailable(shard.TransactionLost, "the leader was lost, and the transaction with it; run it again", err)
		}
		return nil, err
	}
	if _, err := tx.g.learn(a.GetCatalog(), nil); err != nil {
		return nil, err
	}
	return a, nil
}

// Inherit implements shard.Heir.
func (tx *Tx) Inherit(ctx context.Context, from shard.Tx) error {
	old, ok := from.(*Tx)
	if !ok {
		return misuse("no turns to inherit")
	}
	r, err := wire.EncodeMutations(nil)
	if err != nil {
		return err
	}
	r.HeirOf = old.l.id
	_, err = tx.mutate(ctx, r)
	return err
}

// TakeTurns implements shard.Heir.
func (tx *Tx) TakeTurns(ctx context.Context, keys []shard.Key) error {
	r, err := wire.EncodeMutations(nil)
	if err != nil {
		return err
	}
	var vertices, edges []uint64
	for _, k := range keys {
		if k.Edge {
			edges = append(edges, k.ID)
		} else {
			vertices = append(vertices, k.ID)
		}
	}
	r.TurnVertices, r.TurnEdges = wire.EncodeIDs(vertices), wire.EncodeIDs(edges)
	defer tx.mayWait(ctx)()
	_, err = tx.mutate(ctx, r)
	return err
}

// Changes implements shard.Heir.
func (tx *Tx) Changes() []shard.Key { return tx.changed }

// waitTime is how long an unanswered change takes before it counts as waiting for another transaction.
const waitTime = 20 * time.Millisecond

// mayWait reports, by shard.Waiting, that a request waits for other transactions once it has taken waitTime, until done is called.
func (tx *Tx) mayWait(ctx context.Context) (done func()) {
	var mu sync.Mutex
	back := func() {}
	over := false
	timer := time.AfterFunc(waitTime, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			back = shard.Waiting(ctx)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		back()
	}
}

// CheckUnique implements shard.Tx. The answer to the last changes says whether there is something to ask.
func (tx *Tx) CheckUnique(ctx context.Context) error {
	if !tx.duplicates {
		return nil
	}
	r, err := wire.EncodeMutations(nil)
	if err != nil {
		return err
	}
	r.CheckUnique = true
	_, err = tx.mutate(ctx, r)
	return err
}

// Apply implements shard.Tx.
func (tx *Tx) Apply(ctx context.Context, ms []shard.Mutation) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	if err := tx.writable(); err != nil {
		return err
	}
	if len(ms) == 0 {
		return nil
	}
	r, err := wire.EncodeMutations(ms)
	if err != nil {
		return err
	}
	tx.wrote.Store(true)
	tx.mu.Lock()
	tx.counts = nil
	tx.mu.Unlock()
	if tx.mode == shard.WriteInTurn {
		tx.changed = shard.AddKeys(tx.changed, ms)
		defer tx.mayWait(ctx)()
	}
	a, err := tx.mutate(ctx, r)
	if err != nil {
		return err
	}
	tx.duplicates = a.GetDuplicates()
	vertices, err := wire.DecodeIDs([]graph.VertexID(nil), a.GetVertices())
	if err != nil {
		return err
	}
	edges, err := wire.DecodeIDs([]graph.EdgeID(nil), a.GetEdges())
	if err != nil {
		return err
	}
	for i := range ms {
		switch m := &ms[i]; {
		case m.Op == shard.CreateVertex && len(vertices) > 0:
			m.Vertex, vertices = vertices[0], vertices[1:]
		case m.Op == shard.CreateEdge && len(edges) > 0:
			m.Edge.ID, edges = edges[0], edges[1:]
		case m.Op == shard.CreateVertex || m.Op == shard.CreateEdge:
			return wire.ErrMalformed
		}
	}
	return nil
}

// commit commits the transaction under a new id. Without an answer, or if the leader itself does not know, it asks the leader, or the next one,
// for the outcome of that id until the deadline.
func (tx *Tx) commit(ctx context.Context) error {
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err())
	}
	id, err := uuid.NewV7()
	if err != nil {
		return graph.InternalError("name a commit", err)
	}
	a, err := tx.g.s.lead.Commit(ctx, &pb.CommitRequest{Graph: tx.g.name, Tx: tx.l.id, Id: id[:], Origin: tx.origin})
	if err == nil {
		tx.number, tx.time = a.GetCommit(), a.GetTime()
		return nil
	}
	if f := wire.Fault(err); f != nil && f.Kind != graph.KindUnknown || status.Code(err) == codes.Unimplemented {
		err, _ = wire.FromStatus(ctx, leaderName, err)
		return err
	}
	unknown := graph.UnknownError("no answer from the leader; the commit may or may not have been applied", err)
	limited, cancel := peers.Within(ctx)
	defer cancel()
	for tries := new(rpc.Retries); ; {
		r, err := tx.g.s.lead.Outcome(limited, &pb.OutcomeRequest{Graph: tx.g.name, Tx: tx.l.id, Id: id[:]})
		switch {
		case limited.Err() != nil || status.Code(err) == codes.Unimplemented:
			return unknown
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_COMMITTED:
			if st, err := (*changeLog)(tx.g).LogState(limited); err == nil {
				tx.number, tx.time = st.Last, st.LastTime // its own commit, or a later one
			}
			return nil
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_ABSENT:
			return wire.Unavailable(shard.TransactionLost, "the leader was lost before it committed the transaction; run it again", nil)
		case err == nil:
			return unknown
		}
		if e, retryable := wire.FromStatus(limited, leaderName, err); !retryable && graph.AsError(e).Kind != graph.KindUnavailable {
			return unknown
		}
		if !tries.Pause(limited) {
			return unknown
		}
	}
}
