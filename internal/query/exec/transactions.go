package exec

import (
	"context"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// transactions runs a subplan for some rows at a time, each time in a transaction of its own.
type transactions struct {
	input
	r         *run
	n         *plan.Transactions
	frame     *frame
	sub       operator
	rowFrom   []int // positions of what is kept of the input: all of it
	outerFrom []int // by column of the result: its position in the input, or -1
	innerFrom []int // likewise in the subplan
	reportAt  int   // position of the report in the result, or -1
	together  bool  // the subplan runs for many rows at once

	size    int
	broken  bool
	filled  bool
	pending batch // input rows of the next transaction
	one     batch
	made    batch // result rows of the transaction at work
	rows    sel   // beside them: the row of pending
	spool   spool
}

func (c *compiler) transactions(n *plan.Transactions, need plan.ColSet) *stage {
	below := c.below(need, n.Rows)
	delete(below, n.Report)
	inner := plan.ColSet{}
	for _, col := range n.Cols {
		if need.Has(col) {
			inner.Add(col)
		}
		delete(below, col)
	}
	sub := c.sub(n.Sub, inner)
	below.Add(sub.args...)
	in := c.compile(n.Input, below)
	c.bound(in, sub.args...)
	s := &stage{node: n, kids: []*stage{in}, subs: []*subplan{sub}, cols: kept(in.cols, need, append([]plan.Col{n.Report}, n.Cols...)...)}
	s.build = func(r *run, kids []operator) operator {
		t := &transactions{
			input: input{kids[0]}, r: r, n: n, rowFrom: in.positions(in.cols), outerFrom: in.positions(s.cols),
			innerFrom: sub.root.positions(s.cols), reportAt: -1, together: n.Together || !sub.writes,
			spool: spool{acct: account{r: r, name: "Transactions"}},
		}
		for i := range t.outerFrom {
			if t.outerFrom[i] >= 0 {
				t.innerFrom[i] = -1
			}
		}
		if n.Report != 0 {
			t.reportAt = s.pos(n.Report)
		}
		t.frame, t.sub = r.buildSub(sub, in.cols)
		return t
	}
	return s
}

func (t *transactions) open(ctx context.Context) error {
	t.broken, t.filled, t.size = false, false, 1000
	t.spool.reset(len(t.outerFrom))
	if t.r.env.Begin == nil {
		return graph.RuntimeError("TransactionError", "ExplicitTransaction", "CALL {…} IN TRANSACTIONS cannot run in a transaction of somebody else")
	}
	if t.n.Rows != nil {
		v, err := t.r.scalar(ctx, t.n.Rows)
		if err != nil {
			return err
		}
		if v.Kind() != graph.Int || v.Int() < 1 {
			return graph.RuntimeError("ArgumentError", "NumberOutOfRange", "a transaction must be OF an Integer of at least 1 ROWS")
		}
		t.size = int(v.Int())
	}
	t.pending.reset(len(t.rowFrom))
	return t.input.open(ctx)
}

func (t *transactions) next(ctx context.Context) (*batch, error) {
	for !t.filled {
		b, err := t.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			if err := t.finish(ctx); err != nil {
				return nil, err
			}
			break
		}
		for at := 0; at < b.N; {
			n := min(b.N-at, t.size-t.pending.N)
			t.one.slice(b, at, at+n)
			t.pending.appendRows(&t.one, t.rowFrom, allRows(n))
			t.pending.N += n
			at += n
			if t.pending.N == t.size {
				if err := t.transact(ctx); err != nil {
					return nil, err
				}
			}
		}
	}
	return t.spool.next(t.r.batchSize()), nil
}

// finish runs the last transaction and lets what is above see them all.
func (t *transactions) finish(ctx context.Context) error {
	if t.pending.N > 0 {
		if err := t.transact(ctx); err != nil {
			return err
		}
	}
	t.filled = true
	tx, err := t.r.env.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	t.r.after = append(t.r.after, tx)
	t.r.setTx(tx)
	return nil
}

