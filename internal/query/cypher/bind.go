package cypher

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// binder binds the clauses of one statement to a plan.
type binder struct {
	expressions
	matches []*plan.Match
	// wrote says that a clause of the statement itself writes, committed that one commits during the statement, and alone that
	// the statement has one part.
	wrote, committed, alone bool
}

// bind turns a checked query, or a SHOW, into a plan. The other commands have none: see Compile.
func bind(stmt *ast.Statement, opts Options) (*plan.Query, error) {
	b := newBinder(opts)
	b.q.Prefix, b.q.Graph, b.q.Snapshot = prefixes[stmt.Mode], stmt.Graph, stmt.Snapshot
	switch x := stmt.AsOf.(type) {
	case nil:
	case *ast.Call:
		b.q.AsOf = b.expr(x.Args[0])
	default:
		b.q.AsOf = b.expr(x)
	}
	var r result
	switch body := stmt.Body.(type) {
	case *ast.Query:
		r = b.query(body, nil)
	case *ast.Show:
		if stmt.AsOf != nil {
			return nil, noAsOf(stmt)
		}
		r = b.show(body)
	default:
		return nil, graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "a command has no plan")
	}
	b.q.Root, b.q.Out, b.q.Names = r.node, r.cols, r.names
	if !r.returns {
		b.q.Root = &plan.Drain{Input: r.node}
	}
	b.q.Writes = b.fx.writes()
	for _, c := range b.q.Out {
		b.refs[c]++
	}
	b.prune()
	if b.err != nil {
		return nil, b.err
	}
	b.notify(stmt)
	return b.q, nil
}

// noAsOf is the error of a statement that has AS OF and is no query.
func noAsOf(stmt *ast.Statement) error {
	return graph.SyntaxError("UnexpectedSyntax", stmt.AsOf.Position(), "AS OF stands before a query that reads, and before no command")
}

func newBinder(opts Options) *binder {
	b := &binder{}
	b.variables = variables{opts: opts, q: &plan.Query{}, refs: map[plan.Col]int{}, scalar: map[plan.Col]bool{}, mentioned: map[plan.Mention]bool{}}
	b.queries, b.fx = b, &effects{}
	return b
}

var prefixes = map[ast.Mode]string{ast.ModeRun: "", ast.ModeExplain: "EXPLAIN", ast.ModeProfile: "PROFILE"}

// fail records an error, unless there is one.
func (b *variables) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// unsupported is the error for a part of the language that is not implemented.
func (b *variables) unsupported(at ast.Node, what string) {
	b.fail(graph.SyntaxError("UnexpectedSyntax", at.Position(), "%s not supported", what))
}

func (b *variables) newCol(name string, kind graph.ValueKind) plan.Col { return b.q.NewCol(name, kind) }

func (b *variables) kind(c plan.Col) graph.ValueKind { return b.q.Cols[c].Kind }

// prune drops the paths that are never read and marks the edges that are.
func (b *binder) prune() {
	for _, m := range b.matches {
		p := &m.Pattern
		kept := p.Paths[:0]
		for _, path := range p.Paths {
			if b.refs[path.Col] == 0 {
				continue
			}
			kept = append(kept, path)
			for _, c := range path.Cols {
				b.refs[c]++
			}
		}
		p.Paths = kept
		for i := range p.Edges {
			p.Edges[i].Named = b.refs[p.Edges[i].Col] > 0
		}
	}
}

// result is a bound query: its rows, and their columns if it returns any.
type result struct {
	node    plan.Node
	returns bool
	cols    []plan.Col
	names   []string
	one     bool    // at most one row
	done    effects // see flow
}

// query binds a query, whose parts begin with the scope init; nil for a whole statement.
func (b *binder) query(q *ast.Query, init func(*ast.SingleQuery) scope) result {
	if len(b.frames) == 0 {
		b.alone = len(q.Parts) == 1 && q.Next == nil
	}
	if init == nil {
		init = func(*ast.SingleQuery) scope { return scope{} }
	}
	return b.segments(q, init, nil)
}

