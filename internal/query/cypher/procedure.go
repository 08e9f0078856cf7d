package cypher

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// callProcedure binds [OPTIONAL] CALL name(…) YIELD … and returns the columns that it yields.
func (b *binder) callProcedure(f *flow, c *ast.CallProcedure) []*binding {
	sig, ok := b.opts.procedure(c.Name)
	if !ok {
		b.fail(procedureNotFound(c))
		return nil
	}
	if c.Optional {
		return b.optionalProcedure(f, c, &sig)
	}
	if sig.SetsVector {
		b.setVector(f, c, &sig)
		return nil
	}
	if sig.Own {
		b.ownProcedure(c)
	}
	writes := sig.Writes || sig.WriteKey != "" && slices.ContainsFunc(c.Args, func(a ast.Expr) bool { return hasEntry(a, sig.WriteKey) })
	n := &plan.CallProc{Proc: sig.Name, Args: b.arguments(c, &sig), Void: len(sig.Results) == 0, Writes: writes, Own: sig.Own}
	yields := b.yields(n, c, &sig)
	b.scope = b.scope.with(yields...)
	var preds []plan.Expr
	if c.Yield != nil && c.Yield.Where != nil {
		preds = conjuncts(b.expr(c.Yield.Where))
	}
	b.q.Calls = b.q.Calls || sig.Calls
	if !sig.Outside {
		b.fx.readGraph()
	}
	if writes {
		b.fx.writeGraph()
	}
	b.admit(f)
	n.Input = f.node
	f.node, f.one = n, f.one && n.Void
	f.filter(preds)
	return yields
}

// setVector binds a call that sets a property to a vector.
func (b *binder) setVector(f *flow, c *ast.CallProcedure, sig *Signature) {
	args := b.arguments(c, sig)
	if b.err != nil {
		return
	}
	value := &plan.Call{Func: "cypher.vectorproperty", Args: append([]plan.Expr{&plan.Const{Value: graph.StringValue(sig.Name)}}, args...), Pos: c.Pos}
	set := plan.SetItem{Op: plan.SetProperty, X: args[0], Value: value}
	if k, ok := args[1].(*plan.Const); ok && k.Value.Kind() == graph.String {
		set.Key = k.Value.Str()
		b.fx.setKeys.add(set.Key)
	} else {
		set.KeyOf, b.fx.setKeys.all = args[1], true
	}
	b.admit(f)
	f.node = &plan.Set{Input: f.node, Items: []plan.SetItem{set}}
}

// hasEntry reports whether an argument is a map that is written with a key.
func hasEntry(arg ast.Expr, key string) bool {
	m, ok := arg.(*ast.MapLit)
	return ok && slices.ContainsFunc(m.Entries, func(e *ast.MapEntry) bool { return e.Key == key })
}

// optionalProcedure binds a call that returns a row of nulls if the procedure returns no row.
func (b *binder) optionalProcedure(f *flow, c *ast.CallProcedure, sig *Signature) []*binding {
	inner := *c
	inner.Optional = false
	outer := b.scope
	b.open(outer, true)
	sub := &flow{node: b.start(), one: true}
	yields := b.callProcedure(sub, &inner)
	b.close()
	b.admit(f)
	apply := &plan.Apply{Input: f.node, Sub: sub.node, Kind: plan.Optional}
	for _, y := range yields {
		apply.Cols = append(apply.Cols, y.col)
	}
	f.node, f.one = apply, f.one && len(sig.Results) == 0
	return yields
}

// arguments binds the arguments; those of a call without parentheses are parameters of the statement.
func (b *binder) arguments(c *ast.CallProcedure, sig *Signature) []plan.Expr {
	var args []plan.Expr
	if c.Implicit {
		for _, p := range sig.Params {
			args = append(args, &plan.Param{Name: p.Name})
		}
	} else {
		args = b.exprs(c.Args)
		for _, p := range sig.Params[min(len(args), len(sig.Params)):] {
			if p.Default != nil {
				args = append(args, &plan.Const{Value: *p.Default})
			}
		}
	}
	for i, a := range args {
		if k, ok := a.(*plan.Const); ok && i < len(sig.Params) && k.Value.Kind() == graph.Int &&
			strings.HasPrefix(sig.Params[i].Type, "FLOAT") {
			args[i] = &plan.Const{Value: graph.FloatValue(float64(k.Value.Int()))}
		}
	}
	return args
}

// yields declares the columns of a call: those of YIELD, or all if the statement is only the call.
func (b *binder) yields(n *plan.CallProc, c *ast.CallProcedure, sig *Signature) []*binding {
	var out []*binding
	add := func(field, name string, at ast.Node) {
		i := slices.IndexFunc(sig.Results, func(f Field) bool { return f.Name == field })
		if i < 0 {
			b.fail(graph.SyntaxError("UndefinedVariable", at.Position(), "procedure %s has no result %s", sig.Name, field))
			return
		}
		col := b.newCol(name, resultKinds[strings.TrimSuffix(strings.TrimSuffix(sig.Results[i].Type, "?"), " NOT NULL")])
		n.Yield = append(n.Yield, plan.Yield{Name: field, Col: col})
		out = append(out, &binding{name: name, col: col})
	}
	switch {
	case c.Yield != nil && !c.Yield.Star:
		for _, i := range c.Yield.Items {
			add(i.Field, i.Name(), i)
		}
	case c.Yield != nil || c.Standalone:
		for _, r := range sig.Results {
			add(r.Name, r.Name, c)
		}
	}
	return out
}

var resultKinds = map[string]graph.ValueKind{
	"NODE": graph.VertexKind, "RELATIONSHIP": graph.EdgeKind, "PATH": graph.PathKind,
}

func procedureNotFound(c *ast.CallProcedure) error {
	return graph.ProcedureNotFound(c.Pos, "there is no procedure %s", c.Name)
}
