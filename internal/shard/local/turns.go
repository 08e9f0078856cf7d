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
	since   time.Time // the holder has its turn, or its last wait for others ended
	waiting []*waiter
}

// waiter is a transaction that waits in several queues at once. It joins them together: of two, the same one is ahead in all that they
// share. One key after the other, each would hold its first turns idle through the queues of all later ones.
type waiter struct {
	tx   *Tx
	at   []shard.Key   // where it still waits
	come chan struct{} // closed when it is its turn everywhere
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
		if k.Edge {
			own.edges = append(own.edges, graph.EdgeID(k.ID))
		} else {
			own.vertices = append(own.vertices, graph.VertexID(k.ID))
		}
	}
	if err := tx.g.waitTurns(ctx, tx, keys); err != nil {
		return err
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

// waitTurns waits until it is a transaction's turn at keys. If the transactions before it wait for this one, it loses all its turns and
// fails.
func (g *Graph) waitTurns(ctx context.Context, tx *Tx, keys []shard.Key) error {
	ts := &g.turns
	ts.mu.Lock()
	awaited := len(tx.turns) > 0
	w := &waiter{tx: tx, come: make(chan struct{})}
	for _, k := range keys {
		switch t := ts.keys[k]; {
		case t == nil:
			put(&ts.keys, k, &turn{holder: tx, since: time.Now()})
			tx.turns = append(tx.turns, k)
		case t.holder != tx:
			t.waiting = append(t.waiting, w)
			w.at = append(w.at, k)
		}
	}
	if len(w.at) == 0 {
		ts.mu.Unlock()
		return nil
	}
	tx.awaits = w
	if awaited && ts.waitsFor(tx, tx, map[*Tx]bool{}) {
		ts.withdraw(w)
		ts.leave(tx)
		ts.mu.Unlock()
		return graph.ConflictError("the transaction and others wait for each other; run it again", nil)
	}
	left := ts.next(w)
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
			ts.mu.Lock()
			left = ts.next(w)
			ts.mu.Unlock()
			continue
		case <-ctx.Done():
			err = graph.LockWaitEnded(context.Cause(ctx))
		case <-g.stop:
			err = closed()
		}
		timer.Stop()
		ts.mu.Lock()
		ts.withdraw(w)
		ts.mu.Unlock()
		return err
	}
}

// waitsFor reports whether a transaction waits for another one, or for one that does. The caller holds ts.mu.
func (ts *turns) waitsFor(tx, other *Tx, seen map[*Tx]bool) bool {
	if tx.awaits == nil || seen[tx] {
		return false
	}
	seen[tx] = true
	for _, k := range tx.awaits.at {
		t := ts.keys[k]
		if t.holder == other || ts.waitsFor(t.holder, other, seen) {
			return true
		}
		for _, before := range t.waiting {
			if before == tx.awaits {
				break
			}
			if before.tx == other || ts.waitsFor(before.tx, other, seen) {
				return true
			}
		}
	}
	return false
}

// next passes on the turns that a waiter waits for and whose time is up, and returns after how long to look again. The time of a holder
// that waits itself does not run. The caller holds ts.mu.
func (ts *turns) next(w *waiter) time.Duration {
	left := turnTime
	for _, k := range slices.Clone(w.at) {
		t := ts.keys[k]
		if t.holder.awaits == nil && time.Since(t.since) >= turnTime {
			ts.pass(k, t)
		}
		if t.holder.awaits != nil {
			left = min(left, time.Second)
		} else {
			left = min(left, time.Until(t.since.Add(turnTime)))
		}
	}
	return left
}

// pass gives a turn to the next one. The caller holds ts.mu.
func (ts *turns) pass(k shard.Key, t *turn) {
	if len(t.waiting) == 0 {
		delete(ts.keys, k)
		return
	}
	w := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.holder = w.tx
	w.tx.turns = append(w.tx.turns, k)
	w.at = slices.DeleteFunc(w.at, func(at shard.Key) bool { return at == k })
	t.since = time.Now()
	if len(w.at) == 0 {
		ts.goOn(w)
		close(w.come)
	}
}

// goOn ends a wait: the time of the turns runs from now on. The caller holds ts.mu.
func (ts *turns) goOn(w *waiter) {
	w.tx.awaits = nil
	for _, k := range w.tx.turns {
		if t := ts.keys[k]; t != nil && t.holder == w.tx {
			t.since = time.Now()
		}
	}
}

// withdraw takes one that waits out of the queues. The turns that have come meanwhile it keeps until its end. The caller holds ts.mu.
func (ts *turns) withdraw(w *waiter) {
	for _, k := range w.at {
		t := ts.keys[k]
		t.waiting = slices.DeleteFunc(t.waiting, func(o *waiter) bool { return o == w })
	}
	w.at = nil
	ts.goOn(w)
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
