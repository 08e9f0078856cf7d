package restricted

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// Store is a store whose graphs show a caller what the rules permit.
type Store struct {
	shard.Store
	graphs sync.Map // *Graph by name
}

// NewStore returns the store under the rules of its graphs.
func NewStore(of shard.Store) *Store { return &Store{Store: of} }

// Graph implements shard.Store.
func (s *Store) Graph(name string) (shard.Graph, error) {
	g, err := s.Store.Graph(name)
	if err != nil {
		return nil, err
	}
	return s.guard(name, g), nil
}

// guard returns the Graph over a graph: the same as long as the graph is the same, since plans are kept by it.
func (s *Store) guard(name string, g shard.Graph) *Graph {
	if old, ok := s.graphs.Load(name); ok && old.(*Graph).Graph == g {
		return old.(*Graph)
	}
	guarded := &Graph{Graph: g, name: name}
	s.graphs.Store(name, guarded)
	return guarded
}

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures {
	f := s.Store.Features()
	if f.Cached != nil {
		f.Cached = cached{s, f.Cached}
	}
	return f
}

type cached struct {
	s  *Store
	of shard.CachedStore
}

// Known implements shard.CachedStore.
func (c cached) Known(name string) shard.Graph {
	if g := c.of.Known(name); g != nil {
		return c.s.guard(name, g)
	}
	return nil
}

// Graph is a graph whose transactions follow the policy of the caller in their context.
type Graph struct {
	shard.Graph
	name  string
	views sync.Map // *View by the roles and the number of the built-in role's actions
	ruled atomic.Pointer[ruled]
}

// scope returns what the caller of a context sees, or nil if nothing restricts it: without authentication, or if the server itself asks.
func (g *Graph) scope(ctx context.Context) *scope {
	id := access.Caller(ctx)
	if id == nil || id.In(g.name) == access.Admin {
		return nil
	}
	if s := g.rules().scope(g, id); s.policy != nil {
		return s
	}
	return nil
}

// rules returns what is kept for the graph's present rules.
func (g *Graph) rules() *ruled {
	all := rules.Of(g.Definitions())
	if r := g.ruled.Load(); r.of(all) {
		return r
	}
	r := newRuled(all)
	g.ruled.Store(r)
	return r
}

// For returns the graph as the caller of a context sees it: as it is, or a View.
func For(ctx context.Context, of shard.Graph) shard.Graph {
	g, ok := of.(*Graph)
	if !ok {
		return of
	}
	if s := g.scope(ctx); s != nil {
		return s.view
	}
	return of
}

// Scope returns a text that is the same for callers whom the rules of a graph restrict in the same way; "" for one whom they do not restrict.
func Scope(ctx context.Context, of shard.Graph) string {
	if g, ok := Whole(of).(*Graph); ok {
		if s := g.scope(ctx); s != nil {
			return "restricted " + s.key
		}
	}
	return ""
}

// Whole returns the graph that a view shows a part of, or the graph itself.
func Whole(of shard.Graph) shard.Graph {
	if v, ok := of.(*View); ok {
		return v.Graph
	}
	return of
}

// Roles returns the roles whose rules make a View, or nil for another graph.
func Roles(of shard.Graph) []string {
	if v, ok := of.(*View); ok {
		return append(slices.Clone(v.roles), rules.Public)
	}
	return nil
}

// Begin implements shard.Graph.
func (g *Graph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	return g.restrict(ctx, tx, err)
}

// BeginStale implements shard.Graph.
func (g *Graph) BeginStale(ctx context.Context, within time.Duration) (shard.Tx, error) {
	tx, err := g.Graph.BeginStale(ctx, within)
	return g.restrict(ctx, tx, err)
}

// restrict puts a transaction under the caller's policy. The rules are read after it has begun, so none that was made before is missed.
func (g *Graph) restrict(ctx context.Context, tx shard.Tx, err error) (shard.Tx, error) {
	if err != nil {
		return nil, err
	}
	s := g.scope(ctx)
	if s == nil {
		return tx, nil
	}
	return s.open(tx, FeaturesOf(g.Graph.Features())), nil
}

