package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/version"
)

// A cluster is upgraded by restarting its processes one after another, so programs of two adjacent cluster versions run together
// meanwhile. They speak the lower one, which is in force: the members of group 0 carry it, so it survives restarts and never falls. Once every
// process knows a higher one, the leader of group 0 raises it by an entry of the log. Programs that do not know it cannot read that entry.

// errVersion is the error of processes whose versions are too far apart.
var errVersion = errors.New("the processes of a cluster must be of two adjacent versions, and not older than the one in force")

// Version returns the cluster version in force, as far as the process knows: what a higher one brings waits for it.
func (p *Process) Version() uint32 {
	active := p.active.Load()
	if s, ok := p.replicas.Host().GroupStatus(0); ok {
		active = max(active, s.Members.Version())
	}
	return max(active, 1)
}

// compatible returns an error unless this program runs together with that of another process, whose version in force it learns.
func (p *Process) compatible(a *pb.MembersResponse) error {
	theirs, active := max(a.GetVersion(), 1), max(a.GetActive(), 1)
	if theirs+1 < version.Cluster || theirs > version.Cluster+1 || active > version.Cluster {
		return fmt.Errorf("%w: process %d knows cluster versions up to %d, of which %d is in force; this process %d knows up to %d",
			errVersion, a.GetProcess(), theirs, active, p.no, version.Cluster)
	}
	for was := p.active.Load(); active > was && !p.active.CompareAndSwap(was, active); was = p.active.Load() {
	}
	return nil
}

// raise raises the cluster version to the highest that all processes know, if this one leads group 0 and all others have answered.
func (p *Process) raise(ctx context.Context, answers []*pb.MembersResponse) {
	s, ok := p.replicas.Host().GroupStatus(0)
	if !ok || !s.Leads {
		return
	}
	least := uint32(version.Cluster)
	for no, a := range answers {
		switch {
		case no == p.no || p.peers.Removed(no):
		case a == nil:
			return
		default:
			least = min(least, max(a.GetVersion(), 1))
		}
	}
	if least <= p.Version() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	if err := p.replicas.Host().Change(ctx, 0, replica.Change{Of: s.Members, Version: least}); err != nil {
		p.log.Info("the cluster version is raised later", slog.Uint64("version", uint64(least)), slog.Any("error", err))
		return
	}
	p.log.Info("the cluster version is raised", slog.Uint64("version", uint64(least)))
}
