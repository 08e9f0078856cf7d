package turns

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
)

// Queues are those of a graph, by key. The zero value has none.
type Queues struct {
	// Time is how long others wait for a transaction that neither commits nor ends. 0 is 5 seconds.
	Time time.Duration

	mu   sync.Mutex
	keys map[shard.Key]*turn
}

// Taker is a transaction that takes turns.
type Taker struct {
	turns  []shard.Key // at which it has its turn
	awaits *waiter     // where it waits
	// Queues.mu guards both while it waits.
}

// turn is the queue at a key.
type turn struct {
	holder  *Taker
	since   time.Time // the holder has its turn, or its last wait for others ended
	waiting []*waiter
}

// waiter is a transaction that waits in several queues at once. It joins them together: of two, the same one is ahead in all that they
// share. One key after the other, each would hold its first turns idle through the queues of all later ones.
type waiter struct {
	tx   *Taker
	at   []shard.Key   // where it still waits
	come chan struct{} // closed when it is its turn everywhere
}

const turnTime = 5 * time.Second

// Waiting is how many transactions wait for their turn at a key.
func (ts *Queues) Waiting(k shard.Key) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.keys[k]; t != nil {
		return len(t.waiting)
	}
	return 0
}

// Len is at how many keys a transaction has its turn.
func (ts *Queues) Len() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.keys)
}

// Taken is how many turns a transaction has taken.
func (tx *Taker) Taken() int { return len(tx.turns) }

// Wait waits until it is a transaction's turn at keys. If the transactions before it wait for this one, it loses all its turns and fails.
// stop is closed when the graph closes.
func (ts *Queues) Wait(ctx context.Context, tx *Taker, keys []shard.Key, stop <-chan struct{}) error {
	ts.mu.Lock()
	awaited := len(tx.turns) > 0
	w := &waiter{tx: tx, come: make(chan struct{})}
	for _, k := range keys {
		switch t := ts.keys[k]; {
		case t == nil:
			if ts.keys == nil {
				ts.keys = map[shard.Key]*turn{}
			}
			ts.keys[k] = &turn{holder: tx, since: time.Now()}
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
	if awaited && ts.waitsFor(tx, tx, map[*Taker]bool{}) {
		ts.withdraw(w)
		ts.leave(tx)
		ts.mu.Unlock()
		return graph.ConflictError("deadlock with other transactions; run it again", nil)
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
		case <-stop:
			err = fail.Closed()
		}
		timer.Stop()
		ts.mu.Lock()
		ts.withdraw(w)
		ts.mu.Unlock()
		return err
	}
}

// waitsFor reports whether a transaction waits for another one, or for one that does. The caller holds ts.mu.
func (ts *Queues) waitsFor(tx, other *Taker, seen map[*Taker]bool) bool {
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

// next passes on the turns that a waiter waits for and whose time is up, and returns how long to wait until the next look. The clock of a
// holder that waits itself stands still. The caller holds ts.mu.
func (ts *Queues) next(w *waiter) time.Duration {
	most := cmp.Or(ts.Time, turnTime)
	left := most
	for _, k := range slices.Clone(w.at) {
		t := ts.keys[k]
		if t.holder.awaits == nil && time.Since(t.since) >= most {
			ts.pass(k, t)
		}
		if t.holder.awaits != nil {
			left = min(left, time.Second)
		} else {
			left = min(left, time.Until(t.since.Add(most)))
		}
	}
	return left
}

// pass gives a turn to the next one. The caller holds ts.mu.
func (ts *Queues) pass(k shard.Key, t *turn) {
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

// goOn ends a wait: the clock of its turns starts now. The caller holds ts.mu.
func (ts *Queues) goOn(w *waiter) {
	w.tx.awaits = nil
	for _, k := range w.tx.turns {
		if t := ts.keys[k]; t != nil && t.holder == w.tx {
			t.since = time.Now()
		}
	}
}

// withdraw removes a waiter from the queues. The transaction keeps the turns that it got until its end. The caller holds ts.mu.
func (ts *Queues) withdraw(w *waiter) {
	for _, k := range w.at {
		t := ts.keys[k]
		t.waiting = slices.DeleteFunc(t.waiting, func(o *waiter) bool { return o == w })
	}
	w.at = nil
	ts.goOn(w)
}

// leave ends all turns of a transaction. The caller holds ts.mu.
func (ts *Queues) leave(tx *Taker) {
	for _, k := range tx.turns {
		if t := ts.keys[k]; t != nil && t.holder == tx {
			ts.pass(k, t)
		}
	}
	tx.turns = nil
}

// Leave ends all turns of a transaction.
func (ts *Queues) Leave(tx *Taker) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.leave(tx)
}

// Inherit gives a transaction the turns of another one.
func (ts *Queues) Inherit(tx, old *Taker) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, k := range old.turns {
		if t := ts.keys[k]; t != nil && t.holder == old {
			t.holder = tx
			tx.turns = append(tx.turns, k)
		}
	}
	old.turns = nil
}
