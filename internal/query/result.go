package query

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Result is the answer to a request, row by row. Only one goroutine uses and closes it.
type Result struct {
	Columns []string

	e         *Engine
	ctx       context.Context
	q         *Running
	req       Request
	g         shard.Graph
	p         *prepared
	began     int64 // the instant of its start
	tx        shard.Tx
	txn       *Transaction   // the explicit transaction of the statement, until the result releases it
	rows      *exec.Rows     // or nil
	run       exec.Rows      // rows of a request outside explicit transactions
	batches   []*graph.Batch // buffered rows of an ended statement
	kept      exec.Retained  // their memory
	counters  exec.Counters
	commands  *commandCounters // or nil
	plan      *explain.Node
	rare      *rare // or nil
	err       error
	checked   bool // see shard.Validator
	truncated bool
	closed    bool
	place     fresh.Place // of identical requests, or 0
}

// SchemaCounters count the changes of a command.
type SchemaCounters struct {
	IndexesAdded, IndexesRemoved, ConstraintsAdded, ConstraintsRemoved int64
}

// commandCounters count what the commands of a request have changed.
type commandCounters struct {
	SchemaCounters
	system int64 // graphs created or dropped, and rules added or removed
}

// changed returns the counters of commands.
func (r *Result) changed() *commandCounters {
	if r.commands == nil {
		r.commands = new(commandCounters)
	}
	return r.commands
}

// Summary describes a result after its last row.
type Summary struct {
	exec.Counters
	// Type is the type of the statement, also of one that is only explained: r, w, rw or s.
	Type   string
	Schema SchemaCounters
	// SystemUpdates counts the graphs that a command has created or dropped, or the access rules that it has added or removed.
	SystemUpdates int64

	Plan      *explain.Node // of EXPLAIN and PROFILE
	Truncated bool          // the result is incomplete
	Reason    string        // max_rows, or a message that names the limit
	NextPage  string        // the token of the next page; "" if there is none
	Rows      int64
	Cost      cost.Told       // so far
	Hops      []exec.HopCount // of a traversal

	// Notifications name likely mistakes in the request. The caller must not change them.
	Notifications []plan.Notification
}

// Next returns the next batch, or nil at the end. The batch is valid until the next call.
func (r *Result) Next() (*graph.Batch, error) {
	if err := r.goOn(); err != nil {
		return nil, r.Fail(err)
	}
	began := r.q.trace.Began()
	b, err := r.checkedNext()
	for err != nil && r.q.Rows() == 0 && r.tx != nil && r.rerun(err) {
		r.rows.Close()
		r.tx.Rollback()
		r.rows, r.tx = nil, nil
		if c := r.req.Condition; c != nil {
			c.None = "" // the caller expects rows
		}
		if err = r.e.start(r); err == nil {
			b, err = r.checkedNext()
		}
	}
	r.q.trace.Pull(began)
	if err != nil {
		return nil, r.Fail(err)
	}
	if b == nil {
		r.leave(nil)
		return nil, nil
	}
	if r.req.MaxRows > 0 && r.q.Rows()+int64(b.N) > r.req.MaxRows {
		b.N = int(r.req.MaxRows - r.q.Rows())
		r.truncated = true
		if b.N == 0 {
			r.leave(nil)
			return nil, nil
		}
	}
	r.q.rows.Add(int64(b.N))
	return b, nil
}

// goOn returns why the caller may get no further rows, or nil once the request has a place again. The first rows of a statement that has
// committed are its receipt, which its caller gets in any case.
func (r *Result) goOn() error {
	if r.rows != nil || r.q.Rows() > 0 {
		if err := r.q.may(r.q.on(), access.Reader); err != nil {
			return err
		}
	}
	if r.rare.waiting() {
		r.q.cpu.Written()
		return r.resume()
	}
	if r.rows == nil {
		r.q.cpu.Written()
		return nil // the rows are complete
	}
	return r.q.cpu.Resume(r.ctx)
}

// HoldBytes charges bytes that the caller of Next holds for encoding rows to the statement's memory.
func (r *Result) HoldBytes(n int) error {
	if r.rows == nil { // the rows are few, or accounted for since they were buffered
		return nil
	}
	return r.rows.HoldBytes(n)
}

// Sending says that the caller of Next waits for its client, so that other requests may compute.
func (r *Result) Sending() { r.q.cpu.BeforeWrite() }

// leave releases the statement's explicit transaction, if it still has one.
func (r *Result) leave(err error) {
	t := r.txn
	if t == nil {
		return
	}
	r.txn = nil
	if r.rows != nil {
		r.counters = r.rows.Counters()
		if r.p.prefix == "PROFILE" {
			r.plan = explain.Tree(r.p.exec, r.rows.Stats(), nil)
		}
		r.q.trace.Executed(r.p.exec, r.rows)
		r.rows.Close()
		r.rows = nil
		r.keep()
		t.mu.Lock()
		t.counters.Add(r.counters)
		t.mu.Unlock()
	}
	t.release(err)
}

