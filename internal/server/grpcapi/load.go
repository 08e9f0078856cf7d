package grpcapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// loadGroup bounds the rows of waiting batches that are applied together. The more they are, the fewer records a list gets that
// a compaction must merge. loadRowBytes is the share of the Go heap's limit for a row; a row takes about an eighth of it.
const (
	loadGroup    = 4 << 20
	loadRowBytes = 3 << 10
)

// loadQueue bounds the waiting batches, of about a MiB each, and loadBatchBytes is the share of the Go heap's limit for one; when
// the queue is full, flow control stops the client.
const (
	loadQueue      = 512
	loadBatchBytes = 32 << 20
)

// loadService implements LoadService.
type loadService struct {
	pb.UnimplementedLoadServiceServer
	e       *query.Engine
	l       *loader.Loader
	monitor *request.Monitor
	audit   *access.Audit
}

// Load applies the batches of a load. One goroutine receives them; this one decodes and applies all that wait. Encoded messages are small,
// and the garbage collector does not scan them.
func (s *loadService) Load(stream grpc.BidiStreamingServer[pb.LoadRequest, pb.LoadResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	open := first.GetOpen()
	if open == nil {
		return wire.GRPCError(wire.RequestError("the first message of a load must open it"))
	}
	o := loader.Open{
		Graph: open.GetGraph(), Stream: open.GetStream(), Restart: open.GetRestart(), Confirms: open.GetConfirms(),
		Remember: open.GetRemember(), Unlogged: open.GetUnlogged(),
	}
	for _, sp := range open.GetSpaces() {
		o.Spaces = append(o.Spaces, loader.Space{
			Name: sp.GetName(), Label: sp.GetLabel(), Property: sp.GetProperty(), Labels: sp.GetLabels(),
		})
	}
	session, err := s.begin(stream.Context(), &o)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer session.Close()
	defer request.Hurry()()
	if err := stream.Send(&pb.LoadResponse{Part: &pb.LoadResponse_Opened{Opened: openedProto(session.Opened())}}); err != nil {
		return err
	}
	return applyAll(stream.Context(), s, o.Graph, session, incoming[*pb.LoadBatch]{
		method: pb.LoadService_Load_FullMethodName, queue: min(loadQueue, debug.SetMemoryLimit(-1)/loadBatchBytes), decode: batchFromProto,
		receive: func(ctx context.Context, to chan<- *pb.LoadBatch) error { return receive(ctx, stream, to) },
		ack: func(a *loader.Ack) error {
			return stream.Send(&pb.LoadResponse{Part: &pb.LoadResponse_Ack{Ack: ackProto(a)}})
		},
	})
}

// begin opens a load if its caller may write to the graph, whose name it completes.
func (s *loadService) begin(ctx context.Context, o *loader.Open) (*loader.Session, error) {
	o.Graph = cmp.Or(o.Graph, query.DefaultGraph)
	err := access.Check(ctx, o.Graph, access.Writer)
	s.audit.Record(ctx, "load", o.Graph, o.Stream, wire.Outcome(err))
	if err == nil {
		err = access.EnterGraph(ctx, o.Graph)
	}
	if err != nil {
		return nil, err
	}
	return s.l.Begin(ctx, *o)
}

// incoming are the batches of a load in the form of their transport.
type incoming[T any] struct {
	method  string
	queue   int64                                        // how many wait to be applied
	receive func(ctx context.Context, to chan<- T) error // passes on all batches, until ctx ends
	decode  func(m T, charge *memory.Charge) (*loader.Batch, error)
	ack     func(a *loader.Ack) error
}

// applyAll applies the batches of a load to their end and acknowledges each.
func applyAll[T any](call context.Context, s *loadService, graphName string, session *loader.Session, in incoming[T]) error {
	ctx, cancel := context.WithCancelCause(call)
	defer cancel(nil)
	batches := make(chan T, in.queue)
	go func() {
		defer close(batches)
		defer func() {
			if p := recover(); p != nil { // the interceptor does not see panics of this goroutine
				cancel(s.monitor.Panicked(call, in.method, p))
			}
		}()
		if err := in.receive(ctx, batches); err != nil {
			cancel(err)
		}
	}()
	var rest []T // at most one, of a group that its memory has ended
	for {
		var first T
		if len(rest) > 0 {
			first = rest[0]
		} else {
			var ok bool
			if first, ok = <-batches; !ok {
				break
			}
		}
		charge := s.e.Charge(call)
		var group []*loader.Batch
		var err error
		if group, rest, err = gather(first, batches, in.decode, charge); err != nil {
			return wire.GRPCError(err)
		}
		if err := access.Check(ctx, graphName, access.Writer); err != nil { // since the batches arrived
			return wire.GRPCError(err)
		}
		acks, err := session.Apply(ctx, group)
		charge.Release()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause // a batch that cannot be decoded, or a client that is gone
			}
			return wire.GRPCError(err)
		}
		for i := range acks {
			if err := in.ack(&acks[i]); err != nil {
				return err
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return wire.GRPCError(err)
	}
	return nil
}

// gather decodes a batch and those waiting behind it, as long as there is memory for their values. It returns the batch for which there was
// none, if any.
func gather[T any](first T, more <-chan T, decode func(T, *memory.Charge) (*loader.Batch, error), charge *memory.Charge) (group []*loader.Batch, rest []T, err error) {
	most := int(min(loadGroup, debug.SetMemoryLimit(-1)/loadRowBytes))
	for m, rows := first, 0; ; {
		b, err := decode(m, charge)
		if err != nil {
			if len(group) > 0 && graph.AsError(err).Kind == graph.KindBudget {
				return group, []T{m}, nil
			}
			return nil, nil, err
		}
		group, rows = append(group, b), rows+b.Rows()
		if rows >= most {
			return group, nil, nil
		}
		var ok bool
		select {
		case m, ok = <-more:
		default:
		}
		if !ok {
			return group, nil, nil
		}
	}
}

// receive queues batches until the client has sent its last.
func receive(ctx context.Context, stream grpc.BidiStreamingServer[pb.LoadRequest, pb.LoadResponse], to chan<- *pb.LoadBatch) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetBatch() == nil {
			return wire.RequestError("a load can be opened only once")
		}
		select {
		case to <- req.GetBatch():
		case <-ctx.Done():
			return nil
		}
	}
}

