package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// groups are the replicas of all shards, as the leader of the cluster uses them. Changes go to the leader of a shard's group, reads to the
// replica of this process if it has the version, else to another one. It implements storage.Peers.
type groups struct {
	p     *Process
	epoch uint64
	ctx   context.Context // ends with the lead
}

var _ storage.Peers = (*groups)(nil)

// leadEnded is the error of calls that were not answered when the lead ended.
func leadEnded(err error) error {
	return graph.UnknownError("this process no longer leads the cluster; its successor completes the changes that have reached a shard", err)
}

// mustRepeat reports whether a proposal, which is idempotent, has to be repeated.
func mustRepeat(err error) bool {
	return errors.Is(err, replica.ErrNotLeader) || errors.Is(err, replica.ErrAmbiguous) || errors.Is(err, replica.ErrStopped) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// propose proposes a change to the replicas of a shard, through the one that leads them, until it is answered, ctx ends or this process no
// longer leads the cluster. here proposes to a replica of this process; there makes the call to another process.
func (g *groups) propose(
	ctx context.Context, no int, here func(ctx context.Context, parts *part.Parts) error, there func(ctx context.Context, c pb.KeepServiceClient) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	for r := new(rpc.Retries); ; r.Pause(ctx) {
		to := g.p.likelyLeader(no)
		var err error
		var retryable bool
		if parts := g.p.replicas.Parts(no); to == g.p.no {
			if err, retryable = replica.ErrNotLeader, true; parts != nil {
				err = here(ctx, parts)
				retryable = mustRepeat(err)
			}
			if retryable {
				g.p.missed(no, to)
			}
		} else {
			err, retryable = g.call(ctx, no, to, there)
		}
		switch {
		case err == nil:
			return nil
		case g.ctx.Err() != nil:
			return leadEnded(err)
		case ctx.Err() != nil:
			return graph.DeadlineError(ctx.Err())
		case !retryable:
			return err
		}
	}
}

// call makes a call to the process that is likely to lead a shard's replicas, and ends it once another one is known to lead them.
func (g *groups) call(ctx context.Context, no, to int, f func(ctx context.Context, c pb.KeepServiceClient) error) (_ error, retryable bool) {
	limited, cancel := context.WithTimeout(ctx, peers.Patience)
	defer cancel()
	defer g.p.untilOther(limited, no, to, cancel)()
	err := f(limited, pb.NewKeepServiceClient(g.p.peers.At(to)))
	if err == nil {
		return nil, false
	}
	if leader := wire.LeaderOf(err); leader >= 0 {
		g.p.hints[no].Store(int64(leader))
	} else {
		g.p.missed(no, to)
	}
	who := fmt.Sprintf("the leader of shard %d", no)
	if limited.Err() != nil && ctx.Err() == nil && wire.Fault(err) == nil {
		return wire.TimedOut(who, err), true
	}
	return wire.FromStatus(ctx, who, err)
}

// Open implements storage.Peers.
func (g *groups) Open(ctx context.Context, of storage.PartOf, no int, create bool) (storage.Peer, uint64, error) {
	if no >= g.p.layout.Shards {
		return nil, 0, fmt.Errorf("graph %s has %d shards, and the cluster %d", of.Name, of.Shards, g.p.layout.Shards)
	}
	version := uint64(0)
	err := g.propose(ctx, no, func(ctx context.Context, parts *part.Parts) (err error) {
		version, err = parts.Attach(ctx, of, no, g.epoch, create)
		return err
	}, func(ctx context.Context, c pb.KeepServiceClient) error {
		r, err := c.Attach(ctx, &pb.AttachRequest{Graph: wire.EncodePart(of), Shard: uint32(no), Epoch: g.epoch, Create: create})
		version = r.GetVersion()
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	m := &groupPeer{g: g, no: no, graph: of.Name, who: fmt.Sprintf("shard %d", no)}
	m.least.Store(version)
	return m, version, nil
}

// Drop implements storage.Peers.
func (g *groups) Drop(ctx context.Context, of storage.PartOf, no int) error {
	return g.propose(ctx, no, func(ctx context.Context, parts *part.Parts) error { return parts.Drop(ctx, of) },
		func(ctx context.Context, c pb.KeepServiceClient) error {
			_, err := c.Drop(ctx, &pb.DropRequest{Graph: wire.EncodePart(of), Shard: uint32(no)})
			return err
		})
}

// Discard implements storage.Peers. This process leads the replicas of shard 0.
func (g *groups) Discard(ctx context.Context, of storage.PartOf) error {
	return g.propose(ctx, 0, func(ctx context.Context, parts *part.Parts) error { return parts.Discard(ctx, of) },
		func(context.Context, pb.KeepServiceClient) error { return replica.ErrNotLeader })
}

// groupPeer is a shard of a graph, which a group replicates. It implements storage.Peer.
type groupPeer struct {
	g     *groups
	no    int
	graph string
	who   string
	least atomic.Uint64 // the version after the last change
}

// Apply implements storage.Peer.
func (m *groupPeer) Apply(c *storage.Changed) error {
	err := m.g.propose(m.g.ctx, m.no, func(ctx context.Context, parts *part.Parts) error {
		return parts.Apply(ctx, m.graph, m.g.epoch, c)
	}, func(ctx context.Context, k pb.KeepServiceClient) error {
		_, err := k.Apply(ctx, &pb.ApplyRequest{
			Graph: m.graph, Epoch: m.g.epoch, Version: c.Version, Store: uint32(c.Store), Batch: c.Batch, Same: c.Same, Keep: c.Keep, Gone: c.Gone,
			Shard: uint32(m.no),
		})
		return err
	})
	switch {
	case err == nil:
		if c.Store == storage.GraphStore {
			m.least.Store(c.Version)
		}
		return nil
	case errors.Is(err, storage.ErrFenced) || graph.AsError(err).Kind == graph.KindUnavailable || graph.AsError(err).Kind == graph.KindDeadline:
		return leadEnded(err)
	default:
		return err
	}
}

// otherMayAnswer reports whether another replica may answer a read that one has refused.
func otherMayAnswer(err error) bool {
	kind := graph.AsError(err).Kind
	return errors.Is(err, storage.ErrAhead) || errors.Is(err, storage.ErrGone) || kind == graph.KindNotFound || kind == graph.KindUnavailable || kind == graph.KindCorrupt
}

// read asks the replica of this process, if there is one, and then the others until one answers, or all have found damage.
func (m *groupPeer) read(version, least uint64, here func(p *part.Part) error, there func(ctx context.Context, c pb.KeepServiceClient) error) error {
	ctx := m.g.ctx
	var damaged []int // the processes that have found damage
	if parts := m.g.p.replicas.Parts(m.no); parts != nil {
		p, err := parts.Part(m.graph)
		if err == nil {
			if err = here(p); errors.Is(err, storage.ErrAhead) && p.Await(ctx, m.g.epoch, max(version, least)) == nil {
				err = here(p)
			}
		}
		if err == nil || !otherMayAnswer(err) {
			return err
		}
		if graph.AsError(err).Kind == graph.KindCorrupt {
			damaged = append(damaged, m.g.p.no)
		}
	}
	r := new(rpc.Retries)
	for to := m.g.p.likelyLeader(m.no); ; to = m.g.p.next(m.no, to) {
		if to != m.g.p.no {
			limited, cancel := context.WithTimeout(ctx, peers.Patience)
			err, retryable := wire.FromStatus(limited, m.who, there(limited, pb.NewKeepServiceClient(m.g.p.peers.At(to))))
			cancel()
			if err == nil {
				return nil
			}
			if d := graph.AsError(err); !retryable && !otherMayAnswer(err) || d.Detail == "Fenced" {
				return err
			}
			if graph.AsError(err).Kind == graph.KindCorrupt {
				if damaged = append(damaged, to); !slices.ContainsFunc(m.g.p.assignedTo(m.no), func(k int) bool { return !slices.Contains(damaged, k) }) {
					return err
				}
				continue
			}
			m.g.p.assigned.Renew()
		}
		if !r.Pause(ctx) {
			return wire.Unavailable(shard.TransactionLost, "the process that began the transaction no longer leads the cluster; run it again", ctx.Err())
		}
	}
}

// Get implements storage.Peer.
func (m *groupPeer) Get(store storage.Store, version uint64, key []byte) (value []byte, ok bool, err error) {
	least := m.least.Load()
	err = m.read(version, least, func(p *part.Part) (err error) {
		value, ok, err = p.Get(m.g.epoch, store, version, least, key)
		return err
	}, func(ctx context.Context, c pb.KeepServiceClient) error {
		a, err := c.Get(ctx, &pb.GetRequest{
			Graph: m.graph, Epoch: m.g.epoch, Version: version, Store: uint32(store), Key: key, Shard: uint32(m.no), Least: least,
		})
		value, ok = a.GetValue(), a != nil && a.Value != nil
		return err
	})
	return value, ok, err
}

// GetAll implements storage.Peer.
func (m *groupPeer) GetAll(store storage.Store, version uint64, keys [][]byte) (values [][]byte, err error) {
	least := m.least.Load()
	err = m.read(version, least, func(p *part.Part) (err error) {
		values, err = p.GetAll(m.g.epoch, store, version, least, keys)
		return err
	}, func(ctx context.Context, c pb.KeepServiceClient) error {
		a, err := c.GetAll(ctx, &pb.GetAllRequest{
			Graph: m.graph, Epoch: m.g.epoch, Version: version, Store: uint32(store), Keys: keys, Shard: uint32(m.no), Least: least,
		})
		if err == nil {
			values, err = readValues(a, len(keys))
		}
		return err
	})
	return values, err
}

// readValues returns the values of n keys, nil for missing ones.
func readValues(a *pb.GetAllResponse, n int) ([][]byte, error) {
	values := make([][]byte, n)
	for i, at := range a.GetAt() {
		if int(at) >= n || i >= len(a.GetValues()) {
			return nil, wire.ErrMalformed
		}
		values[at] = append([]byte{}, a.GetValues()[i]...)
	}
	return values, nil
}

// Walk implements storage.Peer.
func (m *groupPeer) Walk(w *storage.Walk) (out *storage.Records, err error) {
	least := m.least.Load()
	err = m.read(w.Version, least, func(p *part.Part) (err error) {
		out, err = p.Walk(m.g.epoch, least, w)
		return err
	}, func(ctx context.Context, c pb.KeepServiceClient) error {
		a, err := c.Walk(ctx, &pb.WalkRequest{
			Graph: m.graph, Epoch: m.g.epoch, Version: w.Version, Store: uint32(w.Store), Lower: w.Lower, Upper: w.Upper, From: w.From, Down: w.Down,
			Bytes: uint32(w.Bytes), Shard: uint32(m.no), Least: least,
		})
		if err == nil {
			out = &storage.Records{Keys: a.GetKeys(), Values: a.GetValues(), Done: a.GetDone()}
		}
		return err
	})
	return out, err
}

// Close implements storage.Peer: the connections are the process's.
func (m *groupPeer) Close() error { return nil }

// copies returns the process that copies a shard: this one if its replica votes and is not damaged.
func (g *groups) copies(no int) int {
	to := g.p.likelyLeader(no)
	if slices.Contains(g.p.assignedTo(no), g.p.no) {
		to = g.p.no
	}
	if parts := g.p.replicas.Parts(no); to == g.p.no && parts != nil && parts.Damage() != nil {
		to = g.p.next(no, to)
	}
	return to
}

// Copy implements storage.Peers.
func (g *groups) Copy(ctx context.Context, no int, id uint64) (storage.PeerCopy, error) {
	to := g.copies(no)
	if to == g.p.no {
		parts, err := g.p.hosted(no)
		if err != nil {
			return nil, err
		}
		c, err := parts.Copy(id)
		if err != nil {
			return nil, err
		}
		return &ownCopy{ctx, g.epoch, parts, c}, nil
	}
	c, err := beginCopy(ctx, fmt.Sprintf("shard %d", no), g.p.peers.At(to).Raw, no, id, g.epoch)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ownCopy is a copy of shards of this process. It implements storage.PeerCopy.
type ownCopy struct {
	ctx   context.Context
	epoch uint64
	parts *part.Parts
	c     *datadir.Checkpoint
}

// Flush implements storage.PeerCopy.
func (c *ownCopy) Flush(of storage.PartOf) error { return c.parts.Flush(c.ctx, of) }

// Take implements storage.PeerCopy.
func (c *ownCopy) Take(of storage.PartOf, version uint64) error {
	return c.parts.Take(c.ctx, c.c, of, c.epoch, version)
}

// Files implements storage.PeerCopy.
func (c *ownCopy) Files() ([]graph.CheckpointFile, error) {
	return c.parts.List(c.ctx, c.c)
}

// Open implements storage.PeerCopy.
func (c *ownCopy) Open(path string) (io.ReadCloser, error) { return c.parts.CopiedFile(c.c.ID(), path) }

// Close implements storage.PeerCopy.
func (c *ownCopy) Close() error { return c.c.Close() }

// CheckFiles implements storage.Peers: it verifies the files of each replica whose process answers.
func (g *groups) CheckFiles(ctx context.Context, of storage.PartOf, no int, bad func(file string, err error)) (files, bytes uint64, err error) {
	checked := 0
	var errs []error
	for _, to := range g.p.assignedTo(no) {
		note := func(file string, err error) { bad(fmt.Sprintf("process %d, %s", to, file), err) }
		var n, size uint64
		if to == g.p.no {
			var parts *part.Parts
			if parts, err = g.p.hosted(no); err == nil {
				n, size, err = parts.CheckFiles(ctx, of, note)
			}
		} else {
			n, size, err = checkFilesAt(ctx, pb.NewCopyServiceClient(g.p.peers.At(to).Raw), of, no, note)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("process %d: %w", to, err))
			g.p.log.Warn("the files of a replica are not checked", slog.Int("replica", to), slog.Int("group", no), slog.Any("error", err))
			continue
		}
		checked++
		files, bytes = files+n, bytes+size
	}
	if checked == 0 {
		return 0, 0, errors.Join(errs...)
	}
	return files, bytes, nil
}

// checkFilesAt verifies the files of a shard at another process.
func checkFilesAt(ctx context.Context, c pb.CopyServiceClient, of storage.PartOf, no int, bad func(file string, err error)) (files, bytes uint64, err error) {
	a, err := c.CheckFiles(ctx, &pb.CheckFilesRequest{Graph: wire.EncodePart(of), Shard: uint32(no)})
	if err != nil {
		err, _ = wire.FromStatus(ctx, fmt.Sprintf("shard %d", no), err)
		return 0, 0, err
	}
	for _, b := range a.GetBad() {
		bad(b.GetFile(), errors.New(b.GetError()))
	}
	return a.GetFiles(), a.GetBytes(), nil
}

// Compare implements storage.Peers: each process computes the digest of its replica, side by side. It logs those that do
// not answer. Damaged ones differ, and without a majority of equal digests, all do.
func (g *groups) Compare(ctx context.Context, of storage.PartOf, no int, version uint64, differ func(replica string)) error {
	processes := g.p.assignedTo(no)
	digests, errs := make([]storage.Digest, len(processes)), make([]error, len(processes))
	var asked sync.WaitGroup
	for i, to := range processes {
		asked.Go(func() { digests[i], errs[i] = g.digest(ctx, to, of, no, version) })
	}
	asked.Wait()
	same, answers := map[storage.Digest]int{}, 0
	for i, to := range processes {
		if errs[i] != nil && graph.AsError(errs[i]).Kind == graph.KindCorrupt {
			differ(fmt.Sprintf("process %d: the replica is damaged, and is seeded with the state of another one: %v", to, errs[i]))
			continue
		}
		if errs[i] != nil {
			g.p.log.Warn("a replica is not compared", slog.Int("replica", to), slog.Int("group", no), slog.Any("error", errs[i]))
			continue
		}
		same[digests[i]]++
		answers++
	}
	for i, to := range processes {
		if n := same[digests[i]]; errs[i] == nil && 2*n <= answers {
			differ(fmt.Sprintf("process %d: version %d is that of %d of %d replicas", to, version, n, answers))
		}
	}
	return ctx.Err()
}

// digest returns the digest of a replica at a process.
func (g *groups) digest(ctx context.Context, to int, of storage.PartOf, no int, version uint64) (d storage.Digest, err error) {
	if to == g.p.no {
		parts, err := g.p.hosted(no)
		if err != nil {
			return d, err
		}
		return parts.Digest(ctx, of, g.epoch, version)
	}
	a, err := pb.NewCopyServiceClient(g.p.peers.At(to).Raw).Digest(ctx, &pb.DigestRequest{Graph: wire.EncodePart(of), Shard: uint32(no), Epoch: g.epoch, Version: version})
	if err != nil {
		err, _ = wire.FromStatus(ctx, fmt.Sprintf("process %d", to), err)
		return d, err
	}
	if copy(d[:], a.GetSha256()) != len(d) {
		return d, wire.ErrMalformed
	}
	return d, nil
}

// peerCopy is the leader's side of a copy that the process of a shard makes. It implements storage.PeerCopy.
type peerCopy struct {
	ctx    context.Context
	who    string
	id     uint64
	epoch  uint64
	c      pb.CopyServiceClient
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[pb.CopyRequest, pb.CopyResponse]
	at     replica.Snapshot // of a seed
}

// seed copies shards of another process for a replica of this one; see part.Network.
func (p *Process) seed(ctx context.Context, process, no int, index uint64) (part.SeedCopy, error) {
	w, err := beginCopy(ctx, fmt.Sprintf("process %d", process), p.peers.At(process).Raw, no, rand.Uint64(), 0)
	if err != nil {
		return nil, err
	}
	if _, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Seed{Seed: &pb.Seed{Index: index}}}); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Snapshot implements part.SeedCopy.
func (w *peerCopy) Snapshot() replica.Snapshot { return w.at }

// beginCopy begins a copy of shards at another process.
func beginCopy(ctx context.Context, who string, conn grpc.ClientConnInterface, no int, id, epoch uint64) (*peerCopy, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &peerCopy{ctx: ctx, who: who, id: id, epoch: epoch, c: pb.NewCopyServiceClient(conn), cancel: cancel}
	var err error
	if w.stream, err = w.c.Copy(ctx); err == nil {
		_, err = w.step(&pb.CopyRequest{Step: &pb.CopyRequest_Begin{Begin: id}, Shard: uint32(no)})
	}
	if err != nil {
		cancel()
		err, _ = wire.FromStatus(ctx, w.who, err)
		return nil, err
	}
	return w, nil
}

// step makes one step of the copy, and returns the files that it lists.
func (w *peerCopy) step(r *pb.CopyRequest) (files []graph.CheckpointFile, err error) {
	if err := w.stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for more := true; more; {
		a, err := w.stream.Recv()
		if err != nil {
			return nil, err
		}
		if files, err = wire.DecodeFiles(files, a.GetFiles()); err != nil {
			return nil, err
		}
		if s := a.GetSeed(); s != nil {
			w.at = replica.Snapshot{Index: s.GetIndex(), Term: s.GetTerm(), Members: s.GetMembers()}
		}
		more = a.GetMore()
	}
	return files, nil
}

func (w *peerCopy) receive(r *pb.CopyRequest) ([]graph.CheckpointFile, error) {
	files, err := w.step(r)
	err, _ = wire.FromStatus(w.ctx, w.who, err)
	return files, err
}

// Flush implements storage.PeerCopy.
func (w *peerCopy) Flush(g storage.PartOf) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Flush{Flush: wire.EncodePart(g)}})
	return err
}

// Take implements storage.PeerCopy.
func (w *peerCopy) Take(g storage.PartOf, version uint64) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Take{Take: &pb.Take{Graph: wire.EncodePart(g), Epoch: w.epoch, Version: version}}})
	return err
}

// Files implements storage.PeerCopy.
func (w *peerCopy) Files() ([]graph.CheckpointFile, error) {
	return w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_List{List: true}})
}

// Open implements storage.PeerCopy.
func (w *peerCopy) Open(path string) (io.ReadCloser, error) {
	return peers.OpenFile(w.ctx, w.who, w.c, w.id, path)
}

// Close implements storage.PeerCopy. It waits until the other process has removed the copy.
func (w *peerCopy) Close() error {
	defer w.cancel()
	if err := w.stream.CloseSend(); err != nil {
		return err
	}
	if _, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		err, retryable := wire.FromStatus(w.ctx, w.who, err)
		if retryable || w.ctx.Err() != nil {
			return nil // the copy ends with the stream, or with the process
		}
		return err
	}
	return nil
}
