package relational

import (
	"context"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// transactions runs a subplan for several rows at a time, each time in a transaction of its own.
type transactions struct {
	runtime.Input
	r         *runtime.Run
	n         *plan.Transactions
	frame     *runtime.Frame
	sub       runtime.Operator
	rowFrom   []int // positions of the buffered input columns: all of them
	outerFrom []int // by column of the result: its position in the input, or -1
	innerFrom []int // likewise in the subplan
	reportAt  int   // position of the report in the result, or -1
	batched   bool  // the subplan runs for many rows at once

	size    int
	broken  bool
	filled  bool
	pending runtime.Batch // input rows of the next transaction
	one     runtime.Batch
	made    runtime.Batch // result rows of the current transaction
	rows    runtime.Sel   // parallel to made: the row of pending
	spool   runtime.Buffer
}

// Transactions compiles a Transactions.
func Transactions(c *compile.Compiler, n *plan.Transactions, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, n.Rows)
	below.Remove(n.Report)
	inner := plan.NewColSet()
	for _, col := range n.Cols {
		if need.Has(col) {
			inner.Add(col)
		}
		below.Remove(col)
	}
	sub := c.Sub(n.Sub, inner)
	below.Add(sub.Args...)
	in := c.Compile(n.Input, below)
	c.Bound(in, sub.Args...)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Subplans: []*runtime.Subplan{sub}, Cols: compile.Kept(in.Cols, need, append([]plan.Col{n.Report}, n.Cols...)...)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		t := &transactions{
			Input: runtime.Input{In: kids[0]}, r: r, n: n, rowFrom: in.Positions(in.Cols), outerFrom: in.Positions(s.Cols),
			innerFrom: sub.Root.Positions(s.Cols), reportAt: -1, batched: n.Batched || !sub.Writes,
			spool: runtime.Buffer{Acct: runtime.Account{Run: r, Name: "Transactions"}},
		}
		for i := range t.outerFrom {
			if t.outerFrom[i] >= 0 {
				t.innerFrom[i] = -1
			}
		}
		if n.Report != 0 {
			t.reportAt = s.Pos(n.Report)
		}
		t.frame, t.sub = r.BuildSub(sub, in.Cols)
		return t
	}
	return s
}

func (t *transactions) Open(ctx context.Context) error {
	t.broken, t.filled, t.size = false, false, 1000
	t.spool.Reset(len(t.outerFrom))
	if t.r.Env.Begin == nil {
		return graph.RuntimeError("TransactionError", "ExplicitTransaction", "CALL {…} IN TRANSACTIONS cannot run in an open transaction")
	}
	if t.n.Rows != nil {
		v, err := expr.Scalar(ctx, t.r, t.n.Rows)
		if err != nil {
			return err
		}
		size, ok := v.Whole()
		if !ok || size < 1 {
			return graph.RuntimeError("ArgumentError", "NumberOutOfRange", "OF … ROWS needs an Integer of at least 1")
		}
		t.size = int(size)
	}
	t.pending.Reset(len(t.rowFrom))
	return t.Input.Open(ctx)
}

func (t *transactions) Next(ctx context.Context) (*runtime.Batch, error) {
	for !t.filled {
		b, err := t.In.Next(ctx)
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
			t.one.Slice(b, at, at+n)
			t.pending.AppendRows(&t.one, t.rowFrom, runtime.AllRows(n))
			t.pending.N += n
			at += n
			if t.pending.N == t.size {
				if err := t.transact(ctx); err != nil {
					return nil, err
				}
			}
		}
	}
	return t.spool.Next(t.r.BatchSize()), nil
}

// finish runs the last transaction and makes all of them visible to the operators above.
func (t *transactions) finish(ctx context.Context) error {
	if t.pending.N > 0 {
		if err := t.transact(ctx); err != nil {
			return err
		}
	}
	t.filled = true
	return t.r.Renew(ctx)
}