// transact runs the subplan for the pending rows.
func (t *transactions) transact(ctx context.Context) error {
	report := txReport{number: t.r.transactions + 1}
	if !t.broken {
		counters, gone := t.r.counters, t.r.deleted
		mode, together := shard.Write, t.together
		var err error
		for again := true; again; {
			t.r.counters, t.r.deleted = counters, deleted{}
			err = t.attempt(ctx, mode, together, &report)
			conflict := err != nil && graph.AsError(err).Kind == graph.KindConflict
			switch {
			case err == nil || ctx.Err() != nil:
				again = false
			case conflict && mode == shard.Write:
				mode = shard.WriteExclusive // while nobody else can commit
			case !conflict && !report.ran && together && t.pending.N > 1:
				together = false // the first row that fails says why
			default:
				again = false
			}
		}
		t.r.deleted = gone
		if err != nil {
			t.r.counters = counters
			if t.n.OnError == plan.OnErrorFail {
				return err
			}
			if ctx.Err() != nil { // the statement was ended, whatever it met at that moment
				return graph.DeadlineError(context.Cause(ctx))
			}
			report.err = graph.AsError(err)
			t.broken = t.n.OnError == plan.OnErrorBreak
		}
	}
	if !report.committed {
		t.made.reset(len(t.outerFrom))
		t.rows = append(t.rows[:0], allRows(t.pending.N)...)
		for i, p := range t.innerFrom {
			if p >= 0 {
				appendNulls(&t.made.Cols[i], t.pending.N)
			}
		}
	}
	if err := t.store(&report); err != nil {
		return err
	}
	t.pending.reset(len(t.rowFrom))
	return nil
}

// attempt runs the subplan in a transaction and commits it.
func (t *transactions) attempt(ctx context.Context, mode shard.Mode, together bool, report *txReport) error {
	tx, err := t.r.env.Begin(ctx, mode)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	defer func(outer shard.Tx) { t.r.tally.Tx = outer }(t.r.tally.Tx)
	t.r.setTx(tx)
	t.r.transactions = report.number
	report.started, report.ran = true, false
	t.made.reset(len(t.outerFrom))
	t.rows = t.rows[:0]
	size := 1
	if together {
		size = t.r.batchSize()
	}
	for i := 0; i < t.pending.N; i += size {
		t.one.slice(&t.pending, i, min(i+size, t.pending.N))
		if err := t.part(ctx, &t.one, int32(i)); err != nil {
			return err
		}
	}
	// What the rows hold must outlive the transaction.
	for i := range t.made.Cols {
		for k, v := range t.made.Cols[i].Vals {
			t.made.Cols[i].Vals[k] = v.Clone()
		}
	}
	report.ran = true
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	report.committed = true
	return nil
}

// part runs the subplan for rows of pending from row at on.
func (t *transactions) part(ctx context.Context, rows *batch, at int32) error {
	t.frame.in = rows
	if err := t.sub.open(ctx); err != nil {
		return err
	}
	for {
		b, err := t.sub.next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if t.n.Unit {
			continue
		}
		inner := *b
		inner.row = nil
		t.made.appendRows(&inner, t.innerFrom, allRows(b.N))
		for i := range b.N {
			t.rows = append(t.rows, at+b.rowOf(i))
		}
	}
	if t.n.Unit {
		for i := range rows.N {
			t.rows = append(t.rows, at+int32(i))
		}
	}
	return nil
}

// store keeps the rows of a transaction that is over.
func (t *transactions) store(report *txReport) error {
	t.made.appendRows(&t.pending, t.outerFrom, t.rows)
	t.made.N = len(t.rows)
	if t.reportAt >= 0 {
		v := report.value()
		for range t.rows {
			c := &t.made.Cols[t.reportAt]
			c.Vals = append(c.Vals, v)
		}
	}
	return t.spool.add(&t.made, allPositions(len(t.outerFrom)))
}

func (t *transactions) close() {
	t.spool.acct.release()
	t.sub.close()
	t.in.close()
}

// txReport says how a transaction ended.
type txReport struct {
	started, committed bool
	ran                bool // for all rows, so that it is the commit that failed, if anything did
	number             int
	err                *graph.Error
}

// value gives the report as Neo4j does: {started, committed, transactionId, errorMessage}.
func (r *txReport) value() graph.Value {
	var id, msg graph.Value
	if r.started {
		id = graph.StringValue("inner-transaction-" + strconv.Itoa(r.number))
	}
	if r.err != nil {
		msg = graph.StringValue(r.err.Msg)
	}
	return graph.MapValue([]graph.MapEntry{
		{Key: "committed", Value: graph.BoolValue(r.committed)},
		{Key: "errorMessage", Value: msg},
		{Key: "started", Value: graph.BoolValue(r.started)},
		{Key: "transactionId", Value: id},
	})
}
