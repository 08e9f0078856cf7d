package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
)

// Peers are the leader's way to the processes that keep the shards from 1 on. It implements storage.Peers.
type Peers struct {
	epoch atomic.Uint64      // of this writer, see choose; 0 before
	conns []*grpc.ClientConn // by shard; the first is nil
	lines []*line            // beside conns
	ctx   context.Context    // ended by Close
	close context.CancelFunc

	choosing sync.Mutex
}

var _ storage.Peers = (*Peers)(nil)

// NewPeers makes the way to the processes at addresses, which are in the order of the shards; the first is the leader's.
func NewPeers(addresses []string, more ...grpc.DialOption) (*Peers, error) {
	p := &Peers{conns: make([]*grpc.ClientConn, len(addresses)), lines: make([]*line, len(addresses))}
	p.ctx, p.close = context.WithCancel(context.Background())
	for no := 1; no < len(addresses); no++ {
		var err error
		if p.conns[no], err = dial(addresses[no], more...); err != nil {
			return nil, errors.Join(fmt.Errorf("shard %d: %w", no, err), p.Close())
		}
		p.lines[no] = newLine(p.conns[no])
	}
	return p, nil
}

// choose returns this writer an epoch greater than those of the writers before it: the upper 48 bits count the writers, and the
// lower ones are random, so that of two that start at the same time one refuses the other. It waits for all processes.
func (p *Peers) choose(ctx context.Context) error {
	p.choosing.Lock()
	defer p.choosing.Unlock()
	if p.epoch.Load() != 0 {
		return nil
	}
	const random = 16
	epochs, errs := make([]uint64, len(p.conns)), make([]error, len(p.conns))
	var asked sync.WaitGroup
	for no := 1; no < len(p.conns); no++ {
		asked.Go(func() {
			w := &peer{p: p, who: fmt.Sprintf("shard %d", no), c: pb.NewKeepServiceClient(p.lines[no])}
			errs[no] = w.persist(ctx, func(ctx context.Context) error {
				r, err := w.c.Epoch(ctx, &pb.EpochRequest{})
				epochs[no] = r.GetEpoch()
				return err
			})
		})
	}
	asked.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	last := slices.Max(epochs) >> random
	if last == 1<<(64-random)-1 {
		return graph.InternalError("no epoch is left for a further leader of the cluster", nil)
	}
	p.epoch.Store((last+1)<<random | rand.Uint64N(1<<random))
	return nil
}

