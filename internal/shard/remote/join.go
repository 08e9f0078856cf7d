package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
)

// A process that comes with an empty data directory may be new, or have lost its disk. In the second case it has forgotten its votes,
// and what it has acknowledged: as the same replica, it could make a majority with one that lacks an acknowledged entry. So it asks the
// others. Each member of a group has noted, before it took the first message of another one, which log store that has.
//
//   - If all of them have heard nothing of the process, it is new, and takes part.
//   - If one knows it with another store, the replica waits until it is replaced: the leader of the group adds a replica of the process
//     with another id, and its present store, as a learner. The learner follows, and takes the place of the lost one by a joint change.
//   - If the process has no replica in the group, since another process has taken its place, it keeps none.
//
// The id of the new replica names the store that may use it, so any member's answer suffices then. A replica moves to another process in
// the same way: that process keeps an empty replica, which waits until it is added, and takes the place of the one that moves. The
// former one is deleted once another member has confirmed, by a linearizable read of the members, that it is none of them any more.

// tend does what a replica of a shard here takes besides its messages: it is admitted, and the replica of shard 0 leads the cluster.
// held says that another process has asked for the replica. The caller holds tending, or the process has not started yet.
func (p *Process) tend(no int, held bool) {
	ctx, end := context.WithCancel(p.ctx)
	p.tended[no] = end
	p.running.Go(func() {
		p.join(ctx, no, held)
		if no == 0 {
			p.run(ctx)
		}
	})
}

// keepers returns the processes whose replicas of a shard vote.
func (p *Process) keepers(no int) []int {
	if s, ok := p.replicas.Host().GroupStatus(uint32(no)); ok && s.Leader != 0 {
		p.placed.learn(no, s.Applied, s.Members.Voters())
	}
	return p.placed.keepers(no)
}

// others returns the keepers of a shard but this process.
func (p *Process) others(no int) []int {
	return slices.DeleteFunc(slices.Clone(p.keepers(no)), func(to int) bool { return to == p.no })
}

// askMembers asks all other processes how their replicas stand.
func (p *Process) askMembers(ctx context.Context) []*pb.MembersResponse {
	clients := make([]pb.MemberServiceClient, len(p.conns))
	for i, c := range p.conns {
		if c != nil {
			clients[i] = pb.NewMemberServiceClient(c)
		}
	}
	answers, _ := askMembers(ctx, clients)
	return answers
}

// join lets the replica of a shard take part once it may.
func (p *Process) join(ctx context.Context, no int, held bool) {
	host := p.replicas.Host()
	if in, err := host.Admitted(ctx, uint32(no)); err != nil || in {
		return
	}
	said := ""
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		id, err := p.identify(ctx, no)
		if err == nil {
			err = host.Admit(ctx, uint32(no), id)
		}
		if err == nil {
			p.waiting[no].Store(nil)
			p.log.Info("the replica takes part", slog.Int("group", no), slog.Uint64("replica", id))
			return
		}
		if !held && errors.Is(err, errElsewhere) && p.replicas.Founds(no) && p.removed(ctx, no, p.layout.First(p.no)) {
			p.release(no)
			return
		}
		why := fmt.Sprintf("the replica of shard %d takes no part: %v", no, err)
		p.waiting[no].Store(&why)
		if why != said && errors.Is(err, errLost) {
			said = why
			p.log.Error("a replica takes no part", slog.Int("group", no), slog.Any("error", err))
		}
		p.placed.renew()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

var (
	errLost      = errors.New("the log of this process is not the one that its replica had: graphctl member replace makes it a new one")
	errElsewhere = errors.New("this process is none of the members of the shard's group yet")
)

// identify returns the id under which the replica of a shard, whose log is empty, takes part.
func (p *Process) identify(ctx context.Context, no int) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var asking sync.WaitGroup
	others := p.others(no)
	answers, errs := make([]*pb.IdentifyResponse, len(others)), make([]error, len(others))
	for i, to := range others {
		asking.Go(func() {
			answers[i], errs[i] = pb.NewReplicaServiceClient(p.conns[to]).Identify(ctx, &pb.IdentifyRequest{Group: uint32(no), Process: uint32(p.no)})
			if errs[i] != nil {
				errs[i] = fmt.Errorf("process %d: %w", to, errs[i])
			}
		})
	}
	asking.Wait()
	own := p.replicas.StoreID()
	id, known, elsewhere := uint64(0), false, false
	for i, a := range answers {
		id = max(id, a.GetReplica())
		elsewhere = elsewhere || errs[i] == nil && a.GetReplica() == 0
	}
	for _, a := range answers {
		if a.GetReplica() != id || len(a.GetStore()) == 0 {
			continue
		}
		if replica.StoreID(a.GetStore()) != own {
			return 0, errLost
		}
		known = true
	}
	switch {
	case known:
		return id, nil
	case elsewhere, !p.replicas.Founds(no):
		return 0, errElsewhere
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("whether it is new is known once all others answer: %w", err)
	}
	return p.layout.First(p.no), nil
}