func openedProto(o loader.Opened) *pb.LoadOpened {
	out := &pb.LoadOpened{
		Seq: o.Seq, Mark: o.Mark, Confirmed: o.Confirmed, ConfirmedMark: o.ConfirmedMark,
		VertexCounts: countsProto(&o.Counts.Vertices), EdgeCounts: countsProto(&o.Counts.Edges),
	}
	for i := range o.Refused {
		out.Refused = append(out.Refused, ackProto(&o.Refused[i]))
	}
	return out
}

func countsProto(c *shard.RowCounts) *pb.LoadCounts {
	return &pb.LoadCounts{
		Created: uint64(c.Created), Overwritten: uint64(c.Overwritten), Unchanged: uint64(c.Unchanged), Deleted: uint64(c.Deleted),
		RepeatedKeys: uint64(c.Repeated),
	}
}

func ackProto(a *loader.Ack) *pb.LoadAck {
	out := &pb.LoadAck{
		Seq: a.Seq, Vertices: uint64(a.Counts.Vertices.Applied()), Edges: uint64(a.Counts.Edges.Applied()),
		VertexCounts: countsProto(&a.Counts.Vertices), EdgeCounts: countsProto(&a.Counts.Edges),
		ResolveSeconds: a.Resolve.Seconds(), CommitSeconds: a.Commit.Seconds(),
	}
	for _, r := range a.Rejected {
		out.Rejected = append(out.Rejected, &pb.Rejected{
			Edge: r.Edge, Group: uint32(r.Group), Row: uint32(r.Row), Code: r.Code, Message: r.Msg,
		})
	}
	return out
}

var (
	actions = map[pb.LoadAction]shard.Action{
		pb.LoadAction_LOAD_ACTION_UNSPECIFIED: shard.Upsert, pb.LoadAction_LOAD_ACTION_UPSERT: shard.Upsert,
		pb.LoadAction_LOAD_ACTION_INSERT: shard.Insert, pb.LoadAction_LOAD_ACTION_UPDATE: shard.Update,
		pb.LoadAction_LOAD_ACTION_DELETE: shard.Delete,
	}
	duplicates = map[pb.OnDuplicate]shard.OnDuplicate{
		pb.OnDuplicate_ON_DUPLICATE_UNSPECIFIED: shard.DuplicateOverwrite, pb.OnDuplicate_ON_DUPLICATE_OVERWRITE: shard.DuplicateOverwrite,
		pb.OnDuplicate_ON_DUPLICATE_KEEP_FIRST: shard.DuplicateKeepFirst, pb.OnDuplicate_ON_DUPLICATE_ERROR: shard.DuplicateError,
	}
	danglings = map[pb.Dangling]shard.Dangling{
		pb.Dangling_DANGLING_UNSPECIFIED: shard.DanglingReject, pb.Dangling_DANGLING_REJECT: shard.DanglingReject,
		pb.Dangling_DANGLING_CREATE: shard.DanglingCreate, pb.Dangling_DANGLING_SKIP: shard.DanglingSkip,
	}
	strategies = map[pb.UpdateStrategy]shard.Strategy{
		pb.UpdateStrategy_UPDATE_STRATEGY_UNSPECIFIED: shard.Override, pb.UpdateStrategy_UPDATE_STRATEGY_OVERRIDE: shard.Override,
		pb.UpdateStrategy_UPDATE_STRATEGY_SUM: shard.Sum, pb.UpdateStrategy_UPDATE_STRATEGY_BIGGER: shard.Bigger,
		pb.UpdateStrategy_UPDATE_STRATEGY_SMALLER: shard.Smaller, pb.UpdateStrategy_UPDATE_STRATEGY_UNION: shard.Union,
		pb.UpdateStrategy_UPDATE_STRATEGY_INTERSECTION: shard.Intersection, pb.UpdateStrategy_UPDATE_STRATEGY_APPEND: shard.Append,
		pb.UpdateStrategy_UPDATE_STRATEGY_ELIMINATE: shard.Eliminate,
	}
)

