package restricted

import (
	"slices"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

const (
	mostScopes = 1024     // of a graph, and callers
	mostBytes  = 64 << 20 // of the memos of a graph
	ownBytes   = 1 << 20  // of a memo that ends with its transaction
)

// ruled is what is kept as long as a graph has the same rules.
type ruled struct {
	rules   []rules.Rule
	claims  []string                              // that a rule asks for
	callers *lru.Cache[*access.Identity, *caller] // those of late
	scopes  *lru.Cache[string, *scope]            // by caller.key
	room    atomic.Int64
}

func newRuled(all []rules.Rule) *ruled {
	r := &ruled{rules: all}
	r.room.Store(mostBytes)
	for i := range all {
		r.claims = all[i].Where.Claims(r.claims)
	}
	var err, err2 error
	r.callers, err = lru.New[*access.Identity, *caller](mostScopes)
	r.scopes, err2 = lru.NewWithEvict(mostScopes, func(_ string, s *scope) { s.close() })
	if err != nil || err2 != nil {
		panic("the size of a cache is not positive")
	}
	return r
}

// of reports whether some rules are those of r: a graph returns the same slice until they change.
func (r *ruled) of(all []rules.Rule) bool {
	return r != nil && len(r.rules) == len(all) && (len(all) == 0 || &r.rules[0] == &all[0])
}

// scope returns the scope of a caller. The oldest ones go if their memos leave little room.
func (r *ruled) scope(g *Graph, id *access.Identity) *scope {
	c, ok := r.callers.Get(id)
	if !ok {
		c = r.caller(g.name, id)
		r.callers.Add(id, c)
	}
	s, ok := r.scopes.Get(c.key)
	if !ok {
		s = &scope{key: c.key, policy: rules.New(r.rules, c.roles, c.base, id.Claims), names: g.Graph, view: g.view(c.roles, c.base), room: &r.room}
		if old, ok, _ := r.scopes.PeekOrAdd(c.key, s); ok {
			s = old
		}
	}
	for r.room.Load() < mostBytes/8 && r.scopes.Len() > 1 {
		r.scopes.RemoveOldest()
	}
	return s
}

// caller is who makes a request, as far as rules ask.
type caller struct {
	roles []string
	base  []rules.Action
	key   string // the same for callers whom the rules restrict in the same way
}

func (r *ruled) caller(graphName string, id *access.Identity) *caller {
	c := &caller{roles: id.RolesIn(graphName)}
	switch role := id.In(graphName); role {
	case access.Writer:
		c.base, c.roles = []rules.Action{rules.Match, rules.Write}, append(c.roles, role.String())
	case access.Reader, access.Fetcher:
		c.base, c.roles = []rules.Action{rules.Match}, append(c.roles, role.String())
	}
	slices.Sort(c.roles)
	key := []byte{byte(len(c.base))}
	for _, role := range c.roles {
		key = append(append(key, role...), 0)
	}
	for _, name := range r.claims {
		key = append(key, 1)
		if v, ok := id.Claims[name]; ok {
			key = notation.Append(key, v)
		}
	}
	c.key = string(key)
	return c
}

// scope is what callers with the same roles and claims see of a graph as long as its rules are the same.
type scope struct {
	key    string        // see caller
	policy *rules.Policy // nil: everything
	names  graph.Catalog
	view   *View
	room   *atomic.Int64

	mu     sync.Mutex // guards the fields below
	bound  *rules.Bound
	memo   *memo
	closed bool
}

// begin begins to read a transaction.
func (s *scope) begin(r *reader, tx shard.Tx) {
	r.tx, r.names = tx, s.names
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bound
	if b == nil {
		if b = s.policy.Bind(s.names); b.Whole {
			s.bound = b
		}
	}
	r.bound.Store(b)
	r.memo = s.remember(tx, b)
}

// remember returns the memo for a transaction. The caller holds the lock.
func (s *scope) remember(tx shard.Tx, b *rules.Bound) *memo {
	d := tx.Features().Dated
	if d == nil || s.closed {
		return ownMemo()
	}
	change, ok := d.LastChange(b.VertexProps)
	switch {
	case !ok:
		return ownMemo()
	case s.memo != nil && change < s.memo.change:
		return ownMemo()
	case s.memo == nil:
		s.memo = &memo{change: change, room: s.room}
	case s.memo.change < change:
		s.memo.close()
		s.memo = &memo{change: change, room: s.room}
	}
	return s.memo
}

// ownMemo returns a memo for one transaction.
func ownMemo() *memo {
	m := &memo{room: &atomic.Int64{}}
	m.room.Store(ownBytes)
	return m
}

// close gives back the room of the memo.
func (s *scope) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.memo != nil {
		s.memo.close()
		s.memo = nil
	}
}
