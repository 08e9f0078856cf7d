package query

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/charge"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/procedure"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/version"
)

// Neo4jVersion is the version that the server reports to clients of Neo4j by default.
const Neo4jVersion = "5.26.0"

// host implements procedure.Host for an engine.
type host struct{ e *Engine }

func (h host) Store() shard.Store { return h.e.store }

func (h host) Server() procedure.Server {
	return procedure.Server{Version: version.Number, Neo4j: h.e.opt.Neo4jVersion, Bolt: h.e.sessions.Bolt()}
}

// Operations implements procedure.Host.
func (h host) Operations() procedure.Operations { return h.e.Operations }

func (h host) Quotas() *charge.Gate { return h.e.Quotas }

func (h host) Authenticates() bool { return h.e.opt.Authenticates }

// Graph implements procedure.Host.
func (h host) Graph(ctx context.Context) string {
	if q := transactionOf(ctx); q != nil {
		return q.on()
	}
	return DefaultGraph
}

// Define implements procedure.Host.
func (h host) Define(ctx context.Context, g shard.Graph, c definition.Change) error {
	q := transactionOf(ctx)
	if q == nil || q.tx != nil || q.idle || q.readOnly || q.action != "" && q.action != "rules" {
		return graph.RequestError(graph.KindInvalid, "NotAlone", "definitions change in a statement that changes nothing else, outside transactions, in a request that may write")
	}
	q.action = "rules"
	if err := access.Check(ctx, q.on(), access.Admin); err != nil {
		return err
	}
	return g.Define(ctx, c)
}

// Transactions implements procedure.Host.
func (h host) Transactions(ctx context.Context) []procedure.Transaction {
	var ts []procedure.Transaction
	for _, q := range h.e.Running(ctx) {
		t := procedure.Transaction{
			ID: transactionID(q), Graph: q.on(), Statement: q.Statement, Start: q.Start, StatementStart: q.Start, Caller: q.Caller.Name,
			Connection: q.Session().ID, Address: q.Session().Address, Agent: q.Session().Agent, Proto: q.Session().Protocol, Metadata: q.Metadata(),
		}
		_, t.Bytes = q.Held()
		ts = append(ts, t)
	}
	return ts
}

// transactionID is the id of a running statement in SHOW TRANSACTIONS.
func transactionID(q *Running) string {
	return q.Graph + "-transaction-" + strconv.FormatUint(q.ID, 10)
}

// Terminate implements procedure.Host.
func (h host) Terminate(ctx context.Context, id string) (caller string, ok bool) {
	for _, q := range h.e.Running(ctx) {
		if transactionID(q) == id && h.e.Kill(ctx, q.ID) {
			return q.Caller.Name, true
		}
	}
	return "", false
}

// Metadata implements procedure.Host.
func (h host) Metadata(ctx context.Context) graph.Value {
	if q := transactionOf(ctx); q != nil {
		return q.Metadata()
	}
	return graph.Value{}
}

// SetMetadata implements procedure.Host.
func (h host) SetMetadata(ctx context.Context, m graph.Value) {
	if q := transactionOf(ctx); q != nil {
		q.setMetadata(m)
	}
}

// Connections implements procedure.Host.
func (h host) Connections(ctx context.Context) []procedure.Connection {
	all := h.e.sessions.List()
	id := access.Caller(ctx)
	return slices.DeleteFunc(all, func(c procedure.Connection) bool {
		return id != nil && id.Subject() != c.Owner && id.Every < access.Admin
	})
}

// TestProcedure is a procedure that returns the rows of a table.
type TestProcedure = procedure.Table

// SetTestProcedures replaces all test procedures.
func (e *Engine) SetTestProcedures(ts []TestProcedure) error { return e.procs.SetTables(ts) }

// maxNested is how deep statements of procedures may be nested.
const maxNested = 16

