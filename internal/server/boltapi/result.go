package boltapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
)

// result is a statement's answer.
type result struct {
	p       *peer
	res     *query.Result
	timed   bool // the client has said how long it may take
	alone   bool // in a transaction of its own
	waiting bool
}

// Graph implements bolt.Result.
func (r *result) Graph() string { return r.p.s.e.ClientName(r.res.Graph()) }

// Columns implements bolt.Result.
func (r *result) Columns() []string { return r.res.Columns }

// Next implements bolt.Result.
func (r *result) Next() (*graph.Batch, error) {
	r.rouse()
	b, err := r.res.Next()
	return b, ownTimeout(err, r.timed)
}

// Sending implements bolt.Result.
func (r *result) Sending() { r.res.Sending() }

// Sent implements bolt.Result.
func (r *result) Sent(bytes int) { r.res.Sent(bytes) }

// Wait implements bolt.Result.
func (r *result) Wait() {
	if !r.waiting {
		r.waiting = true
		r.p.s.metrics.waiting.Inc()
	}
	r.res.Wait()
}

// rouse marks the result as no longer waiting.
func (r *result) rouse() {
	if r.waiting {
		r.waiting = false
		r.p.s.metrics.waiting.Dec()
	}
}

// Hold implements bolt.Result.
func (r *result) Hold(b *graph.Batch, from int) error {
	return ownTimeout(r.res.Hold(b, from), r.timed)
}

// Whole implements bolt.Result.
func (r *result) Whole() bool { return r.res.Prefix() == "PROFILE" }

// Done implements bolt.Result.
func (r *result) Done() <-chan struct{} { return r.res.Done() }

// Close implements bolt.Result.
func (r *result) Close() {
	r.rouse()
	r.res.Close()
}

// Summary implements bolt.Result.
func (r *result) Summary() *bolt.Summary {
	s := &bolt.Summary{Summary: r.res.Summary()}
	if s.Plan != nil {
		if s.Type != "s" {
			s.Plan = produceResults(s.Plan, r.res.Columns)
		}
		s.Planner = planText(s.Plan)
	}
	if r.alone {
		s.Bookmark = query.Bookmark(r.p.s.e, r.res.Graph(), r.res.Writes(), r.res.Snapshot())
	}
	return s
}

// produceResults returns a plan below the operator that Neo4j's tools expect as its root.
func produceResults(plan *explain.Node, columns []string) *explain.Node {
	return &explain.Node{
		Operator: "ProduceResults", Args: strings.Join(columns, ", "), Variables: columns, Estimate: plan.Estimate, Children: []*explain.Node{plan},
		Profiled: plan.Profiled, Rows: plan.Rows, Batches: plan.Batches,
	}
}

// transaction is an explicit transaction.
type transaction struct {
	p     *peer
	tx    *query.Transaction
	timed bool // the client has said how long it may take
}

// Graph implements bolt.Tx.
func (t *transaction) Graph() string { return t.p.s.e.ClientName(t.tx.Graph()) }

// Run implements bolt.Tx.
func (t *transaction) Run(ctx context.Context, st *bolt.Statement) (bolt.Result, error) {
	ctx, err := t.p.ask(ctx, &st.Context)
	if err != nil {
		return nil, err
	}
	req, err := t.p.statement(st)
	if err != nil {
		return nil, err
	}
	res, err := t.tx.Run(ctx, req)
	if err != nil {
		return nil, ownTimeout(err, t.timed)
	}
	return &result{p: t.p, res: res, timed: t.timed}, nil
}

// Commit implements bolt.Tx.
func (t *transaction) Commit(ctx context.Context) (string, error) {
	if err := t.tx.Commit(t.p.with(ctx)); err != nil {
		return "", ownTimeout(err, t.timed)
	}
	return query.Bookmark(t.p.s.e, t.tx.Graph(), t.tx.Changed(), t.tx.Snapshot()), nil
}

// Rollback implements bolt.Tx.
func (t *transaction) Rollback() { t.tx.Rollback() }

// Done implements bolt.Tx.
func (t *transaction) Done() <-chan struct{} { return t.tx.Done() }

// Err implements bolt.Tx.
func (t *transaction) Err() error { return ownTimeout(t.tx.Err(), t.timed) }

// ownTimeout replaces the code of an error caused by the client's own time limit with the code that clients expect. That of a wait for another
// transaction has the same code whether the client or the server sets the limit.
func ownTimeout(err error, timed bool) error {
	if err == nil {
		return nil
	}
	var e *graph.Error
	if !timed || !errors.As(err, &e) || e.Kind != graph.KindDeadline || e.Code == graph.LockWaitEnded(nil).Code || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, query.ErrTxTime) {
		return err
	}
	own := *e
	own.Code, own.Detail = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", "ClientTimeout"
	own.Msg = "the transaction has been terminated: it took longer than the client's tx_timeout"
	return &own
}

// planText prints a plan, one operator a line, each below its consumer.
func planText(root *explain.Node) string {
	var b strings.Builder
	var draw func(n *explain.Node, depth int)
	draw = func(n *explain.Node, depth int) {
		fmt.Fprintf(&b, "%s+%s", strings.Repeat("| ", depth), n.Operator)
		if n.Args != "" {
			b.WriteString(" " + n.Args)
		}
		b.WriteByte('\n')
		for _, c := range n.Children {
			draw(c, depth+1)
		}
	}
	draw(root, 0)
	return b.String()
}
