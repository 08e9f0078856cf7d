package bind

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// outward reports whether a member of a scope refers to rows around it. A member that does not is fetched once for all of them.
type outward struct{ sc *Scope }

// member looks through a member of an item; its own references begin at the item.
func (o outward) member(m *syntax.Member) bool {
	switch m.Kind {
	case syntax.MemberTable:
		return o.table(m.Table, true)
	case syntax.MemberArray:
		return o.array(m.Array)
	case syntax.MemberRef:
		return o.path(m.Path, true)
	case syntax.MemberSub:
		return o.array(m.Array)
	}
	return false
}

// array looks through an array or a subquery, whose items are a place of their own for references.
func (o outward) array(a *syntax.Array) bool {
	if o.hop(a.Hop) {
		return true
	}
	for _, m := range a.Members {
		switch m.Kind {
		case syntax.MemberTable:
			if o.table(m.Table, false) {
				return true
			}
		case syntax.MemberArray:
			if o.array(m.Array) {
				return true
			}
		case syntax.MemberRef:
			if o.path(m.Path, false) {
				return true
			}
		}
	}
	return false
}

func (o outward) table(t *syntax.Table, direct bool) bool {
	for _, c := range t.Conds {
		if c.Path != "" && o.path(c.Path, direct) || c.Sub != nil && o.array(c.Sub) {
			return true
		}
	}
	if t.From != nil && o.array(t.From) || o.hop(t.Hop) {
		return true
	}
	return slices.ContainsFunc(t.Members, (outward{o.sc}).inner)
}

// inner looks through a member of a table's object.
func (o outward) inner(m *syntax.Member) bool {
	switch m.Kind {
	case syntax.MemberTable:
		return o.table(m.Table, false)
	case syntax.MemberArray:
		return o.array(m.Array)
	case syntax.MemberRef:
		return o.path(m.Path, false)
	}
	return false
}

func (o outward) hop(h *syntax.Hop) bool {
	return h != nil && (h.Ref != "" && o.path(h.Ref, true) || h.EndRef != "" && o.path(h.EndRef, true))
}

// path reports whether a path leads to a row that does not exist yet: into an item around the scope, or to a table that
// is being bound.
func (o outward) path(path string, direct bool) bool {
	at := o.sc.root()
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		if !direct {
			return false
		}
		th := o.sc.things[strings.SplitN(rest, "/", 2)[0]]
		return th != nil && o.sc.lv != nil && (th.table != nil || th.array != nil)
	}
	for part := range strings.SplitSeq(path, "/") {
		th := at.things[part]
		switch {
		case th == nil:
			return false
		case th.array != nil:
			return th.inner != nil && th.inner.holds(o.sc)
		case th.table != nil:
			return th.table.open
		case th.inner == nil:
			return false
		}
		at = th.inner
	}
	return false
}
