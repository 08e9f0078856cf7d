package replica

import (
	"encoding/binary"
	"slices"

	"go.etcd.io/raft/v3"
)

type read struct {
	number uint64
	term   uint64 // in which this replica has to lead; 0 means any, and any leader
	index  uint64
	tick   uint64 // when it began
	done   func(error)
}

// Read calls done once the replica's state has all that was applied anywhere before the call, or with an error.
func (g *Group) Read(done func(error)) { g.read(0, done) }

// Confirm calls done once a quorum has confirmed that this replica leads in a term, or with an error. It needs no lease.
func (g *Group) Confirm(term uint64, done func(error)) {
	if g.fault == nil && (!g.leads || g.term != term) {
		done(ErrNotLeader)
		return
	}
	g.read(term, done)
}

func (g *Group) read(term uint64, done func(error)) {
	if g.fault != nil {
		done(g.fault)
		return
	}
	g.number++
	g.reads = append(g.reads, read{number: g.number, term: term, tick: g.ticks, done: done})
	number := g.number
	// A failure has ended all reads.
	_ = g.do(func() error {
		g.node.ReadIndex(g.readContext(number))
		return nil
	})
}

// currency says whether the replica has all that was committed before it came to know a leader.
type currency uint8

const (
	mayLag currency = iota
	asksCurrent
	isCurrent
)

// askCurrent reads once the replica knows a leader. A follower cannot tell by its own commit index: a leader's heartbeats name only
// entries that the follower has.
func (g *Group) askCurrent() {
	switch {
	case g.node.BasicStatus().Lead == raft.None:
		if g.current == isCurrent {
			g.current = mayLag
		}
	case g.current == mayLag:
		g.current = asksCurrent
		g.Read(func(err error) {
			g.current = mayLag
			if err == nil {
				g.current = isCurrent
			}
		})
	}
}

// readContext names a read of this replica since it was opened.
func (g *Group) readContext(number uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, g.proposer), number)
}

// confirm takes the index up to which a read has to wait.
func (g *Group) confirm(s raft.ReadState) {
	if len(s.RequestCtx) != 16 || binary.BigEndian.Uint64(s.RequestCtx) != g.proposer {
		return // of this replica before it was opened again
	}
	number := binary.BigEndian.Uint64(s.RequestCtx[8:])
	if g.leads && g.lease.confirm(number, g.term) {
		return
	}
	at := slices.IndexFunc(g.reads, func(r read) bool { return r.number == number })
	if at < 0 {
		return
	}
	r := g.reads[at]
	r.index = s.Index
	g.reads = slices.Delete(g.reads, at, at+1)
	if r.term != 0 {
		r.done(nil)
		return
	}
	g.confirmed = append(g.confirmed, r)
	g.endReads()
}

// endReads ends the reads whose entries were applied.
func (g *Group) endReads() {
	confirmed := g.confirmed
	g.confirmed = nil
	for _, r := range confirmed {
		if r.index > g.applied {
			g.confirmed = append(g.confirmed, r)
			continue
		}
		r.done(nil)
	}
}
