package query

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// TestTransactionsTakeTurns increments a few vertices in explicit transactions that have all begun before the first commits. Each commits
// at its first attempt.
func TestTransactionsTakeTurns(t *testing.T) {
	const writers, hot, rounds = 60, 3, 2
	e := New(stores["local"](t), Options{})
	ctx := context.Background()
	run := func(text string) []string {
		rows, err := rowsOf(e.Query(ctx, Request{Statement: text}))
		require.NoError(t, err)
		return rows
	}
	run("UNWIND range(0, 2) AS k CREATE (:Hot {k: k, n: 0})")
	for range rounds {
		var txs []*Transaction
		for range writers {
			tx, err := e.Begin(ctx, TxOptions{})
			require.NoError(t, err)
			txs = append(txs, tx)
		}
		var all sync.WaitGroup
		for i, tx := range txs {
			all.Go(func() {
				defer tx.Rollback()
				text := []string{"MATCH (n:Hot {k: 0})", "MATCH (n:Hot {k: 1})", "MATCH (n:Hot {k: 2})"}[i%hot] + " SET n.n = n.n + 1 RETURN n.n"
				rows, err := rowsOf(tx.Run(ctx, Request{Statement: text}))
				if err != nil || len(rows) != 1 {
					t.Errorf("%v %v", rows, err)
				}
				if err := tx.Commit(ctx); err != nil {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
	}
	require.Equal(t, []string{"[40]", "[40]", "[40]"}, run("MATCH (n:Hot) RETURN n.n ORDER BY n.k"))
}

const (
	readHot  = "MATCH (n:Hot {k: $k}) RETURN n.n"
	writeHot = "MATCH (n:Hot {k: $k}) SET n.n = $n"
)

// hot begins transactions that read a vertex and then write what they have read.
type hot struct {
	t *testing.T
	e *Engine
}

func openHot(t *testing.T, opt Options) hot {
	h := hot{t, New(stores["local"](t), opt)}
	rowsOf(h.e.Query(t.Context(), Request{Statement: "UNWIND range(0, 3) AS k CREATE (:Hot {k: k, n: 0})"}))
	return h
}

func (h hot) begin(opt TxOptions) *Transaction {
	tx, err := h.e.Begin(h.t.Context(), opt)
	require.NoError(h.t, err)
	h.t.Cleanup(tx.Rollback)
	return tx
}

func (h hot) read(tx *Transaction, k int64) (int64, error) {
	res, err := tx.Run(h.t.Context(), Request{Statement: readHot, Params: map[string]graph.Value{"k": graph.IntValue(k)}, Buffer: true})
	if err != nil {
		return 0, err
	}
	defer res.Close()
	b, err := res.Next()
	if err != nil {
		return 0, err
	}
	return b.Cols[0].Vals[0].Int(), nil
}

func (h hot) write(tx *Transaction, k, n int64) error {
	params := map[string]graph.Value{"k": graph.IntValue(k), "n": graph.IntValue(n)}
	_, err := rowsOf(tx.Run(h.t.Context(), Request{Statement: writeHot, Params: params}))
	return err
}

// increment reads and writes, and commits.
func (h hot) increment(tx *Transaction, k int64) error {
	n, err := h.read(tx, k)
	if err == nil {
		err = h.write(tx, k, n+1)
	}
	if err == nil {
		err = tx.Commit(h.t.Context())
	}
	return err
}

func (h hot) sum() []string {
	rows, err := rowsOf(h.e.Query(h.t.Context(), Request{Statement: "MATCH (n:Hot) RETURN sum(n.n)"}))
	require.NoError(h.t, err)
	return rows
}

func isConflict(err error) bool { return err != nil && graph.AsError(err).Kind == graph.KindConflict }

// TestRetryTakesItsTurnFirst repeats a transaction whose write has met a conflict after its read. The repetition waits before it reads, and
// commits, while those that only read wait for nobody.
func TestRetryTakesItsTurnFirst(t *testing.T) {
	h := openHot(t, Options{})
	failed, other := h.begin(TxOptions{}), h.begin(TxOptions{})
	n, err := h.read(failed, 0)
	require.NoError(t, err)
	require.NoError(t, h.increment(other, 0))
	require.True(t, isConflict(h.write(failed, 0, n+1)))

	first, retry := h.begin(TxOptions{}), h.begin(TxOptions{})
	n, err = h.read(first, 0)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	done := make(chan error, 1)
	go func() { done <- h.increment(retry, 0) }()

	for range 2 {
		n, err = h.read(h.begin(TxOptions{ReadOnly: true}), 0)
		require.NoError(t, err)
		require.Equal(t, int64(1), n)
	}
	require.Equal(t, []string{"[1]"}, h.sum())
	n, err = h.read(h.begin(TxOptions{}), 1)
	require.NoError(t, err, "other parameters are another vertex")
	require.Zero(t, n)

	require.NoError(t, h.write(first, 0, 2))
	require.NoError(t, first.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, []string{"[3]"}, h.sum())
}

// TestHotspotIsForgotten has a transaction that begins like one that met a conflict change nothing: later ones do not wait there.
func TestHotspotIsForgotten(t *testing.T) {
	h := openHot(t, Options{})
	failed := h.begin(TxOptions{})
	n, err := h.read(failed, 0)
	require.NoError(t, err)
	require.NoError(t, h.increment(h.begin(TxOptions{}), 0))
	require.True(t, isConflict(h.write(failed, 0, n+1)))

	reader := h.begin(TxOptions{})
	_, err = h.read(reader, 0)
	require.NoError(t, err)
	require.NotEmpty(t, reader.turns)
	require.NoError(t, reader.Commit(t.Context()))
	open := h.begin(TxOptions{})
	for range 2 {
		_, err = h.read(open, 0)
		require.NoError(t, err)
		require.Empty(t, open.turns)
		open = h.begin(TxOptions{})
	}
}

// TestNobodyStarves has many transactions read and write a few vertices. After the conflicts of those that have begun together, none meets
// another, and everyone commits.
func TestNobodyStarves(t *testing.T) {
	const writers, vertices, commits = 40, 2, 400
	h := openHot(t, Options{Admission: admission.Limits{Running: 4, Queue: writers}})
	var all sync.WaitGroup
	var done, conflicts atomic.Int64
	own := make([]int, writers)
	read := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(writers)
	for i := range writers {
		all.Go(func() {
			k := int64(i % vertices)
			tx, err := h.e.Begin(t.Context(), TxOptions{})
			n := int64(0)
			if err == nil {
				n, err = h.read(tx, k)
			}
			begun.Done()
			<-read
			if err == nil {
				err = h.write(tx, k, n+1)
			}
			if err == nil {
				err = tx.Commit(t.Context())
			}
			for {
				switch {
				case err == nil:
					own[i]++
					done.Add(1)
				case isConflict(err):
					conflicts.Add(1)
				default:
					t.Errorf("%v", err)
					return
				}
				if done.Load() >= commits && own[i] > 0 {
					return
				}
				if tx, err = h.e.Begin(t.Context(), TxOptions{}); err == nil {
					err = h.increment(tx, k)
				}
			}
		})
	}
	begun.Wait()
	close(read)
	all.Wait()
	require.Equal(t, []string{fmt.Sprintf("[%d]", done.Load())}, h.sum())
	require.LessOrEqual(t, conflicts.Load(), int64(writers))
	require.LessOrEqual(t, done.Load(), int64(commits+2*writers), "who has not committed yet waits for a turn of each other one at most")
}

// TestWaitingHoldsNoPlace fills all places with statements that wait for a transaction, which then runs another statement.
func TestWaitingHoldsNoPlace(t *testing.T) {
	h := openHot(t, Options{Admission: admission.Limits{Running: 2, Queue: 8}})
	const waiting = 4
	before := h.begin(TxOptions{})
	require.NoError(t, h.write(before, 0, 1))
	done := make(chan error, waiting)
	for i := range waiting {
		tx := h.begin(TxOptions{})
		go func() {
			err := h.write(tx, 0, int64(2+i))
			if err == nil {
				err = tx.Commit(t.Context())
			}
			done <- err
		}()
	}
	require.Eventually(t, func() bool {
		n := 0
		for _, q := range h.e.Running(t.Context()) {
			if q.Statement == writeHot {
				n++
			}
		}
		return n == waiting && h.e.Load().Running == 0 && h.e.Load().Queued == 0
	}, time.Minute, time.Millisecond)
	n, err := h.read(before, 0)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.NoError(t, before.Commit(t.Context()))
	for range waiting {
		require.NoError(t, <-done)
	}
	require.Zero(t, h.e.Load().Running)
}
