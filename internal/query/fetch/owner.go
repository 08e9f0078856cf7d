package fetch

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// identify creates the claims of the caller, which are parameters, if access rules are on.
func (x *run) identify() error {
	r := &x.req.Rights
	if r.Rules == nil {
		return nil
	}
	var contacts []graph.Value
	c := &r.Rules.Contacts
	cat := x.runner.Catalog()
	if _, ok := cat.Label(c.Label); ok && !r.Caller.ID.IsNull() {
		q := x.cache.contactsPlan(c.Label, bind.New(x.req, cat).Key(c.Label), c.Property)
		params := map[string]graph.Value{"rows": graph.ListValue([]graph.Value{r.Caller.ID})}
		err := x.runner.Run(x.ctx, q, params, func(batch *graph.Batch) error {
			for i := range batch.N {
				if v := batch.Cols[0].Value(i); v.Kind() == graph.List {
					contacts = v.Clone().List()
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	x.params[string(syntax.RoleOwner)], x.params[string(syntax.RoleContact)] = r.Caller.ID, graph.ListValue(contacts)
	x.params[string(syntax.RoleCircle)] = graph.ListValue(append(slices.Clone(contacts), r.Caller.ID))
	return nil
}

// contactsPlan returns a property of the vertices whose key is in rows.
func (c *Cache) contactsPlan(label, key, prop string) *plan.Query {
	return c.write("contacts "+label+" "+key+" "+prop, func() *plan.Query {
		p := newRowPlan()
		v := p.vertex("v", label, key, &plan.ColRef{Col: p.row})
		list := p.q.NewCol("list", graph.Null)
		p.q.Root = &plan.Project{Input: p.n, Items: []plan.Item{{Col: list, Expr: &plan.Prop{X: &plan.ColRef{Col: v}, Key: prop}}}}
		p.q.Out, p.q.Names = []plan.Col{list}, []string{"list"}
		return p.q
	})
}

// own checks the properties that a request writes to an object. It refuses properties that the role may not write and owners other
// than the caller, who becomes the owner of a new vertex without one.
func (x *run) own(o *syntax.Node, right *syntax.Right, props []graph.MapEntry) ([]graph.MapEntry, error) {
	where := right.Written
	has := false
	for _, p := range props {
		if right.Unwritable[p.Key] {
			return nil, syntax.Fail(syntax.CodeNoRight, o, "the role %s has no right to write %q", right.Role, p.Key)
		}
		if where == nil || p.Key != where.Prop {
			continue
		}
		has = true
		if !where.Holds(func(string) graph.Value { return p.Value }, x.params) {
			return nil, syntax.Fail(syntax.CodeNoRight, o, "%s must be the caller", p.Key)
		}
	}
	if where != nil && !has && x.req.Method == "post" {
		props = append(props, graph.MapEntry{Key: where.Prop, Value: x.req.Rights.Caller.ID})
	}
	return props, nil
}

// roleOf is the @role of an object that is written, or nil.
func roleOf(o *syntax.Node) *syntax.Node {
	if m := o.Get("@role"); m != nil && m.Kind == syntax.JSONString {
		return m
	}
	return nil
}