func batchFromProto(p *pb.LoadBatch, charge *memory.Charge) (*loader.Batch, error) {
	b := &loader.Batch{Seq: p.GetSeq(), Mark: p.GetMark(), Confirmed: p.GetConfirmed()}
	for _, v := range p.GetVertices() {
		keys, err := columnFromProto(v.GetKeys(), charge)
		if err != nil {
			return nil, err
		}
		props, err := propsFromProto(v.GetProperties(), charge)
		if err != nil {
			return nil, err
		}
		b.Vertices = append(b.Vertices, loader.VertexRows{
			Labels: v.GetLabels(), Space: int(v.GetSpace()), Keys: keys, Props: props, Action: actions[v.GetAction()],
			OnDuplicate: duplicates[v.GetOnDuplicate()],
		})
	}
	for _, e := range p.GetEdges() {
		src, err := columnFromProto(e.GetSources(), charge)
		if err != nil {
			return nil, err
		}
		dst, err := columnFromProto(e.GetTargets(), charge)
		if err != nil {
			return nil, err
		}
		props, err := propsFromProto(e.GetProperties(), charge)
		if err != nil {
			return nil, err
		}
		b.Edges = append(b.Edges, loader.EdgeRows{
			Type: e.GetType(), SrcSpace: int(e.GetSourceSpace()), DstSpace: int(e.GetTargetSpace()), Src: src, Dst: dst, Props: props,
			Action: actions[e.GetAction()], Dangling: danglings[e.GetDangling()],
		})
	}
	return b, nil
}

func propsFromProto(ps []*pb.PropertyColumn, charge *memory.Charge) ([]loader.PropertyColumn, error) {
	out := make([]loader.PropertyColumn, len(ps))
	for i, p := range ps {
		vs, err := columnFromProto(p.GetValues(), charge)
		if err != nil {
			return nil, err
		}
		out[i] = loader.PropertyColumn{Name: p.GetName(), Values: vs, Strategy: strategies[p.GetStrategy()]}
	}
	return out, nil
}

// columnFromProto decodes a column; its strings share the message's memory.
func columnFromProto(c *pb.LoadColumn, charge *memory.Charge) ([]graph.Value, error) {
	return nestedColumn(c, 0, charge)
}

// nestedColumn decodes a column at a depth of nested lists.
func nestedColumn(c *pb.LoadColumn, depth int, charge *memory.Charge) (out []graph.Value, err error) {
	values := func(n int) error {
		if err := charge.Add(n * int(unsafe.Sizeof(graph.Value{}))); err != nil {
			return err
		}
		out = make([]graph.Value, n)
		return nil
	}
	switch d := c.GetData().(type) {
	case *pb.LoadColumn_Integers:
		if err := values(len(d.Integers.GetValues())); err != nil {
			return nil, err
		}
		for i, v := range d.Integers.GetValues() {
			out[i] = graph.IntValue(v)
		}
	case *pb.LoadColumn_Floats:
		if err := values(len(d.Floats.GetValues())); err != nil {
			return nil, err
		}
		for i, v := range d.Floats.GetValues() {
			out[i] = graph.FloatValue(v)
		}
	case *pb.LoadColumn_Texts:
		text, from := d.Texts.GetText(), uint32(0)
		if !utf8.Valid(text) {
			return nil, wire.RequestError("a text column is not UTF-8")
		}
		if err := values(len(d.Texts.GetEnds())); err != nil {
			return nil, err
		}
		for i, to := range d.Texts.GetEnds() {
			if to < from || int(to) > len(text) || int(to) < len(text) && !utf8.RuneStart(text[to]) {
				return nil, wire.RequestError("a text column's offsets do not match its text")
			}
			out[i] = graph.StringValue(unsafe.String(unsafe.SliceData(text[from:to]), int(to-from)))
			from = to
		}
	case *pb.LoadColumn_Lists:
		if depth == wire.MaxDepth {
			return nil, wire.RequestError("a list column is nested too deep")
		}
		elements, err := nestedColumn(d.Lists.GetElements(), depth+1, charge)
		if err != nil {
			return nil, err
		}
		from := uint32(0)
		if err := values(len(d.Lists.GetEnds())); err != nil {
			return nil, err
		}
		for i, to := range d.Lists.GetEnds() {
			if to < from || int(to) > len(elements) {
				return nil, wire.RequestError("a list column's offsets do not match its elements")
			}
			out[i] = graph.ListValue(elements[from:to:to])
			from = to
		}
	case *pb.LoadColumn_Values:
		if err := values(len(d.Values.GetValues())); err != nil {
			return nil, err
		}
		for i, v := range d.Values.GetValues() {
			x, err := wire.FromProto(v, 0, charge)
			if err != nil {
				return nil, wire.BadParams("", err)
			}
			out[i] = x
		}
	}
	nulls := c.GetNulls()
	for i := range min(len(out), 8*len(nulls)) {
		if nulls[i/8]>>(i%8)&1 != 0 {
			out[i] = graph.Value{}
		}
	}
	return out, nil
}