// whole returns an error if a policy restricts the caller, who asks for what concerns the whole graph.
func (g *Graph) whole(ctx context.Context, what string) error {
	if g.scope(ctx) == nil {
		return nil
	}
	return graph.Forbidden(graph.PhaseRuntime, "Rules", "%s needs a caller whom no rule of the graph restricts", what)
}

// CreateIndex implements shard.Graph.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	if err := g.whole(ctx, "creating an index or a constraint"); err != nil {
		return err
	}
	return g.Graph.CreateIndex(ctx, ix)
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	if err := g.whole(ctx, "dropping an index or a constraint"); err != nil {
		return err
	}
	return g.Graph.DropIndex(ctx, name)
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	if err := g.whole(ctx, "setting a TTL"); err != nil {
		return err
	}
	return g.Graph.SetTTL(ctx, t)
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	if err := g.whole(ctx, "dropping a TTL"); err != nil {
		return err
	}
	return g.Graph.DropTTL(ctx, label, typ)
}

// Load implements shard.Graph.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	if err := g.whole(ctx, "a load"); err != nil {
		return err
	}
	return g.Graph.Load(ctx, l)
}

// Define implements shard.Graph.
func (g *Graph) Define(ctx context.Context, c definition.Change) error {
	if err := g.whole(ctx, "changing definitions, such as rules"); err != nil {
		return err
	}
	return g.Graph.Define(ctx, c)
}

// View is a graph as callers with the same roles see it. It names only what they may know of, and its transactions need a caller.
type View struct {
	*Graph
	roles []string
	base  []rules.Action
	set   *shard.FeatureSet
	known atomic.Pointer[known]
	plans atomic.Pointer[outline]
}

// outline is what plans for the callers know of the rules, as long as the graph has the same.
type outline struct {
	of    *ruled
	bound *rules.Bound
}

// planned returns what plans for the callers know of the rules.
func (v *View) planned() *rules.Bound {
	r := v.rules()
	if o := v.plans.Load(); o != nil && o.of == r && o.bound.Whole {
		return o.bound
	}
	o := &outline{of: r, bound: rules.Outline(r.rules, v.roles, v.base).Bind(v.Graph.Graph)}
	v.plans.Store(o)
	return o.bound
}

// known is which names callers may know of, as long as the graph has the same rules.
type known struct {
	of    *ruled
	names rules.Names
	has   sync.Map // bool by nameOf, for names of the graph
	sets  sync.Mutex
	next  graph.LabelSet // the first one that learn has not looked at
}

// nameOf is a name of a kind.
type nameOf struct {
	kind nameKind
	name string
}

type nameKind uint8

const (
	aLabel nameKind = iota
	aType
	aProp
)

// Has reports whether the callers may know of a name. Of labels, they know those that rules grant, and all of the vertices that may be visible
// by one of these.
func (k *known) Has(of graph.Catalog, kind nameKind, name string) bool {
	key := nameOf{kind, name}
	if ok, found := k.has.Load(key); found {
		return ok.(bool)
	}
	ok := kind == aProp && k.names.HasProp(name) || kind != aProp && k.names.Has(kind == aType, name)
	if kind == aLabel && !ok { // another vertex may give it to them later
		k.learn(of)
		_, ok = k.has.Load(key)
		return ok
	}
	k.has.Store(key, ok)
	return ok
}

// learn notes the labels of the label sets that are new in the graph.
func (k *known) learn(of graph.Catalog) {
	k.sets.Lock()
	defer k.sets.Unlock()
	for ; ; k.next++ {
		set := of.Labels(k.next)
		if len(set) == 0 {
			return
		}
		names := make([]string, len(set))
		for i, l := range set {
			names[i] = of.LabelName(l)
		}
		if !k.names.Has(false, names...) {
			continue
		}
		for _, name := range names {
			k.has.Store(nameOf{aLabel, name}, true)
		}
	}
}