// checkedNext is next once the transaction is known to read the current snapshot.
func (r *Result) checkedNext() (*graph.Batch, error) {
	b, err := r.next()
	if r.checked || r.tx == nil {
		return b, err
	}
	if lost := checked(r.ctx, r.tx); lost != nil {
		return nil, lost
	}
	r.checked = true
	return b, err
}

// rerun reports whether to run a request again after an error: its snapshot was lost with a process of a cluster, and nothing
// was committed.
func (r *Result) rerun(err error) bool {
	if !shard.Retriable(err) || r.p != nil && r.p.own && !errors.Is(err, errStalePlan) {
		return false
	}
	if !r.uncommon().reruns.Next(r.ctx) {
		return false
	}
	r.e.metrics.Retries.Add(1)
	r.reset()
	return true
}

// rare is what few requests have.
type rare struct {
	reruns shard.Reruns
	shared *fresh.Answer // that batches are a copy of, or nil
	waits  int64         // the instant at which it began to wait for its client; 0: it does not wait
	waited time.Duration // earlier waits
}

// waiting reports whether the request waits for its client.
func (r *rare) waiting() bool { return r != nil && r.waits != 0 }

func (r *Result) uncommon() *rare {
	if r.rare == nil {
		r.rare = new(rare)
	}
	return r.rare
}

// over reports whether there must be no more reruns.
func (r *rare) over() bool { return r != nil && r.reruns.Over() }

// answer returns the shared answer, or nil.
func (r *rare) answer() *fresh.Answer {
	if r == nil {
		return nil
	}
	return r.shared
}

// reset discards the state of a run.
func (r *Result) reset() {
	r.batches, r.counters, r.plan = nil, exec.Counters{}, nil
	if r.rare != nil {
		r.rare.shared = nil
	}
	r.e.answers.Leave(&r.place)
	r.req.Condition.Reset()
}

func (r *Result) next() (*graph.Batch, error) {
	if r.truncated {
		return nil, nil
	}
	if len(r.batches) > 0 {
		b := r.batches[0]
		r.batches = r.batches[1:]
		return b, nil
	}
	if r.rows == nil || r.rare.answer() != nil {
		return nil, nil
	}
	b, err := r.rows.Next(r.ctx)
	if pg := r.req.Limits.page(); pg != nil && err == nil {
		return pg.Take(r.p.exec.Columns(), b)
	}
	return b, err
}

// buffer copies all rows into memory, detached from the transaction.
func (r *Result) buffer(ctx context.Context, rows *exec.Rows) error {
	for {
		b, err := rows.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			r.kept = rows.Kept()
			return nil
		}
		if err := r.take(rows, b, 0); err != nil {
			return err
		}
	}
}

// take copies the rows of a batch from one on into memory.
func (r *Result) take(rows *exec.Rows, b *graph.Batch, from int) error {
	if len(b.Cols) == 0 || from == b.N {
		return nil
	}
	c := &graph.Batch{N: b.N - from, Cols: make([]graph.Column, len(b.Cols))}
	for i := range b.Cols {
		c.Cols[i].Vals = make([]graph.Value, c.N)
		for j := range c.N {
			c.Cols[i].Vals[j] = graph.Detach(b.Cols[i].Value(from + j))
		}
	}
	r.batches = append(r.batches, c)
	return rows.Hold(c)
}

// keep charges the buffered rows to the explicit transaction, or to the request.
func (r *Result) keep() {
	to := cmp.Or(r.q.tx, r.q)
	if pools := r.q.pools.Load(); pools != nil {
		to.pools.Store(pools)
	}
	r.kept.Charge(&to.held)
}

// Summary returns the summary after the last row.
func (r *Result) Summary() Summary {
	s := Summary{Counters: r.counters, Plan: r.plan, Truncated: r.truncated, NextPage: r.req.Limits.page().Next(), Rows: r.q.Rows(), Cost: r.Cost()}
	if r.commands != nil {
		s.Schema, s.SystemUpdates = r.commands.SchemaCounters, r.commands.system
	}
	if r.p != nil {
		s.Type = r.p.kind()
		s.Notifications = r.p.notifications(r.g) // the transaction has confirmed the graph
	}
	if s.Truncated {
		s.Reason = "max_rows"
	}
	if a := r.rare.answer(); a != nil {
		s.Hops = a.Hops
	} else if r.rows != nil {
		if s.Hops = r.rows.Hops(); r.rows.Truncated() != "" {
			s.Truncated, s.Reason = true, r.rows.Truncated()
		}
	}
	if r.rows != nil && r.p.prefix == "PROFILE" {
		s.Plan = explain.Tree(r.p.exec, r.rows.Stats(), nil)
	}
	return s
}

// Close ends the request.
func (r *Result) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.leave(nil)
	if r.rows != nil {
		r.q.trace.Executed(r.p.exec, r.rows)
		r.rows.Close()
	}
	if r.tx != nil {
		r.tx.Rollback()
	}
	r.kept.Release()
	r.e.answers.Leave(&r.place)
	r.batches = nil
	_ = r.e.finish(r.ctx, r.q, r.start(), r.q.Rows(), r.p, r.err)
}
