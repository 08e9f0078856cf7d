package cypher

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// flow is the plan of a chain of clauses.
type flow struct {
	node plan.Node
	one  bool // at most one row
	// done are the effects of clauses that may still be running when the first row is returned. A Slice runs an input that
	// writes to the end, but may return its rows before.
	done effects
	// merge is the last node if the next clause may set properties as part of it, and merged its effects.
	merge  *plan.Merge
	merged *effects
}

// finish reports whether the last node consumes all rows before it returns one.
func (f *flow) finish() { f.done = effects{} }

// effects binds a clause or a part of one, returns its effects, and adds them to those of the enclosing clause.
func (b *binder) effects(bind func()) *effects {
	outer, own := b.fx, &effects{}
	b.fx = own
	bind()
	outer.add(own)
	b.fx = outer
	return own
}

// admit is called after all expressions and patterns of a clause are bound and before its nodes are added to f.
func (b *binder) admit(f *flow) {
	if n := len(b.frames); n > 0 {
		b.frames[n-1].clauses = append(b.frames[n-1].clauses, b.fx)
	}
	switch {
	case b.opts.Eager:
		f.node = &plan.Eager{Input: f.node}
		f.finish()
	case f.one:
		// A single row arrives only after everything that it needs, and no row follows.
		f.done = effects{}
	default:
		if why := needsEager(&f.done, b.fx); why != "" {
			f.node = &plan.Eager{Input: f.node, Why: why}
			f.finish()
		}
	}
	f.done.add(b.fx)
}

// needsEager is the rule plan.EagerRule. It returns why all rows of the clauses so far must be complete before a clause begins, or "". Rows are computed one
// after another through all clauses, while openCypher runs clause by clause; the difference shows only
//
//   - where the clause changes what earlier clauses still read for later rows,
//   - where the clause reads what earlier clauses still write for later rows,
//   - where both write the same thing, so that their order counts.
func needsEager(before, clause *effects) string {
	switch {
	case clause.touches(before):
		return "the next clause changes what is read below"
	case before.touches(clause):
		return "the next clause reads what is written below"
	case before.clashes(clause):
		return "the next clause writes what is written below"
	}
	return ""
}

// batchable reports whether the clauses of a subplan have the same effect for many outer rows at once as for one row after another.
// Each clause processes all rows before the next begins, so it may act for a later row before an earlier clause would have. This is
// safe if no two clauses see or undo each other's changes, as in needsEager, however many rows there are. A single clause processes
// its rows in order, except for those noted as alone.
//
// A later row may find an element that only an earlier row found and deleted, but the element is deleted once. Without results, that
// makes no difference.
func (fr *frame) batchable(returns bool) bool {
	if !slices.ContainsFunc(fr.clauses, (*effects).writes) {
		return false // it runs in batches regardless
	}
	if c := fr.clauses; len(c) == 2 && !returns && c[0].finds != 0 && c[0].finds == c[1].drops {
		return true
	}
	for i, clause := range fr.clauses {
		if clause.alone {
			return false
		}
		for _, before := range fr.clauses[:i] {
			if before != clause && needsEager(before, clause) != "" {
				return false
			}
		}
	}
	return true
}

// effects is what clauses read from the graph and change in it.
type effects struct {
	scans    []vertexRead
	edges    nameSet // types of edges that patterns look for
	keys     nameSet // properties that are read
	labels   nameSet // labels that are read
	created  []vertexWrite
	newEdges nameSet // types
	setKeys  nameSet
	relabels nameSet
	deletes  bool
	// alone reports whether a clause reads for all rows at once what it changes for each.
	alone bool
	// finds is the vertex that a MATCH finds only by its own properties and labels and values of the row; drops is the only
	// vertex that a DELETE deletes.
	finds, drops plan.Col
}

// vertexRead is a vertex that a pattern searches for and that need not have an edge: it has all of labels, and its properties
// keys are not null.
type vertexRead struct{ labels, keys []string }

// vertexWrite is a created vertex with these labels and at most these properties.
type vertexWrite struct {
	labels []string
	more   bool // and others, unknown ones
	keys   nameSet
}

// nameSet is a set of names, or of all names.
type nameSet struct {
	all   bool
	names map[string]struct{}
}

func (s *nameSet) add(names ...string) {
	for _, n := range names {
		if s.names == nil {
			s.names = map[string]struct{}{}
		}
		s.names[n] = struct{}{}
	}
}

func (s *nameSet) union(o *nameSet) {
	s.all = s.all || o.all
	for n := range o.names {
		s.add(n)
	}
}

func (s *nameSet) empty() bool { return !s.all && len(s.names) == 0 }

