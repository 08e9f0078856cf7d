package boltapi

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// peer is the server as the session of a connection sees it.
type peer struct {
	s          *Server
	c          *conn
	session    query.Session
	routed     string // the address that the client believes to reach, if it is routed
	base       context.Context
	grant      *access.Grant // nil: no authentication
	disconnect func()        // or nil
	meter      atomic.Pointer[access.Meter]
	request    string // the id of the last request
}

func newPeer(s *Server, c *conn, id, transport string) *peer {
	p := &peer{s: s, c: c, base: s.ctx}
	p.session = query.Session{ID: id, Address: c.RemoteAddr().String(), Server: c.LocalAddr().String(), Protocol: "bolt"}
	if transport != "tcp" {
		p.session.Protocol = "bolt-" + transport
	}
	return p
}

// Hello implements bolt.Backend.
func (p *peer) Hello(c bolt.Client) error {
	p.session.Agent = c.Agent
	if c.Routed {
		p.routed = c.Address
	}
	if p.c.extra {
		return graph.Busy(0, "there are %d Bolt connections, the limit bolt-max-connections; try again later", p.s.opt.MaxConnections)
	}
	return nil
}

// Logon implements bolt.Backend.
func (p *peer) Logon(ctx context.Context, auth bolt.Auth) error {
	if err := p.authenticate(ctx, auth); err != nil {
		return err
	}
	session := p.session
	p.disconnect = p.s.e.Connect(&session, access.Of(p.with(ctx)))
	_ = p.c.SetReadDeadline(time.Time{})
	return nil
}

// Logoff implements bolt.Backend.
func (p *peer) Logoff() {
	if p.disconnect != nil {
		p.disconnect()
	}
	p.disconnect, p.grant = nil, nil
}

// authenticate identifies the client.
func (p *peer) authenticate(ctx context.Context, auth bolt.Auth) error {
	if p.s.host.Auth == nil {
		switch auth.Scheme {
		case "", "none", "basic": // a driver without credentials may omit the scheme
		default:
			return graph.Unauthenticated(fmt.Sprintf("the authentication scheme must be none or basic, was %q", auth.Scheme))
		}
		return nil
	}
	host, _, err := net.SplitHostPort(p.session.Address)
	if err != nil {
		host = p.session.Address
	}
	if err := p.s.failures.check(host); err != nil {
		return err
	}
	g, err := p.known(ctx, auth)
	if err == nil {
		p.s.failures.forget(host)
		p.grant = g
		return nil
	}
	if graph.AsError(err).Kind != graph.KindUnauthenticated {
		return err // the issuer of the token does not answer
	}
	p.s.failures.add(host)
	select { // so that guessing is slow
	case <-time.After(failureTime):
	case <-ctx.Done():
	}
	return err
}

// known returns the grant of a token. Of basic authentication the token is the password.
func (p *peer) known(ctx context.Context, auth bolt.Auth) (*access.Grant, error) {
	switch auth.Scheme {
	case "bearer":
		return p.s.host.Auth.Token(ctx, auth.Credentials)
	case "basic":
		return p.s.host.Auth.Password(ctx, auth.Principal, auth.Credentials)
	}
	return nil, graph.Unauthenticated(fmt.Sprintf("the authentication scheme must be bearer or basic, was %q", auth.Scheme))
}

// with returns the context of the client's request.
func (p *peer) with(ctx context.Context) context.Context {
	ctx = query.WithSession(ctx, &p.session)
	if p.grant != nil {
		ctx = access.WithGrant(ctx, p.grant)
	}
	return ctx
}

// ask begins a request. It fails if the client's credentials have expired or its rate limit is exceeded.
func (p *peer) ask(ctx context.Context, c *bolt.Context) (context.Context, error) {
	if p.s.isDraining() {
		return ctx, graph.Unavailable("TransactionError", "Draining", "the server is about to stop", nil)
	}
	if err := p.grant.Still(); err != nil {
		return ctx, err
	}
	ctx, p.request = access.WithRequest(p.with(ctx), "")
	if err := p.impersonates(c.Impersonate); err != nil {
		return ctx, err
	}
	for _, b := range c.Bookmarks {
		if err := query.ReachedBookmark(ctx, p.s.e, b); err != nil {
			return ctx, err
		}
	}
	ctx, meter, err := p.s.host.Rates.Arrive(ctx)
	p.meter.Store(meter)
	return p.s.host.Monitor.Arrived(ctx, time.Now()), err
}

// impersonates refuses a request to run as another user.
func (p *peer) impersonates(user string) error {
	if user == "" || p.grant != nil && user == access.Name(p.with(p.base)) {
		return nil
	}
	return graph.Forbidden(graph.PhaseRuntime, "Impersonation", "impersonating %q is not permitted", user)
}