// view returns the View of callers with some roles, which are sorted, and a built-in role with the actions base.
func (g *Graph) view(roles []string, base []rules.Action) *View {
	key := strings.Join(append(slices.Clone(roles), strconv.Itoa(len(base))), "\x00")
	if v, ok := g.views.Load(key); ok {
		return v.(*View)
	}
	v, _ := g.views.LoadOrStore(key, &View{Graph: g, roles: roles, base: base, set: FeaturesOf(g.Graph.Features())})
	return v.(*View)
}

// names returns which names the callers may know of.
func (v *View) names() *known {
	r := v.rules()
	if k := v.known.Load(); k != nil && k.of == r {
		return k
	}
	k := &known{of: r, next: graph.NoLabels + 1, names: rules.NamesOf(r.rules, v.roles, v.base)}
	v.known.Store(k)
	return k
}

// Label implements graph.Catalog.
func (v *View) Label(name string) (graph.LabelID, bool) {
	id, ok := v.Graph.Label(name)
	return id, ok && v.names().Has(v.Graph, aLabel, name)
}

// Type implements graph.Catalog.
func (v *View) Type(name string) (graph.TypeID, bool) {
	id, ok := v.Graph.Type(name)
	return id, ok && v.names().Has(v.Graph, aType, name)
}

// Prop implements graph.Catalog.
func (v *View) Prop(name string) (graph.PropID, bool) {
	id, ok := v.Graph.Prop(name)
	return id, ok && v.names().Has(v.Graph, aProp, name)
}

// filter returns the names of a kind that the callers may know of.
func (v *View) filter(kind nameKind, all []string) (out []string) {
	k := v.names()
	for _, name := range all {
		if k.Has(v.Graph, kind, name) {
			out = append(out, name)
		}
	}
	return out
}

// AllLabels implements graph.Catalog.
func (v *View) AllLabels() []string { return v.filter(aLabel, v.Graph.AllLabels()) }

// AllTypes implements graph.Catalog.
func (v *View) AllTypes() []string { return v.filter(aType, v.Graph.AllTypes()) }

// AllProps implements graph.Catalog.
func (v *View) AllProps() []string { return v.filter(aProp, v.Graph.AllProps()) }

// Indexes implements graph.Catalog: those over what the callers may know of.
func (v *View) Indexes() (out []graph.Index) {
	for _, ix := range v.Graph.Indexes() {
		kind := aLabel
		if ix.Type != "" {
			kind = aType
		}
		if len(v.filter(kind, ix.Names())) == len(ix.Names()) && len(v.filter(aProp, ix.Props)) == len(ix.Props) {
			out = append(out, ix)
		}
	}
	return out
}

// TTLs implements shard.Graph.
func (v *View) TTLs() (out []graph.TTL) {
	k := v.names()
	for _, t := range v.Graph.TTLs() {
		if t.Label != "" && k.Has(v.Graph, aLabel, t.Label) || t.Type != "" && k.Has(v.Graph, aType, t.Type) {
			out = append(out, t)
		}
	}
	return out
}

// ChangeLog implements shard.Graph: the log has what the rules hide.
func (*View) ChangeLog() shard.ChangeLog { return nil }

// Features implements shard.Graph.
func (v *View) Features() *shard.FeatureSet { return v.set }

// Begin implements shard.Graph.
func (v *View) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := v.Graph.Graph.Begin(ctx, mode)
	return v.restrict(ctx, tx, err)
}

// BeginStale implements shard.Graph.
func (v *View) BeginStale(ctx context.Context, within time.Duration) (shard.Tx, error) {
	tx, err := v.Graph.Graph.BeginStale(ctx, within)
	return v.restrict(ctx, tx, err)
}

// restrict puts a transaction under the policy of the caller, whose context must name it.
func (v *View) restrict(ctx context.Context, tx shard.Tx, err error) (shard.Tx, error) {
	if err != nil {
		return nil, err
	}
	if access.Caller(ctx) == nil {
		tx.Rollback()
		return nil, graph.InternalError("a transaction under rules without its caller", nil)
	}
	s := v.scope(ctx)
	if s == nil { // the rules that restricted it have been removed
		return New(tx, v.Graph.Graph, rules.Everything(), v.set), nil
	}
	return s.open(tx, v.set), nil
}
