package local

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// turns queue the transactions of mode shard.WriteInTurn that change the same vertices and edges. A transaction has its turn
// at a key from its first change of it to its end. The next one then finds that it does not see what was committed, and
// begins again while it has its turn.
//
// Turns only order transactions. Whether a commit meets a conflict is decided without them, so a turn may be lost: after
// turnTime, if others wait.
type turns struct {
	mu   sync.Mutex
	keys map[shard.Key]*turn
}

// turn is the queue at a key.
type turn struct {
	holder  *Tx
	since   time.Time
	waiting []*waiter
}

type waiter struct {
	tx   *Tx
	come chan struct{} // closed when it is its turn
}

// turnTime is how long others wait for a transaction that neither commits nor ends.
const turnTime = 5 * time.Second

// takeTurns waits for the transaction's turn at what mutations change, and fails if that was changed since its snapshot.
func (tx *Tx) takeTurns(ctx context.Context, ms []shard.Mutation) error {
	tx.changed = shard.AddKeys(tx.changed, ms)
	if len(ms)+len(tx.turns) > shard.MostTurns {
		return nil
	}
	keys := shard.AddKeys(nil, ms)
	slices.SortFunc(keys, shard.CompareKeys)
	return tx.TakeTurns(ctx, keys)
}

// TakeTurns implements shard.Heir.
func (tx *Tx) TakeTurns(ctx context.Context, keys []shard.Key) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	if !tx.inTurn {
		return misuse("a transaction without turns")
	}
	var own writeSet
	for _, k := range keys {
		if err := tx.g.takeTurn(ctx, tx, k); err != nil {
			return err
		}
		if k.Edge {
			own.edges = append(own.edges, graph.EdgeID(k.ID))
		} else {
			own.vertices = append(own.vertices, graph.VertexID(k.ID))
		}
	}
	for _, s := range tx.g.since(tx.snap.seq) {
		if own.meets(&s) {
			return conflict(nil)
		}
	}
	return nil
}

// Changes implements shard.Heir.
func (tx *Tx) Changes() []shard.Key { return tx.changed }

// takeTurn waits until it is a transaction's turn at a key. If the transactions before it wait for this one, it loses all
// its turns and fails.
func (g *Graph) takeTurn(ctx context.Context, tx *Tx, k shard.Key) error {
	ts := &g.turns
	ts.mu.Lock()
	t := ts.keys[k]
	switch {
	case t == nil:
		put(&ts.keys, k, &turn{holder: tx, since: time.Now()})
		tx.turns = append(tx.turns, k)
		ts.mu.Unlock()
		return nil
	case t.holder == tx:
		ts.mu.Unlock()
		return nil
	}
	for h := t.holder; h.awaits != nil; h = h.awaits.holder {
		if h.awaits.holder == tx {
			ts.leave(tx)
			ts.mu.Unlock()
			return graph.ConflictError("the transaction and others wait for each other; run it again", nil)
		}
	}
	w := &waiter{tx, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	tx.awaits = t
	left := time.Until(t.since.Add(turnTime))
	ts.mu.Unlock()
	defer shard.Waiting(ctx)()
	for {
		timer := time.NewTimer(left)
		var err error
		select {
		case <-w.come:
			timer.Stop()
			return nil
		case <-timer.C:
			left = ts.next(k, t)
			continue
		case <-ctx.Done():
			err = graph.LockWaitEnded(context.Cause(ctx))
		case <-g.stop:
			err = closed()
		}
		timer.Stop()
		ts.withdraw(t, w)
		return err
	}
}

// next passes on a turn whose time is up and returns how long the present one may last.
func (ts *turns) next(k shard.Key, t *turn) time.Duration {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if time.Since(t.since) >= turnTime {
		ts.pass(k, t)
	}
	return time.Until(t.since.Add(turnTime))
}

// pass gives a turn to the next one. The caller holds ts.mu.
func (ts *turns) pass(k shard.Key, t *turn) {
	if len(t.waiting) == 0 {
		delete(ts.keys, k)
		return
	}
	w := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.holder, t.since = w.tx, time.Now()
	w.tx.turns, w.tx.awaits = append(w.tx.turns, k), nil
	close(w.come)
}

// withdraw takes one that waits out of the queue. If its turn has come meanwhile, it keeps it until its end.
func (ts *turns) withdraw(t *turn, w *waiter) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		w.tx.awaits = nil
	}
}

// leave ends all turns of a transaction. The caller holds ts.mu.
func (ts *turns) leave(tx *Tx) {
	for _, k := range tx.turns {
		if t := ts.keys[k]; t != nil && t.holder == tx {
			ts.pass(k, t)
		}
	}
	tx.turns = nil
}

// leaveTurns ends the transaction's turns.
func (tx *Tx) leaveTurns() {
	if !tx.inTurn {
		return
	}
	tx.g.turns.mu.Lock()
	defer tx.g.turns.mu.Unlock()
	tx.g.turns.leave(tx)
}

// Inherit implements shard.Heir.
func (tx *Tx) Inherit(_ context.Context, from shard.Tx) error {
	old, ok := from.(*Tx)
	if !ok || old.g != tx.g || !tx.inTurn {
		return misuse("no turns to inherit")
	}
	ts := &tx.g.turns
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, k := range old.turns {
		if t := ts.keys[k]; t != nil && t.holder == old {
			t.holder = tx
			tx.turns = append(tx.turns, k)
		}
	}
	old.turns = nil
	return nil
}