// segments binds a query and those behind its NEXTs. in are the input rows; nil: the single initial row.
func (b *binder) segments(q *ast.Query, init func(*ast.SingleQuery) scope, in *flow) result {
	r := b.parts(q, init, in)
	for q = q.Next; q != nil; q = q.Next {
		f := &flow{node: r.node, one: r.one, done: r.done}
		b.scope = scope{}
		for i, name := range r.names {
			b.declare(name, r.cols[i])
		}
		if !r.returns {
			f.node, f.one = &plan.Aggregate{Input: r.node}, true
		}
		keepOuter(b, f, []*ast.Query{q})
		rows := b.scope
		r = b.parts(q, func(*ast.SingleQuery) scope { return rows }, f)
	}
	return r
}

// parts binds the parts of a UNION.
func (b *binder) parts(q *ast.Query, init func(*ast.SingleQuery) scope, in *flow) result {
	if len(q.Parts) == 1 {
		b.scope = init(q.Parts[0])
		return b.single(q.Parts[0], in)
	}
	if in != nil {
		b.scope = init(q.Parts[0])
		return b.shared(in, q)
	}
	parts := make([]result, 0, len(q.Parts))
	for _, p := range q.Parts {
		b.scope = init(p)
		parts = append(parts, b.single(p, nil))
	}
	return b.union(q, parts)
}

func (b *binder) union(q *ast.Query, parts []result) result {
	first := parts[0]
	out := result{returns: first.returns, names: first.names}
	u := &plan.Union{All: q.All}
	for i, name := range first.names {
		kind := b.kind(first.cols[i])
		for _, p := range parts {
			if c := p.col(name); c == 0 || b.kind(c) != kind {
				kind = graph.Null
			}
		}
		u.Out = append(u.Out, b.newCol(name, kind))
	}
	for i, p := range parts {
		cols := make([]plan.Col, 0, len(u.Out))
		for _, name := range first.names {
			c := p.col(name)
			if c == 0 {
				b.fail(graph.SyntaxError("DifferentColumnsInUnion", q.Parts[i].Pos,
					"all parts of a UNION must have the same columns"))
				continue
			}
			b.use(c)
			cols = append(cols, c)
		}
		u.Inputs, u.Cols = append(u.Inputs, p.node), append(u.Cols, cols)
		out.done.add(&p.done)
	}
	out.node, out.cols = u, u.Out
	return out
}

func (r *result) col(name string) plan.Col {
	for i, n := range r.names {
		if n == name {
			return r.cols[i]
		}
	}
	return 0
}

// single binds a chain of clauses over the rows in; nil: the single initial row.
func (b *binder) single(q *ast.SingleQuery, in *flow) result {
	switch c := q.Clauses[0].(type) {
	case *ast.Braces:
		outer := b.scope
		return b.segments(c.Query, func(*ast.SingleQuery) scope { return outer }, in)
	case *ast.Conditional:
		return b.conditional(c, in)
	}
	f := in
	if f == nil {
		f = &flow{node: b.start(), one: true}
	}
	var out result
	for i, c := range q.Clauses {
		rest := q.Clauses[i+1:]
		switch c := c.(type) {
		case *ast.Return:
			out = b.returns(f, c)
		case *ast.Finish:
			out = result{}
		case *ast.CallProcedure:
			yields := b.procedure(f, c)
			if c.Standalone && len(yields) > 0 {
				out = result{returns: true}
				for _, y := range yields {
					out.cols, out.names = append(out.cols, y.col), append(out.names, y.name)
				}
			}
		default:
			b.clause(f, c, rest)
		}
	}
	out.node, out.one, out.done = f.node, f.one, f.done
	return out
}

// clause binds one clause with its effects.
func (b *binder) clause(f *flow, c ast.Clause, rest []ast.Clause) {
	b.opts.Steps.Add(1)
	b.effects(func() {
		switch c := c.(type) {
		case *ast.Match:
			b.match(f, c)
		case *ast.Unwind:
			b.unwind(f, c)
		case *ast.With:
			b.with(f, c, rest)
		case *ast.Create:
			b.create(f, c.Pattern)
		case *ast.Merge:
			b.merge(f, c)
		case *ast.Set:
			b.set(f, c)
		case *ast.Remove:
			b.remove(f, c)
		case *ast.Delete:
			b.delete(f, c)
		case *ast.Foreach:
			b.foreach(f, c)
		case *ast.CallSubquery:
			b.callSubquery(f, c)
		case *ast.LoadCSV:
			b.loadCSV(f, c)
		default:
			b.unsupported(c, "this clause is")
		}
		b.writing(c)
	})
}

