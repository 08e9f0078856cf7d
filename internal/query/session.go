package query

import (
	"context"
	"net"
	"strings"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/shard"
)

// Session is the connection of a request, as SHOW TRANSACTIONS shows it.
type Session struct {
	ID       string // for example, bolt-7
	Address  string // of the client
	Server   string // the address that the client has reached
	Agent    string // the client's name for itself
	Protocol string // for example, bolt
	// From and To are in place of Address and Server, if these are "".
	From, To net.Addr
}

type sessionKey struct{}

// WithSession returns a context whose requests belong to a session.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// WithOwnSession returns a context whose requests belong to a session of their own.
func WithOwnSession(ctx context.Context, s Session) context.Context {
	return &sessionContext{ctx, s}
}

// sessionContext has the session of its requests, in one piece of memory.
type sessionContext struct {
	context.Context //nolint:containedctx // it is one
	session         Session
}

// Value implements context.Context.
func (c *sessionContext) Value(key any) any {
	if key == (sessionKey{}) {
		return &c.session
	}
	return c.Context.Value(key)
}

// sessionOf returns the session of a request, or nil.
func sessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// Session returns the session of the request, or an empty one.
func (q *Running) Session() Session {
	if q.session == nil {
		return Session{}
	}
	s := *q.session
	if s.Address == "" && s.From != nil {
		s.Address = s.From.String()
	}
	if s.Server == "" && s.To != nil {
		s.Server = s.To.String()
	}
	return s
}

// tell tells a transaction, which may be logged, where it comes from.
func (q *Running) tell(tx shard.Tx) {
	c := tx.Features().Commits
	if c == nil {
		return
	}
	s := q.Session()
	o := changelog.Origin{Started: q.Start.UnixNano(), User: q.Caller.Name, Client: s.Address, Server: s.Server}
	o.Protocol, _, _ = strings.Cut(s.Protocol, "-") // Bolt may come over another one
	if m := q.Metadata(); m.Kind() == graph.Map && len(m.Map()) > 0 {
		o.Metadata = string(notation.PlainJSON.Append(nil, m))
	}
	c.From(o)
}

// commit commits a transaction of the request.
func (q *Running) commit(ctx context.Context, tx shard.Tx) error {
	q.tell(tx)
	err := tx.Commit(ctx)
	if err == nil {
		q.at = snapshot.After(tx)
	}
	return err
}

// Snapshot returns the token of the snapshot that the answer is of or, if it has written, of the state after that; "" if the graph numbers no
// commits. See package snapshot.
func (r *Result) Snapshot() string { return r.q.snapshot(r.e, r.g) }

// Snapshot is that of a Result: before Commit, of the transaction's snapshot.
func (t *Transaction) Snapshot() string { return t.listing.snapshot(t.e, t.g) }

func (q *Running) snapshot(e *Engine, g shard.Graph) string {
	if q.tx != nil {
		q = q.tx
	}
	if g == nil || q.system {
		return ""
	}
	text, err := e.tokens.Text(context.Background(), g, q.on(), q.at)
	if err != nil {
		return "" // the answer stands without it
	}
	return text
}

// Reached returns an error unless a graph has the snapshot that a token names; see snapshot.Tokens. Transactions that begin later have it too.
func (e *Engine) Reached(ctx context.Context, name, token string) error {
	name, err := e.GraphNamed(ctx, name)
	if err != nil {
		return err
	}
	g, err := e.current(ctx, name)
	if err != nil {
		return err
	}
	return e.tokens.Reached(ctx, g, name, token)
}

type runningKey struct{}

// transactionOf returns the entry of a context's transaction, or nil.
func transactionOf(ctx context.Context) *Running {
	q, _ := ctx.Value(runningKey{}).(*Running)
	return q
}

// Metadata returns the client's metadata of the transaction: a map, or null.
func (q *Running) Metadata() graph.Value {
	if q.tx != nil {
		q = q.tx
	}
	if v := q.metadata.Load(); v != nil {
		return *v
	}
	return graph.Value{}
}

func (q *Running) setMetadata(v graph.Value) {
	if !v.IsNull() {
		kept := v // escapes to the heap, unlike v
		q.metadata.Store(&kept)
	}
}
