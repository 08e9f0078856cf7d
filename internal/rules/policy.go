package rules

import (
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Public is the role that every caller has.
const Public = "PUBLIC"

// Policy is what a caller may see and change of a graph. It does not change.
type Policy struct {
	rules []resolved
	check bool
}

// resolved is a rule with the caller's claims in place of their names.
type resolved struct {
	*Rule
	where *test // its columns are numbers of properties in props; nil: always
	props []string
}

// New returns the policy of a caller who has roles and claims, or nil if no rule restricts the caller: all is permitted that base permits.
// base are the actions that the caller's built-in role grants on all elements, such as Match for a reader; a caller without one has none.
func New(all []Rule, roles []string, base []Action, claims map[string]graph.Value) *Policy {
	if len(base) > 0 && !slices.ContainsFunc(all, func(r Rule) bool { return r.Effect == Deny && of(&r, roles) }) {
		return nil
	}
	return newPolicy(all, roles, base, claims)
}

// of reports whether a rule is about one of some roles.
func of(r *Rule, roles []string) bool { return r.Role == Public || slices.Contains(roles, r.Role) }

func newPolicy(all []Rule, roles []string, base []Action, claims map[string]graph.Value) *Policy {
	p := &Policy{}
	for _, action := range base {
		for _, edges := range []bool{false, true} {
			p.rules = append(p.rules, resolved{Rule: &Rule{Effect: Grant, Action: action, Edges: edges}})
		}
	}
	for i := range all {
		if !of(&all[i], roles) {
			continue
		}
		if r, ok := resolve(&all[i], claims); ok {
			p.rules = append(p.rules, r)
			p.check = p.check || r.Check
		}
	}
	return p
}

// resolve puts a caller's claims into a rule; ok is false for a granting rule whose claim the caller lacks.
func resolve(r *Rule, claims map[string]graph.Value) (out resolved, ok bool) {
	out = resolved{Rule: r, props: r.Where.Props(nil)}
	for _, c := range r.Where.Claims(nil) {
		if _, has := claims[c]; !has {
			out.props = nil
			return out, r.Effect == Deny
		}
	}
	if r.Where != nil {
		out.where = testOf(r.Where, out.props, claims)
	}
	return out, true
}

func testOf(c *Condition, props []string, claims map[string]graph.Value) *test {
	t := &test{op: c.Op, col: slices.Index(props, c.Prop)}
	for _, of := range c.Of {
		t.of = append(t.of, *testOf(of, props, claims))
	}
	switch {
	case c.With == nil:
	case c.With.Claim != "":
		t.with = claims[c.With.Claim]
	default:
		t.with = c.With.Const.Value
	}
	return t
}

// Checks reports whether a write must leave what it changes visible to its writer.
func (p *Policy) Checks() bool { return p.check }

// about calls f with the rules about elements with some names for an action, on a property if the action has some; "" is one that no
// rule names.
func (p *Policy) about(edges bool, names []string, action Action, prop string, f func(r *resolved)) {
	for i := range p.rules {
		r := &p.rules[i]
		if r.Edges == edges && r.covers(action, prop) && (len(r.Names) == 0 || slices.ContainsFunc(r.Names, func(n string) bool { return slices.Contains(names, n) })) {
			f(r)
		}
	}
}

// covers reports whether a rule decides about an action, on a property if the action has some: a Match of some properties grants
// traversing too, but denies only reading them.
func (r *Rule) covers(action Action, prop string) bool {
	switch {
	case action.OfProperties() && len(r.Props) > 0 && !slices.Contains(r.Props, prop):
		return false
	case r.Action == action:
		return true
	case r.Action == Match && action == Traverse:
		return r.Effect == Grant || len(r.Props) == 0
	case r.Action == Match:
		return action == Read
	case r.Action == Write:
		return !action.Reads()
	}
	return false
}

// Gate says whether an action is permitted on elements with the same labels, or type: Always, never, or as their properties decide.
type Gate struct {
	Always bool
	// grants and denies are tests over the columns of the Bound; the action is permitted if one of grants holds and none of denies. With
	// neither, and without Always, it never is.
	open           bool // a rule grants it unconditionally
	grants, denies []*test
}

// Never reports whether the action is permitted on no element.
func (g *Gate) Never() bool { return !g.Always && !g.open && len(g.grants) == 0 }

// Static reports whether the gate reads no properties: it permits always, or never.
func (g *Gate) Static() bool { return len(g.grants) == 0 && len(g.denies) == 0 }

// Permits reports whether the action is permitted on the element in row i of the columns.
func (g *Gate) Permits(cols [][]graph.Value, i int) bool {
	if g.Always {
		return true
	}
	permits := g.open
	for k := 0; k < len(g.grants) && !permits; k++ {
		permits = g.grants[k].eval(cols, i) == yes
	}
	for k := 0; k < len(g.denies) && permits; k++ {
		permits = g.denies[k].eval(cols, i) != yes
	}
	return permits
}

// Bound is a policy over the numbers of a graph's catalog. It is safe for concurrent use.
type Bound struct {
	p *Policy
	c graph.Catalog
	// VertexProps and EdgeProps are the properties that gates of vertices and of edges read: their columns, in this order.
	VertexProps, EdgeProps []graph.PropID
	// Whole reports whether the catalog has all properties that the policy names, so that it needs no other Bound.
	Whole       bool
	kinds       [2]kind  // vertices, edges
	sets, types sync.Map // *Element by LabelSet, and by TypeID
	covers      sync.Map // *Cover by LabelID
}

// kind is what holds for all vertices, or all edges.
type kind struct {
	all   bool // none is hidden
	reads bool // where an element is visible, so is each of its properties that no rule names
	named []reads
}

// reads reports whether a property may be read of all visible elements.
type reads struct {
	prop graph.PropID
	ok   bool
}

// Bind binds the policy to a catalog. Names that the catalog gets later need another Bound.
func (p *Policy) Bind(c graph.Catalog) *Bound {
	b := &Bound{p: p, c: c, Whole: true}
	for i := range p.rules {
		for _, name := range p.rules[i].props {
			props := &b.VertexProps
			if p.rules[i].Edges {
				props = &b.EdgeProps
			}
			id, ok := c.Prop(name)
			b.Whole = b.Whole && ok
			if ok && !slices.Contains(*props, id) {
				*props = append(*props, id)
			}
		}
	}
	for at, edges := range []bool{false, true} {
		k := &b.kinds[at]
		k.all, k.reads = b.free(edges, Traverse, ""), p.implied(edges, "")
		for _, name := range p.named(edges) {
			id, ok := c.Prop(name)
			b.Whole = b.Whole && ok
			if ok {
				k.named = append(k.named, reads{id, p.implied(edges, name)})
			}
		}
	}
	return b
}

// named returns the properties that rules name after the action.
func (p *Policy) named(edges bool) (names []string) {
	for i := range p.rules {
		if p.rules[i].Edges == edges {
			names = append(names, p.rules[i].Rule.Props...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// implied reports whether a property, or "" for one that no rule names, may be read of every visible vertex, or edge: what grants to see
// the element grants to read it, and what denies to read it denies to see the element.
func (p *Policy) implied(edges bool, prop string) bool {
	granted, open := true, false
	for i := range p.rules {
		r := &p.rules[i]
		if r.Edges != edges {
			continue
		}
		sees, reads := r.covers(Traverse, ""), r.covers(Read, prop)
		switch {
		case r.Effect == Deny && reads && !sees:
			return false
		case r.Effect == Grant:
			granted = granted && (reads || !sees)
			open = open || reads && len(r.Names) == 0 && r.where == nil
		}
	}
	return granted || open
}

func (b *Bound) kind(edges bool) *kind {
	if edges {
		return &b.kinds[1]
	}
	return &b.kinds[0]
}

// All reports whether the policy hides no vertex, or no edge.
func (b *Bound) All(edges bool) bool { return b.kind(edges).all }

// Read reports whether reading a property is permitted on all visible vertices, or edges.
func (b *Bound) Read(edges bool, prop graph.PropID) bool {
	k := b.kind(edges)
	for _, r := range k.named {
		if r.prop == prop {
			return r.ok
		}
	}
	return k.reads
}

// Reads reports whether reading each of some properties is permitted on all visible vertices, or edges.
func (b *Bound) Reads(edges bool, props []graph.PropID) bool {
	for _, p := range props {
		if !b.Read(edges, p) {
			return false
		}
	}
	return true
}

// Element is what a policy says of vertices with one label set, or of edges of one type.
type Element struct {
	Visible Gate
	b       *Bound
	edges   bool
	names   []string
	read    sync.Map // *Gate by PropID
}

// Named returns what the policy says of vertices with only the given labels, or of edges of the given type.
func (b *Bound) Named(edges bool, names ...string) *Element { return b.element(edges, names) }

// Vertices returns what the policy says of vertices with a label set.
func (b *Bound) Vertices(set graph.LabelSet) *Element {
	if e, ok := b.sets.Load(set); ok {
		return e.(*Element)
	}
	var names []string
	for _, l := range b.c.Labels(set) {
		names = append(names, b.c.LabelName(l))
	}
	e := b.element(false, names)
	if len(names) > 0 || set == graph.NoLabels { // the catalog knows the set
		b.sets.Store(set, e)
	}
	return e
}

// Edges returns what the policy says of edges of a type; their ends must be visible too.
func (b *Bound) Edges(t graph.TypeID) *Element {
	if e, ok := b.types.Load(t); ok {
		return e.(*Element)
	}
	name := b.c.TypeName(t)
	e := b.element(true, []string{name})
	if name != "" {
		b.types.Store(t, e)
	}
	return e
}

func (b *Bound) element(edges bool, names []string) *Element {
	e := &Element{b: b, edges: edges, names: names}
	e.Visible = e.Gate(Traverse, "")
	return e
}

// Read returns the gate of reading a property of a visible element.
func (e *Element) Read(p graph.PropID) *Gate {
	if g, ok := e.read.Load(p); ok {
		return g.(*Gate)
	}
	gate := e.Gate(Read, e.b.c.PropName(p))
	g, _ := e.read.LoadOrStore(p, &gate)
	return g.(*Gate)
}

// Gate returns the gate of an action, on a property if the action has some.
func (e *Element) Gate(action Action, prop string) (g Gate) {
	denied := false
	e.b.p.about(e.edges, e.names, action, prop, func(r *resolved) {
		switch {
		case r.Effect == Deny && r.where == nil:
			denied = true
		case r.Effect == Deny:
			g.denies = append(g.denies, e.b.columns(r))
		case r.where == nil:
			g.open = true
		default:
			g.grants = append(g.grants, e.b.columns(r))
		}
	})
	if denied {
		return Gate{}
	}
	g.Always = g.open && len(g.denies) == 0
	return g
}

// columns returns a rule's test over the columns of the Bound.
func (b *Bound) columns(r *resolved) *test {
	props := b.VertexProps
	if r.Edges {
		props = b.EdgeProps
	}
	var to func(t *test) *test
	to = func(t *test) *test {
		out := *t
		out.of = nil
		for i := range t.of {
			out.of = append(out.of, *to(&t.of[i]))
		}
		if t.col >= 0 {
			out.col = noColumn
			if id, ok := b.c.Prop(r.props[t.col]); ok {
				out.col = slices.Index(props, id)
			}
		}
		return &out
	}
	return to(r.where)
}

// free reports whether an action is permitted on all vertices, or edges, whatever their names and properties.
func (b *Bound) free(edges bool, action Action, prop string) bool {
	granted := false
	for i := range b.p.rules {
		r := &b.p.rules[i]
		if r.Edges != edges || !r.covers(action, prop) {
			continue
		}
		if r.Effect == Deny {
			return false
		}
		granted = granted || len(r.Names) == 0 && r.where == nil
	}
	return granted
}

// Everything is the policy of a caller whom nothing restricts any more.
func Everything() *Policy { return newPolicy(nil, nil, []Action{Match, Write}, nil) }

// Names tells which names of a graph's catalog callers with some roles may know, whatever their claims and the contents of the graph.
type Names struct{ p *Policy }

// NamesOf returns the names for callers who have roles, and a built-in role with the actions base.
func NamesOf(all []Rule, roles []string, base []Action) Names {
	p := newPolicy(nil, nil, base, nil)
	for i := range all {
		r := &all[i]
		if of(r, roles) && (r.Effect == Grant || r.Where == nil) {
			p.rules = append(p.rules, resolved{Rule: r})
		}
	}
	return Names{p}
}

// Has reports whether some vertices with labels, or edges of a type, may be visible.
func (n Names) Has(edges bool, names ...string) bool {
	_, ok := n.Where(edges, names, Traverse, "")
	return ok
}

// Where returns the condition on which an action, on a property if it has some, may be permitted on vertices with labels or edges of a type, or
// nil for none; ok is false where it never is. Denials with conditions are not looked at.
func (n Names) Where(edges bool, names []string, action Action, prop string) (where *Condition, ok bool) {
	var some []*Condition
	open, denied := false, false
	n.p.about(edges, names, action, prop, func(r *resolved) {
		if open, denied = open || r.Effect == Grant && r.Where == nil, denied || r.Effect == Deny; r.Where != nil {
			some = append(some, r.Where)
		}
	})
	switch {
	case open || denied || len(some) == 0:
		return nil, open && !denied
	case len(some) == 1:
		return some[0], true
	}
	return &Condition{Op: Or, Of: some}, true
}

// Denied returns the properties that rules name and on which an action is never permitted.
func (n Names) Denied(edges bool, name string, action Action) map[string]bool {
	out := make(map[string]bool)
	for _, prop := range n.p.named(edges) {
		if _, ok := n.Where(edges, []string{name}, action, prop); !ok {
			out[prop] = true
		}
	}
	return out
}

// HasProp reports whether a property of some elements may be read.
func (n Names) HasProp(prop string) bool {
	return slices.ContainsFunc(n.p.rules, func(r resolved) bool {
		return r.Effect == Grant && r.covers(Read, prop)
	})
}

// Names returns the labels, or the type, of the elements.
func (e *Element) Names() []string { return e.names }