// procedure binds a call with its effects and returns the columns that it yields.
func (b *binder) procedure(f *flow, c *ast.CallProcedure) (yields []*binding) {
	b.effects(func() { yields = b.callProcedure(f, c) })
	return yields
}

func (b *binder) unwind(f *flow, c *ast.Unwind) {
	list := b.expr(c.List)
	b.admit(f)
	out := b.newCol(c.Variable.Name, b.elementKind(list))
	b.scalar[out] = !b.mayHoldEntity(list)
	f.node, f.one = &plan.Unwind{Input: f.node, Out: out, List: list}, false
	b.declare(c.Variable.Name, out)
}

func (b *binder) loadCSV(f *flow, c *ast.LoadCSV) {
	n := &plan.LoadCSV{URL: b.expr(c.URL), Headers: c.Headers, Delimiter: ","}
	if c.Terminator != nil {
		n.Delimiter = c.Terminator.Value
	}
	b.admit(f)
	n.Out = b.newCol(c.Variable.Name, graph.Null)
	n.Line, n.File = b.newCol(lineNumber[1:], graph.Null), b.newCol(fileName[1:], graph.Null)
	for _, c := range []plan.Col{n.Out, n.Line, n.File} {
		b.scalar[c] = true
	}
	n.Input = f.node
	f.node, f.one = n, false
	b.declare(c.Variable.Name, n.Out)
	b.declare(lineNumber, n.Line)
	b.declare(fileName, n.File)
}

// The hidden variables that LOAD CSV declares for the functions of these names.
const (
	lineNumber = "\x00linenumber"
	fileName   = "\x00file"
)

// ofFile binds linenumber() and file(): null without a LOAD CSV in scope.
func (b *expressions) ofFile(name string) plan.Expr {
	if bd := b.scope.find("\x00" + name); bd != nil {
		return b.ref(bd.col)
	}
	return &plan.Const{}
}

// declare adds a variable to the scope.
func (b *variables) declare(name string, c plan.Col) {
	b.opts.Steps.Add(1)
	b.scope = b.scope.with(&binding{name: name, col: c})
}

// variable binds a variable used as an expression.
func (b *expressions) variable(v *ast.Variable) plan.Expr {
	bd := b.scope.find(v.Name)
	if f, named := ast.NamedFloat(v.Name); named && bd == nil {
		return &plan.Const{Value: graph.FloatValue(f)}
	}
	return b.bound(bd, v)
}

// bound binds a variable that bd defines; nil: nothing does.
func (b *variables) bound(bd *binding, v *ast.Variable) plan.Expr {
	if bd != nil && bd.alias != nil {
		return bd.alias()
	}
	return &plan.ColRef{Col: b.column(bd, v)}
}

// resolve finds a variable's column.
func (b *variables) resolve(v *ast.Variable) plan.Col { return b.column(b.scope.find(v.Name), v) }

// column returns the column of a variable that bd defines; nil: nothing does.
func (b *variables) column(bd *binding, v *ast.Variable) plan.Col {
	switch {
	case bd == nil:
		b.fail(graph.SyntaxError("UndefinedVariable", v.Pos, "variable %s is not defined", ast.QuoteVariable(v.Name)))
		return b.newCol(v.Name, graph.Null)
	case bd.alias != nil:
		b.fail(graph.SyntaxError("VariableTypeConflict", v.Pos, "%s is a list", ast.QuoteVariable(v.Name)))
		return b.newCol(v.Name, graph.Null)
	case bd.col == 0:
		b.fail(graph.SyntaxError("UnexpectedSyntax", v.Pos, "%s", strings.ReplaceAll(bd.why, "$", v.Name)))
		return b.newCol(v.Name, graph.Null)
	}
	b.use(bd.col)
	return bd.col
}