// Identify implements the call.
func (r *receiver) Identify(ctx context.Context, q *pb.IdentifyRequest) (*pb.IdentifyResponse, error) {
	s, ok := r.host.GroupStatus(q.GetGroup())
	if !ok {
		return nil, toStatus(replica.ErrStopped)
	}
	out := &pb.IdentifyResponse{}
	if former := q.GetFormer(); former != 0 {
		has, err := r.host.Knows(ctx, q.GetGroup(), former)
		out.Removed = err == nil && !has
		return out, toStatus(err)
	}
	if s.Applied < s.Commit { // the members are not known before that
		return nil, toStatus(unavailable("Opening", fmt.Sprintf("the replica of shard %d has applied %d of %d log entries", q.GetGroup(), s.Applied, s.Commit), nil))
	}
	out.Replica = replicaOf(r.p.layout, s.Members, int(q.GetProcess()))
	store, ok, err := r.host.Known(q.GetGroup(), out.GetReplica())
	if ok {
		out.Store = store[:]
	}
	return out, toStatus(err)
}

// replicaOf returns the last id of a process's replicas among members, and those that a recovery has removed, 0 if there is none.
func replicaOf(l shard.Layout, m *replica.Members, process int) (id uint64) {
	for _, member := range slices.Concat(m.Voters(), m.Learners(), m.Lost()) {
		if l.Process(member) == process {
			id = max(id, member)
		}
	}
	return id
}

// removed reports whether a replica that was a member is none any more, as another member confirms.
func (p *Process) removed(ctx context.Context, no int, id uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, pulseWithin)
	defer cancel()
	for _, to := range p.others(no) {
		a, err := pb.NewReplicaServiceClient(p.conns[to]).Identify(ctx, &pb.IdentifyRequest{Group: uint32(no), Process: uint32(p.no), Former: id})
		if err == nil {
			return a.GetRemoved()
		}
	}
	p.placed.renew()
	return false
}

// retire deletes the replica of a shard if it was a member and is none any more, and reports whether there is none.
func (p *Process) retire(ctx context.Context, no int) bool {
	s, ok := p.replicas.Host().GroupStatus(uint32(no))
	if !ok {
		return true
	}
	if in, err := p.replicas.Host().Admitted(ctx, uint32(no)); err != nil || !in || !p.removed(ctx, no, s.Replica) {
		return false
	}
	p.release(no)
	return true
}

// release deletes the replica of a shard.
func (p *Process) release(no int) {
	p.tending.Lock()
	defer p.tending.Unlock()
	if end := p.tended[no]; end != nil {
		end()
		delete(p.tended, no)
	}
	if p.replicas.Parts(no) == nil {
		return
	}
	p.log.Info("the replica is deleted: others have taken its place", slog.Int("group", no))
	if err := p.replicas.Release(no); err != nil {
		p.log.Error("a replica that was removed is not deleted; another start deletes it", slog.Int("group", no), slog.Any("error", err))
	}
	p.waiting[no].Store(nil)
	p.hints[no].Store(int64(p.nextKeeper(no, p.no)))
}

// watchEvery is how often a process looks for replicas that others have removed while it was away.
const watchEvery = 2 * time.Second

// watch deletes replicas that are no members any more, until the process ends.
func (p *Process) watch() {
	for {
		select {
		case <-time.After(watchEvery):
		case <-p.ctx.Done():
			return
		}
		for group, s := range p.replicas.Host().Status() {
			if s.Leader == 0 || !s.Members.Has(s.Replica) {
				p.retire(p.ctx, int(group))
			}
		}
	}
}

// Hold implements the call.
func (r *receiver) Hold(ctx context.Context, q *pb.HoldRequest) (*pb.HoldResponse, error) {
	p, no := r.p, int(q.GetGroup())
	for _, k := range q.GetKeepers() {
		if int(k) >= len(p.conns) {
			return nil, toStatus(invalidMember("process %d does not know process %d", p.no, k))
		}
	}
	p.placed.place(no, q.GetKeepers())
	p.retire(ctx, no)
	p.tending.Lock()
	defer p.tending.Unlock()
	if p.ctx.Err() != nil {
		return nil, toStatus(replica.ErrStopped)
	}
	if p.replicas.Parts(no) == nil {
		if err := p.replicas.Hold(no); err != nil {
			return nil, toStatus(err)
		}
		p.tend(no, true)
	}
	own := p.replicas.StoreID()
	return &pb.HoldResponse{Store: own[:]}, nil
}

// Retire implements the call.
func (r *receiver) Retire(ctx context.Context, q *pb.RetireRequest) (*pb.RetireResponse, error) {
	return &pb.RetireResponse{Retired: r.p.retire(ctx, int(q.GetGroup()))}, nil
}