// transact runs the subplan for the pending rows.
func (t *transactions) transact(ctx context.Context) error {
	report := txReport{number: t.r.Transactions + 1}
	if !t.broken {
		counters, gone := t.r.Counters, t.r.Deleted
		mode, together := shard.Write, t.batched
		var err error
		for again := true; again; {
			t.r.Counters, t.r.Deleted = counters, runtime.Deleted{}
			err = t.attempt(ctx, mode, together, &report)
			conflict := err != nil && graph.AsError(err).Kind == graph.KindConflict
			switch {
			case err == nil || ctx.Err() != nil:
				again = false
			case conflict && mode == shard.Write:
				mode = shard.WriteExclusive // no other transaction commits meanwhile
			case !conflict && !report.ran && together && t.pending.N > 1:
				together = false // row by row, so that the first failing row names the error
			default:
				again = false
			}
		}
		t.r.Deleted = gone
		if err != nil {
			t.r.Counters = counters
			if t.n.OnError == plan.OnErrorFail {
				return err
			}
			if ctx.Err() != nil { // the statement was cancelled, whatever the error
				return graph.DeadlineError(context.Cause(ctx))
			}
			report.err = graph.AsError(err)
			t.broken = t.n.OnError == plan.OnErrorBreak
		}
	}
	if !report.committed {
		t.made.Reset(len(t.outerFrom))
		t.rows = append(t.rows[:0], runtime.AllRows(t.pending.N)...)
		for i, p := range t.innerFrom {
			if p >= 0 {
				runtime.AppendNulls(&t.made.Cols[i], t.pending.N)
			}
		}
	}
	if err := t.store(&report); err != nil {
		return err
	}
	t.pending.Reset(len(t.rowFrom))
	return nil
}

// attempt runs the subplan in a transaction and commits it.
func (t *transactions) attempt(ctx context.Context, mode shard.Mode, together bool, report *txReport) error {
	defer func(outer shard.Tx) { t.r.Tally.Tx = outer }(t.r.Tally.Tx)
	err := t.r.Commit(ctx, mode, int64(t.pending.N), func(tx shard.Tx) error {
		t.r.SetTx(tx)
		t.r.Transactions = report.number
		return t.parts(ctx, together, report)
	})
	report.committed = err == nil
	return err
}

// parts runs the subplan for the pending rows in the transaction.
func (t *transactions) parts(ctx context.Context, together bool, report *txReport) error {
	report.started, report.ran = true, false
	t.made.Reset(len(t.outerFrom))
	t.rows = t.rows[:0]
	size := 1
	if together {
		size = t.r.BatchSize()
	}
	for i := 0; i < t.pending.N; i += size {
		t.one.Slice(&t.pending, i, min(i+size, t.pending.N))
		if err := t.part(ctx, &t.one, int32(i)); err != nil {
			return err
		}
	}
	// The rows must outlive the transaction.
	for i := range t.made.Cols {
		for k, v := range t.made.Cols[i].Vals {
			t.made.Cols[i].Vals[k] = v.Clone()
		}
	}
	report.ran = true
	return nil
}

// part runs the subplan for rows of pending from row at on.
func (t *transactions) part(ctx context.Context, rows *runtime.Batch, at int32) error {
	t.frame.In = rows
	if err := t.sub.Open(ctx); err != nil {
		return err
	}
	for {
		b, err := t.sub.Next(ctx)
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
		inner.Row = nil
		t.made.AppendRows(&inner, t.innerFrom, runtime.AllRows(b.N))
		for i := range b.N {
			t.rows = append(t.rows, at+b.RowOf(i))
		}
	}
	if t.n.Unit {
		for i := range rows.N {
			t.rows = append(t.rows, at+int32(i))
		}
	}
	return nil
}

// store buffers the rows of an ended transaction.
func (t *transactions) store(report *txReport) error {
	t.made.AppendRows(&t.pending, t.outerFrom, t.rows)
	t.made.N = len(t.rows)
	if t.reportAt >= 0 {
		v := report.value()
		for range t.rows {
			c := &t.made.Cols[t.reportAt]
			c.Vals = append(c.Vals, v)
		}
	}
	return t.spool.Add(&t.made, runtime.AllPositions(len(t.outerFrom)))
}

func (t *transactions) Close() {
	t.spool.Acct.Release()
	t.sub.Close()
	t.In.Close()
}

// txReport describes how a transaction ended.
type txReport struct {
	started, committed bool
	ran                bool // for all rows; a failure was that of the commit
	number             int
	err                *graph.Error
}

// value returns the report as Neo4j does: {started, committed, transactionId, errorMessage}.
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