func (s *nameSet) has(name string) bool {
	_, ok := s.names[name]
	return s.all || ok
}

func (s *nameSet) overlaps(o *nameSet) bool {
	if s.empty() || o.empty() {
		return false
	}
	if s.all || o.all {
		return true
	}
	for n := range s.names {
		if o.has(n) {
			return true
		}
	}
	return false
}

func (e *effects) add(o *effects) {
	e.scans = append(e.scans, o.scans...)
	e.edges.union(&o.edges)
	e.keys.union(&o.keys)
	e.labels.union(&o.labels)
	e.created = append(e.created, o.created...)
	e.newEdges.union(&o.newEdges)
	e.setKeys.union(&o.setKeys)
	e.relabels.union(&o.relabels)
	e.deletes = e.deletes || o.deletes
}

// readEntities records that all properties and labels of an entity are read.
func (e *effects) readEntities() { e.keys.all, e.labels.all = true, true }

// readGraph records that anything may be read.
func (e *effects) readGraph() {
	e.readEntities()
	e.edges.all = true
	e.scans = append(e.scans, vertexRead{})
}

// writeGraph records that anything may be created, set or removed.
func (e *effects) writeGraph() {
	e.created = append(e.created, vertexWrite{more: true, keys: nameSet{all: true}})
	e.newEdges.all, e.setKeys.all, e.relabels.all = true, true, true
}

func (e *effects) reads() bool {
	return len(e.scans) > 0 || !e.edges.empty() || !e.keys.empty() || !e.labels.empty()
}

func (e *effects) writes() bool {
	return len(e.created) > 0 || !e.newEdges.empty() || !e.setKeys.empty() || !e.relabels.empty() || e.deletes
}

// touches reports whether o may read what e writes.
func (e *effects) touches(o *effects) bool {
	if e.deletes && o.reads() || e.newEdges.overlaps(&o.edges) || e.setKeys.overlaps(&o.keys) || e.relabels.overlaps(&o.labels) {
		return true
	}
	for _, w := range e.created {
		if slices.ContainsFunc(o.scans, w.satisfies) {
			return true
		}
	}
	return false
}

func (w vertexWrite) satisfies(r vertexRead) bool {
	for _, l := range r.labels {
		if !w.more && !slices.Contains(w.labels, l) {
			return false
		}
	}
	for _, k := range r.keys {
		if !w.keys.has(k) {
			return false
		}
	}
	return true
}

// clashes reports whether e and o write the same, or one deletes what the other writes.
func (e *effects) clashes(o *effects) bool {
	return e.deletes && o.writes() || o.deletes && e.writes() ||
		e.setKeys.overlaps(&o.setKeys) || e.relabels.overlaps(&o.relabels)
}

// reading records what a pattern reads, except for its predicates' properties and labels, which are recorded when they are
// bound.
func (e *effects) reading(p *plan.Pattern) {
	linked := map[plan.Col]bool{}
	for _, r := range p.Edges {
		if len(r.Types) == 0 {
			e.edges.all = true
		}
		e.edges.add(r.Types...)
		if r.Length == nil {
			linked[r.Left], linked[r.Right] = true, true
		}
	}
	for _, v := range p.Vertices {
		e.readLabels(v.Labels)
		if v.Bound || linked[v.Col] {
			continue
		}
		e.scans = append(e.scans, vertexRead{labels: required(v.Labels), keys: requiredKeys(p.Preds, v.Col)})
	}
}

func (e *effects) readLabels(l *plan.LabelExpr) {
	if l == nil {
		return
	}
	switch l.Op {
	case plan.LabelName:
		e.labels.add(l.Name)
	case plan.LabelAny:
		e.labels.all = true
	}
	for _, a := range l.Args {
		e.readLabels(a)
	}
}

// required returns labels that every vertex that satisfies l has.
func required(l *plan.LabelExpr) []string {
	switch {
	case l == nil:
		return nil
	case l.Op == plan.LabelName:
		return []string{l.Name}
	case l.Op == plan.LabelAnd:
		var out []string
		for _, a := range l.Args {
			out = append(out, required(a)...)
		}
		return out
	}
	return nil
}

// requiredKeys returns the properties of v that an equality requires to be non-null.
func requiredKeys(preds []plan.Expr, v plan.Col) []string {
	var out []string
	for _, p := range preds {
		op, ok := p.(*plan.Op)
		if !ok || op.Op != plan.Eq && op.Op != plan.In {
			continue
		}
		for _, a := range op.Args {
			if p, ok := a.(*plan.Prop); ok {
				if c, ok := p.X.(*plan.ColRef); ok && c.Col == v {
					out = append(out, p.Key)
				}
			}
		}
	}
	return out
}
