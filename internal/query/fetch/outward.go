package fetch

import (
	"slices"
	"strings"
)

// outward reports whether a member of a scope refers to rows around it. A member that does not is fetched once for all of them.
type outward struct{ sc *scope }

// member looks through a member of an item; its own references begin at the item.
func (o outward) member(m *member) bool {
	switch m.kind {
	case memberTable:
		return o.table(m.table, true)
	case memberArray:
		return o.array(m.array)
	case memberRef:
		return o.path(m.path, true)
	case memberSub:
		return o.array(m.array)
	}
	return false
}

// array looks through an array or a subquery, whose items are a place of their own for references.
func (o outward) array(a *array) bool {
	if o.hop(a.hop) {
		return true
	}
	for _, m := range a.members {
		switch m.kind {
		case memberTable:
			if o.table(m.table, false) {
				return true
			}
		case memberArray:
			if o.array(m.array) {
				return true
			}
		case memberRef:
			if o.path(m.path, false) {
				return true
			}
		}
	}
	return false
}

func (o outward) table(t *table, direct bool) bool {
	for _, c := range t.conds {
		if c.path != "" && o.path(c.path, direct) || c.sub != nil && o.array(c.sub) {
			return true
		}
	}
	if t.from != nil && o.array(t.from) || o.hop(t.hop) {
		return true
	}
	return slices.ContainsFunc(t.members, (outward{o.sc}).inner)
}

// inner looks through a member of a table's object.
func (o outward) inner(m *member) bool {
	switch m.kind {
	case memberTable:
		return o.table(m.table, false)
	case memberArray:
		return o.array(m.array)
	case memberRef:
		return o.path(m.path, false)
	}
	return false
}

func (o outward) hop(h *hop) bool {
	return h != nil && (h.ref != "" && o.path(h.ref, true) || h.endRef != "" && o.path(h.endRef, true))
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
