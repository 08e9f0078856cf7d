package replica

import (
	"fmt"
	"slices"
)

// campaignTransfer is the context of raft's requests for votes after a transfer of the lead, raft.campaignTransfer.
const campaignTransfer = "CampaignTransfer"

// Transfer hands the lead over to another member, 0 for the one whose log ends last, and calls done once this replica knows that
// another one leads, or with an error: until then the election may need its vote. The replica has no further lease in this term,
// whether that succeeds or not: the message that makes the other member stand for election may come late.
func (g *Group) Transfer(to uint64, done func(error)) {
	if g.fault == nil && g.leads && to == 0 {
		to = g.nearest()
	}
	switch {
	case g.fault != nil:
		done(g.fault)
		return
	case !g.leads:
		done(ErrNotLeader)
		return
	case !slices.Contains(g.members.conf.GetVoters(), to):
		done(fmt.Errorf("replica: %d is not one of the voters %d of group %d", to, g.members.Voters(), g.o.Group))
		return
	case to == g.o.Replica:
		done(nil)
		return
	}
	g.lease.yield(g.term)
	g.transferred = append(g.transferred, done)
	// A failure has ended all transfers.
	_ = g.do(func() error {
		g.node.TransferLeader(to)
		return nil
	})
}

// nearest returns the other member that has most of the leader's log, or the leader if there is no other. It prefers members that have
// answered; each check of the quorum forgets who has.
func (g *Group) nearest() uint64 {
	to, active, match := g.o.Replica, false, uint64(0)
	for id, p := range g.node.Status().Progress {
		switch {
		case id == g.o.Replica || p.IsLearner || active && !p.RecentActive:
			continue
		case to == g.o.Replica || p.RecentActive && !active || p.Match > match || p.Match == match && id < to:
			to, active, match = id, p.RecentActive, p.Match
		}
	}
	return to
}

// endTransfers ends the pending transfers.
func (g *Group) endTransfers(err error) {
	transferred := g.transferred
	g.transferred = nil
	for _, done := range transferred {
		done(err)
	}
}
