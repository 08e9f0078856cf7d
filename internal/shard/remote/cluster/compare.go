package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

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