// Close ends all that waits for other processes.
func (p *Peers) Close() error {
	p.close()
	var errs []error
	for _, c := range p.conns {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Open implements storage.Peers. It waits for the process.
func (p *Peers) Open(ctx context.Context, g storage.PartOf, no int, create bool) (storage.Peer, uint64, error) {
	if no >= len(p.conns) {
		return nil, 0, fmt.Errorf("graph %s has %d shards, and there are the addresses of %d", g.Name, g.Shards, len(p.conns))
	}
	if err := p.choose(ctx); err != nil {
		return nil, 0, err
	}
	w := &peer{p: p, who: fmt.Sprintf("shard %d", no), graph: g.Name, c: pb.NewKeepServiceClient(p.lines[no])}
	version := uint64(0)
	err := w.persist(ctx, func(ctx context.Context) error {
		r, err := w.c.Attach(ctx, &pb.AttachRequest{Graph: toPartOf(g), Shard: uint32(no), Epoch: p.epoch.Load(), Create: create})
		version = r.GetVersion()
		return err
	})
	return w, version, err
}

// Drop implements storage.Peers.
func (p *Peers) Drop(ctx context.Context, g storage.PartOf, no int) error {
	if no >= len(p.conns) {
		return nil
	}
	c := pb.NewKeepServiceClient(p.lines[no])
	return again(ctx, fmt.Sprintf("shard %d", no), func(ctx context.Context) error {
		_, err := c.Drop(ctx, &pb.DropRequest{Graph: toPartOf(g)})
		return err
	})
}

// Discard implements storage.Peers. The leader keeps shard 0 itself.
func (p *Peers) Discard(context.Context, storage.PartOf) error {
	return misuse("no peer keeps shard 0")
}

func toPartOf(g storage.PartOf) *pb.PartOf {
	return &pb.PartOf{Name: g.Name, Id: g.ID, Shards: uint32(g.Shards)}
}

// peer is one shard of one graph that another process keeps. It implements storage.Peer.
type peer struct {
	p     *Peers
	who   string
	graph string
	c     pb.KeepServiceClient
}

// persist makes a call until it is answered, ctx ends or the peers are closed.
func (w *peer) persist(ctx context.Context, f func(ctx context.Context) error) error {
	if ctx != w.p.ctx {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(w.p.ctx, cancel)()
	}
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		err := again(limited, w.who, f)
		timedOut := limited.Err() != nil
		cancel()
		if !timedOut || ctx.Err() != nil {
			return err
		}
	}
}

// Apply implements storage.Peer.
func (w *peer) Apply(c *storage.Changed) error {
	r := &pb.ApplyRequest{
		Graph: w.graph, Epoch: w.p.epoch.Load(), Version: c.Version, Store: uint32(c.Store), Batch: c.Batch, Same: c.Same, Keep: c.Keep, Gone: c.Gone,
	}
	err := w.persist(w.p.ctx, func(ctx context.Context) error {
		_, err := w.c.Apply(ctx, r)
		return err
	})
	if kind := graph.AsError(err).Kind; err != nil && (kind == graph.KindUnavailable || kind == graph.KindDeadline) {
		return graph.UnknownError("the leader ends, or another one leads now, which carries out what it finds begun", err)
	}
	return err
}

// Get implements storage.Peer.
func (w *peer) Get(store storage.Store, version uint64, key []byte) (value []byte, ok bool, err error) {
	r := &pb.GetRequest{Graph: w.graph, Epoch: w.p.epoch.Load(), Version: version, Store: uint32(store), Key: key}
	err = again(w.p.ctx, w.who, func(ctx context.Context) error {
		a, err := w.c.Get(ctx, r)
		value, ok = a.GetValue(), a != nil && a.Value != nil
		return err
	})
	return value, ok, err
}

// GetAll implements storage.Peer.
func (w *peer) GetAll(store storage.Store, version uint64, keys [][]byte) (values [][]byte, err error) {
	r := &pb.GetAllRequest{Graph: w.graph, Epoch: w.p.epoch.Load(), Version: version, Store: uint32(store), Keys: keys}
	err = again(w.p.ctx, w.who, func(ctx context.Context) error {
		a, err := w.c.GetAll(ctx, r)
		if err != nil {
			return err
		}
		values, err = readValues(a, len(keys))
		return err
	})
	return values, err
}

// readValues returns the values of n keys, nil for missing ones.
func readValues(a *pb.GetAllResponse, n int) ([][]byte, error) {
	values := make([][]byte, n)
	for i, at := range a.GetAt() {
		if int(at) >= n || i >= len(a.GetValues()) {
			return nil, errCodec
		}
		values[at] = append([]byte{}, a.GetValues()[i]...)
	}
	return values, nil
}

// Walk implements storage.Peer.
func (w *peer) Walk(q *storage.Walk) (out *storage.Records, err error) {
	r := &pb.WalkRequest{
		Graph: w.graph, Epoch: w.p.epoch.Load(), Version: q.Version, Store: uint32(q.Store), Lower: q.Lower, Upper: q.Upper, From: q.From, Down: q.Down,
		Bytes: uint32(q.Bytes),
	}
	err = again(w.p.ctx, w.who, func(ctx context.Context) error {
		a, err := w.c.Walk(ctx, r)
		if err == nil {
			out = &storage.Records{Keys: a.GetKeys(), Values: a.GetValues(), Done: a.GetDone()}
		}
		return err
	})
	return out, err
}

// Close implements storage.Peer: the connection is of all graphs.
func (w *peer) Close() error { return nil }
