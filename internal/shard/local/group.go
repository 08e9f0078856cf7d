package local

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/write"
)

// commits are the transactions over a snapshot that wait to be committed. One of them leads: it waits for the writer's lock
// and applies the changes of all that wait by then as one commit, with one sync and one snapshot. The next one leads before that sync ends,
// once as many wait as are being synced, or none is: of clients that commit all the time, one half then runs while the other half syncs.
type commits struct {
	mu      sync.Mutex
	waiting []*committing // the first leads
	leads   bool          // the first leads
	syncing int           // how many were taken and are not yet durable
}

// committing is a transaction that waits to be committed.
type committing struct {
	ctx   context.Context
	tx    *Tx
	bytes int
	role  chan role
	seq   uint64
	time  int64
	err   error
}

// role is the part of a waiting transaction in a group commit.
type role uint8

const (
	roleLead  role = iota // it leads
	roleAlone             // it must commit alone
	roleDone              // others have committed it, or failed to
)

// The limits of a group: transactions, and bytes of changes.
const (
	groupLength = 64
	groupBytes  = 256 << 10
)

// commitOver commits a transaction over a snapshot, and gives the commit's number and time, 0 if there was nothing to commit.
func (tx *Tx) commitOver(ctx context.Context) (seq uint64, time int64, err error) {
	c := &committing{ctx: ctx, tx: tx, bytes: tx.Bytes(), role: make(chan role, 1)}
	if tx.Empty() {
		return 0, 0, nil
	}
	g := tx.g
	if err := g.writable(); err != nil { // before it waits behind commits that wait for disk space
		return 0, 0, err
	}
	switch g.commits.await(c) {
	case roleLead:
		if err := g.lock(ctx); err != nil {
			g.commits.leave()
			return 0, 0, err
		}
		group := g.commits.take()
		g.commitGroup(group)
		g.commits.synced(len(group))
	case roleAlone:
		if err := g.lock(ctx); err != nil {
			return 0, 0, err
		}
		c.commitAlone()
	}
	return c.seq, c.time, c.err
}

// await waits for a transaction's role, which is roleDone if its context ends first.
func (q *commits) await(c *committing) role {
	q.mu.Lock()
	q.waiting = append(q.waiting, c)
	q.lead()
	q.mu.Unlock()
	select {
	case t := <-c.role:
		return t
	case <-c.ctx.Done():
		if !q.withdraw(c) {
			return <-c.role
		}
		c.err = graph.DeadlineError(c.ctx.Err())
		return roleDone
	}
}

// lead makes the first one the leader if it may commit now. The caller holds q.mu.
func (q *commits) lead() {
	if n := len(q.waiting); n > 0 && !q.leads && (q.syncing == 0 || n >= q.syncing) {
		q.leads = true
		q.waiting[0].role <- roleLead
	}
}

// withdraw removes a transaction that does not lead from the queue; false if it has a role already.
func (q *commits) withdraw(c *committing) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 || i == 0 && q.leads {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// leave removes the leader from the queue.
func (q *commits) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(1)
}

// drop removes the first n, the leader among them. The caller holds q.mu.
func (q *commits) drop(n int) {
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.leads = false
	q.lead()
}

// take removes those that commit together. The first one is the leader.
func (q *commits) take() []*committing {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 1, q.waiting[0].bytes
	for n < min(len(q.waiting), groupLength) && bytes+q.waiting[n].bytes <= groupBytes {
		bytes += q.waiting[n].bytes
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.syncing += n
	q.drop(n)
	return group
}

// synced notes that n transactions that were taken are durable, or failed.
func (q *commits) synced(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.syncing -= n
	q.lead()
}

// commitAlone commits one transaction. The caller holds the writer's lock, which it releases.
func (c *committing) commitAlone() {
	m, err := c.tx.rebase(c.ctx)
	if err != nil {
		c.tx.g.unlock()
		c.err = err
		return
	}
	c.seq, c.time, c.err = c.tx.g.commit(&change{
		ws: m.Writers(), ids: c.tx.ids(), origins: []changelog.Origin{c.tx.origin}, next: due{at: m.Due()},
	})
}

// commitGroup commits transactions, of which the first is the caller's. The caller holds the writer's lock, which it releases.
func (g *Graph) commitGroup(group []*committing) {
	lead, rest := group[0], group[1:]
	if len(rest) == 0 {
		lead.commitAlone()
		return
	}
	live, in := g.batch(group)
	if live == nil {
		for _, c := range rest {
			c.role <- roleAlone
		}
		lead.commitAlone()
		return
	}
	all := &change{ws: live.Writers(), next: due{at: live.Due()}}
	for _, c := range in {
		all.ids, all.origins = append(all.ids, c.tx.ids()...), append(all.origins, c.tx.origin)
	}
	seq, time, err := g.commit(all)
	for _, c := range in {
		c.seq, c.time, c.err = seq, time, err
	}
	for _, c := range rest {
		c.role <- roleDone
	}
}

// batch applies the changes of transactions to the present state and returns those transactions. One that conflicts with a commit that it
// does not see, or with one before it in the group, gets an error instead. live is nil if the changes cannot be applied together. The caller holds the writer's lock.
func (g *Graph) batch(group []*committing) (live *write.Mutator, in []*committing) {
	oldest := group[0].tx.snap.Seq
	for _, c := range group {
		if !c.tx.Stamped().IsNull() {
			return nil, nil // each has its own time of writing
		}
		oldest = min(oldest, c.tx.snap.Seq)
	}
	others := g.since(oldest)
	txs := make([]*write.Mutator, 0, len(group))
	for _, c := range group {
		own := writesOf(c.tx.Mutations())
		if slices.ContainsFunc(others, func(o writeSet) bool { return o.seq > c.tx.snap.Seq && own.meets(&o) }) {
			c.err = conflict(nil)
			continue
		}
		c.tx.nth = len(in)
		in = append(in, c)
		txs = append(txs, c.tx.Mutator)
		own.seq = ^uint64(0)
		others = append(others, own)
	}
	if len(in) == 0 {
		return nil, nil
	}
	live, err := write.Replay(group[0].ctx, g.state(), graph.Value{}, txs...)
	if err != nil {
		for _, c := range group {
			c.err = nil
		}
		return nil, nil
	}
	return live, in
}

// rebase returns the changes as they apply to the present state. The caller holds the
// writer's lock.
//
// If nothing was applied since the transaction's snapshot, these are its own. Otherwise no commit that it does not see
// may have changed the same: the first committer wins. Then its mutations are applied again to the present state, with the same ids; a
// constraint that they break only there is a conflict too.
func (tx *Tx) rebase(ctx context.Context) (*write.Mutator, error) {
	if tx.current() && tx.Mutator.Log.Mode() == tx.g.log.Mode() {
		return tx.Mutator, nil
	}
	own := writesOf(tx.Mutations())
	for _, s := range tx.g.since(tx.snap.Seq) {
		if own.meets(&s) {
			return nil, conflict(nil)
		}
	}
	live, err := write.Replay(ctx, tx.g.state(), tx.Stamped(), tx.Mutator)
	if err != nil {
		if e := graph.AsError(err); e.Kind == graph.KindInvalid || e.Kind == graph.KindExists {
			return nil, conflict(err)
		}
		return nil, err
	}
	return live, nil
}