// timeout returns the time limit of a statement or transaction; 0 is the server's.
func (p *peer) timeout(c *bolt.Context) time.Duration {
	switch {
	case !c.HasTimeout:
		return 0
	case c.Timeout == 0:
		return unlimited
	}
	return c.Timeout
}

// unlimited represents no time limit; the engine reduces it to the longest that it allows.
const unlimited = 100 * 365 * 24 * time.Hour

// Run implements bolt.Backend.
func (p *peer) Run(ctx context.Context, st *bolt.Statement) (bolt.Result, error) {
	ctx, err := p.ask(ctx, &st.Context)
	if err != nil {
		return nil, err
	}
	req, err := p.statement(st)
	if err != nil {
		return nil, err
	}
	if req.Stale, err = staleness(&st.Context); err != nil {
		return nil, err
	}
	if ctx, err = asOf(ctx, &st.Context); err != nil {
		return nil, err
	}
	req.Timeout, req.ReadOnly, req.Metadata, req.Graph = p.timeout(&st.Context), st.ReadOnly, st.Metadata, st.Graph
	res, err := p.s.e.Query(ctx, req)
	if err != nil {
		return nil, ownTimeout(err, st.HasTimeout)
	}
	return &result{p: p, res: res, timed: st.HasTimeout, alone: true}, nil
}

func (p *peer) statement(st *bolt.Statement) (query.Request, error) {
	return query.Request{Statement: st.Text, Params: st.Params}, wire.CheckStatement(st.Text)
}

// staleKey is the entry of a transaction's metadata that says by how much the snapshot that it reads may be out of date: a duration as
// text, or milliseconds.
const staleKey = "hopgate.maxStaleness"

// staleness returns by how much the snapshot of a statement or transaction may be out of date.
func staleness(c *bolt.Context) (time.Duration, error) {
	const field = "tx_metadata." + staleKey
	v, text := c.Metadata.Get(staleKey), ""
	switch v.Kind() {
	case graph.Null:
		return 0, nil
	case graph.String:
		text = v.Str()
	case graph.Int:
		text = strconv.FormatInt(v.Int(), 10) + "ms"
	default:
		return 0, wire.RequestError(field + ": must be a duration as text, or whole milliseconds")
	}
	if !c.ReadOnly {
		return 0, wire.RequestError(field + ": needs the access mode READ")
	}
	return wire.Staleness(field, text)
}

// atKey is the entry of a transaction's metadata that says as of which moment it reads: a text as asof.Parse takes it, a bookmark, or a
// date and time.
const atKey = "hopgate.at"

// asOf returns the context of a statement or transaction with the moment that it reads: ctx itself for the present.
func asOf(ctx context.Context, c *bolt.Context) (context.Context, error) {
	v := c.Metadata.Get(atKey)
	if v.Kind() == graph.String {
		if token, ok := query.BookmarkToken(v.Str()); ok {
			v = graph.StringValue(token)
		}
	}
	return asof.WithValue(ctx, "tx_metadata."+atKey, v)
}

// Begin implements bolt.Backend.
func (p *peer) Begin(ctx context.Context, c *bolt.Context) (bolt.Tx, error) {
	ctx, err := p.ask(ctx, c)
	if err != nil {
		return nil, err
	}
	stale, err := staleness(c)
	if err != nil {
		return nil, err
	}
	if ctx, err = asOf(ctx, c); err != nil {
		return nil, err
	}
	tx, err := p.s.e.Begin(ctx, query.TxOptions{
		Graph: c.Graph, ReadOnly: c.ReadOnly, Stale: stale, Timeout: p.timeout(c), Metadata: c.Metadata, Ended: p.s.metrics.transactions.Dec,
	})
	if err != nil {
		return nil, err
	}
	p.s.metrics.transactions.Inc()
	return &transaction{p: p, tx: tx, timed: c.HasTimeout}, nil
}

// Telemetry implements bolt.Backend.
func (p *peer) Telemetry(api int) { p.s.metrics.telemetry.WithLabelValues(strconv.Itoa(api)).Inc() }

// Sent implements bolt.Backend.
func (p *peer) Sent(rows int) { p.s.metrics.records.Add(float64(rows)) }

// Count implements bolt.Backend.
func (p *peer) Count(t bolt.Tag, answer byte, took time.Duration) {
	p.s.metrics.answered(t, answer, took)
}

// Failure implements bolt.Backend.
func (p *peer) Failure(err error) *bolt.Failure {
	f := failureOf(err)
	if f.Class == "DATABASE_ERROR" {
		if p.request != "" {
			f.Message += " (request " + p.request + ")"
		}
		p.s.host.Log.Error("bolt: a request failed",
			slog.String("request", p.request), slog.String("connection", p.session.ID), slog.Any("error", err))
	}
	return f
}