// statement returns the function that runs statements for procedures, and for procedures in these: in a transaction, with plans
// that only use indexes of the transaction's snapshot. Commands are checked and added to those that run at the commit; a nil schema refuses
// them.
func (e *Engine) statement(
	q *Running, g shard.Graph, schema *schemaChange, res *Result, prepare func(ctx context.Context, text string, params map[string]graph.Value) (*prepared, error),
) func(ctx context.Context, tx shard.Tx, in *exec.Inner) (exec.Counters, error) {
	depth := 0
	var run func(ctx context.Context, tx shard.Tx, in *exec.Inner) (exec.Counters, error)
	run = func(ctx context.Context, tx shard.Tx, in *exec.Inner) (exec.Counters, error) {
		p, err := prepare(ctx, in.Text, in.Params)
		if err != nil {
			return exec.Counters{}, err
		}
		if err := e.mayNest(q, schema, p, in); err != nil {
			return exec.Counters{}, err
		}
		if p.command != nil {
			q.action = "schema"
			return exec.Counters{}, schema.add(e, g, p, in.Params, res)
		}
		if depth++; depth > maxNested {
			return exec.Counters{}, graph.BudgetError("statements of procedures are nested more than %d deep", maxNested)
		}
		defer func() { depth-- }()
		params := p.bind(in.Params)
		if err := q.price(ctx, p.exec, g, tx, params); err != nil {
			return exec.Counters{}, err
		}
		env := e.env(q, params, false)
		if p.calls {
			env.Statement = run
		}
		rows, err := p.exec.Run(ctx, g, tx, env)
		if err != nil {
			return exec.Counters{}, err
		}
		defer rows.Close()
		columns := p.exec.Columns()
		for {
			b, err := rows.Next(ctx)
			if b == nil || err != nil {
				return rows.Counters(), err
			}
			for i := range b.N {
				row := make([]graph.Value, len(b.Cols))
				for k := range b.Cols {
					row[k] = entity(b.Cols[k].Value(i))
				}
				if err := in.Row(columns, row); err != nil {
					return rows.Counters(), err
				}
			}
		}
	}
	return run
}

// mayNest returns why a statement may not run as part of another one.
func (e *Engine) mayNest(q *Running, schema *schemaChange, p *prepared, in *exec.Inner) error {
	notThere := func(what string) error {
		return graph.RuntimeError("ProcedureError", "ProcedureCallFailed", "%s cannot run within another statement: %s", what, in.Text)
	}
	switch {
	case p.prefix != "":
		return notThere(p.prefix)
	case p.command != nil && (!in.Commands || schema == nil):
		return notThere("a command")
	case p.command != nil:
		return nil
	case p.graph() != "" && e.graphName(p.graph()) != q.on():
		return notThere("a statement on another graph")
	case p.own:
		return notThere("CALL { … } IN TRANSACTIONS")
	case p.writes() && !in.Writes:
		return graph.WriteInReadMode()
	}
	return cmp.Or(asof.Refuse(p.query()), p.checkParams(in.Params))
}

// entity returns a value without the records that were read with it, so that it is valid in a later transaction.
func entity(v graph.Value) graph.Value {
	switch v.Kind() {
	case graph.VertexKind:
		return graph.VertexValue(v.Vertex())
	case graph.EdgeKind:
		return graph.EdgeRefValue(&graph.EdgeValue{Edge: v.Edge().Edge})
	}
	return v.Clone()
}

// SetBoltAddress sets the address that clients are referred to: host:port.
func (e *Engine) SetBoltAddress(address string) { e.sessions.SetBolt(address) }

// Connect lists a session as a connection of a caller until the returned function is called.
func (e *Engine) Connect(s *Session, caller access.Subject) (disconnect func()) {
	return e.sessions.Add(procedure.Connection{
		ID: s.ID, Protocol: s.Protocol, Owner: caller, Caller: caller.Name, Agent: s.Agent, Server: s.Server, Client: s.Address, Since: time.Now(),
	})
}
