package restricted

import (
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

const (
	mostScopes = 1024     // of a graph
	mostBytes  = 64 << 20 // of the memos of a graph
	ownBytes   = 1 << 20  // of a memo that ends with its transaction
)

// ruled is what is kept as long as a graph has the same rules.
type ruled struct {
	rules  []rules.Rule
	claims []string                   // that a rule asks for
	scopes *lru.Cache[string, *scope] // by what caller.key returns
	room   atomic.Int64
}

func newRuled(all []rules.Rule) *ruled {
	r := &ruled{rules: all}
	r.room.Store(mostBytes)
	for i := range all {
		r.claims = all[i].Where.Claims(r.claims)
	}
	var err error
	if r.scopes, err = lru.NewWithEvict(mostScopes, func(_ string, s *scope) { s.close() }); err != nil {
		panic(err) // the size is positive
	}
	return r
}

// of reports whether some rules are those of r: a graph returns the same slice until they change.
func (r *ruled) of(all []rules.Rule) bool {
	return r != nil && len(r.rules) == len(all) && (len(all) == 0 || &r.rules[0] == &all[0])
}

// scope returns the scope of a caller. The oldest ones go if their memos leave little room.
func (r *ruled) scope(c *caller, names graph.Catalog) *scope {
	key := c.key(r.claims)
	s, ok := r.scopes.Get(key)
	if !ok {
		s = &scope{policy: rules.New(r.rules, c.roles, c.base, c.id.Claims), names: names, room: &r.room}
		if old, ok, _ := r.scopes.PeekOrAdd(key, s); ok {
			s = old
		}
	}
	for r.room.Load() < mostBytes/8 && r.scopes.Len() > 1 {
		r.scopes.RemoveOldest()
	}
	return s
}

// key returns a text that is the same for callers whom some rules, which ask for claims, restrict in the same way.
func (c *caller) key(claims []string) string {
	var b strings.Builder
	for _, a := range c.base {
		b.WriteString(string(a))
	}
	for _, role := range c.roles {
		b.WriteByte(0)
		b.WriteString(role)
	}
	var buf [64]byte
	for _, name := range claims {
		b.WriteByte(1)
		if v, ok := c.id.Claims[name]; ok {
			b.Write(notation.Append(buf[:0], v))
		}
	}
	return b.String()
}

// scope is what callers with the same roles and claims see of a graph as long as its rules are the same.
type scope struct {
	policy *rules.Policy // nil: everything
	names  graph.Catalog
	room   *atomic.Int64

	mu     sync.Mutex // guards the fields below
	bound  *rules.Bound
	memo   *memo
	closed bool
}

// reader returns the reader of a transaction.
func (s *scope) reader(tx shard.Tx) *reader {
	r := &reader{tx: tx, names: s.names}
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
	return r
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
