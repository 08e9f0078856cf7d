package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// faultError is a protocol error: the client receives it, and the connection closes.
func faultError(format string, args ...any) *graph.Error {
	return graph.RequestError(graph.KindInvalid, "ProtocolError", format, args...)
}

// noResult is the error for rows of a result that is not open.
func noResult(qid int64) error {
	e := faultError("there is no open result %d", qid)
	e.Detail = "NoSuchResult"
	return e
}

// idle is the error of a transaction or result that waited too long for its client.
var idle = graph.TransactionIdle("the transaction was ended because it was idle for longer than bolt-tx-idle-timeout")

// handle answers one message.
func (s *Session) handle(it item) {
	began := time.Now()
	defer func() { it.free() }()
	s.mu.Lock()
	ctx, resets := s.ctx, s.resets
	s.mu.Unlock()
	var m message
	err := it.fault
	if err == nil {
		var charge func(int) error
		if s.opt.Charge != nil && len(it.raw) > smallMessage {
			add, release := s.opt.Charge()
			done := it.done
			charge, it.done = add, func() {
				release()
				if done != nil {
					done()
				}
			}
		}
		m, err = decode(s.version, s.form, it.raw, charge)
	}
	switch {
	case err != nil:
		s.fault(err)
	case m.tag == Goodbye:
		s.state = Defunct
		return
	case m.tag == Reset:
		s.reset(it)
	case s.state == Failed || resets > 0:
		s.drop()
		s.ignore()
	case !slices.Contains(taken[m.tag], s.state):
		s.fault(fmt.Errorf("%s: not allowed while the connection is in the state %v", m.tag, s.state))
	case s.ended != nil:
		s.failed(s.ended)
	case m.over != nil:
		s.failed(m.over)
	case m.flaw != nil:
		s.failed(unfit(m.flaw))
	default:
		if err := s.do(ctx, &it, &m); err != nil {
			s.failed(err)
		}
	}
	s.backend.Count(m.tag, s.said, time.Since(began))
}

// unfit is the error for a value that the engine does not support.
func unfit(err error) error { return graph.TypeError("InvalidParameterType", "%v", err) }

// taken lists the states that accept a message; RESET and GOODBYE are handled separately.
var taken = map[Tag][]State{
	Hello:     {Negotiation},
	Logon:     {Authentication},
	Logoff:    {Ready},
	Run:       {Ready, TxReady, TxStreaming},
	Pull:      {Streaming, TxStreaming},
	Discard:   {Streaming, TxStreaming},
	Begin:     {Ready},
	Commit:    {TxReady, TxStreaming},
	Rollback:  {TxReady, TxStreaming},
	Route:     {Ready},
	Telemetry: {Ready},
}

// do executes a message.
func (s *Session) do(ctx context.Context, it *item, m *message) error {
	switch m.tag {
	case Hello:
		return s.hello(ctx, m)
	case Logon:
		return s.logon(ctx, fields{of: "LOGON", m: m.fields[0].Map()})
	case Logoff:
		s.backend.Logoff()
		s.state = Authentication
		s.know(false)
		s.success(nil)
		return nil
	case Run:
		return s.run(ctx, it, m)
	case Pull, Discard:
		return s.stream(m)
	case Begin:
		return s.begin(ctx, m)
	case Commit:
		return s.commit(ctx)
	case Rollback:
		s.drop()
		s.success(nil)
		return nil
	case Route:
		return s.route(ctx, m)
	}
	return s.telemetry(m.fields[0].Int())
}

// fault answers a fatal error, usually a protocol error, and ends the connection.
func (s *Session) fault(err error) {
	if _, ok := errors.AsType[*graph.Error](err); !ok {
		err = faultError("%v", err)
	}
	s.fail(s.backend.Failure(err))
	s.state = Defunct
}

// failed answers an error and drops the open results and transaction. A protocol error, or an error before authentication, ends the
// connection.
func (s *Session) failed(err error) {
	s.drop()
	s.ended = nil
	s.fail(s.backend.Failure(err))
	var e *graph.Error
	if s.state < Ready || errors.As(err, &e) && e.Detail == "ProtocolError" {
		s.state = Defunct
		return
	}
	s.state = Failed
}

// drop closes results and rolls back the transaction.
func (s *Session) drop() {
	if s.auto != nil {
		s.auto.close()
		s.auto = nil
	}
	s.closeResults()
	if s.tx != nil {
		s.tx.Rollback()
		s.tx = nil
	}
	if s.state > Ready && s.state < Failed {
		s.state = Ready
	}
}

func (s *Session) closeResults() {
	for _, r := range s.results {
		r.close()
	}
	clear(s.results)
	s.live = nil
}

// giveUp ends the open results and transaction while the client is idle. The client's next message receives the reason.
func (s *Session) giveUp(why error) {
	switch {
	case why != nil:
	case s.tx != nil:
		why = s.tx.Err()
	default:
		_, why = s.auto.res.Next()
	}
	if why == nil { // it has ended normally
		return
	}
	state := s.state
	s.drop()
	s.state, s.ended = state, why
}

// close ends the session.
func (s *Session) close() {
	s.End(io.EOF)
	s.drop()
	s.backend.Logoff()
}

// reset returns the connection to its initial state.
func (s *Session) reset(it item) {
	if s.state < Ready {
		s.fault(fmt.Errorf("RESET: not allowed while the connection is in the state %v", s.state))
		return
	}
	s.drop()
	s.ended = nil
	s.state = Ready
	s.mu.Lock()
	if it.jumps {
		s.resets--
	}
	if s.resets == 0 && s.over == nil {
		s.cancel(nil)
		s.ctx, s.cancel = context.WithCancelCause(s.base)
	}
	s.mu.Unlock()
	s.success(nil)
}

// know sets whether the client is authenticated.
func (s *Session) know(known bool) {
	s.mu.Lock()
	s.loose = known
	s.mu.Unlock()
}

func (s *Session) hello(ctx context.Context, m *message) error {
	f := fields{of: "HELLO", m: m.fields[0].Map()}
	c := Client{Agent: f.text("user_agent")}
	if agent, ok := f.get("bolt_agent", graph.Map); ok {
		c.Product = (&fields{m: agent.Map()}).text("product")
	}
	if routing, ok := f.get("routing", graph.Map); ok {
		r := fields{of: "HELLO", m: routing.Map()}
		c.Routed, c.Address = true, r.address()
		f.err = cmp.Or(f.err, r.err)
	}
	patched := false
	if s.version == (Version{4, 4}) {
		patched = slices.Contains(f.texts("patch_bolt"), "utc")
	}
	filter := filterOf(&f)
	if f.err != nil {
		return faultError("%v", f.err)
	}
	s.filter = filter
	if err := s.backend.Hello(c); err != nil {
		return err
	}
	if !s.version.from(5, 1) {
		if err := s.backend.Logon(ctx, authOf(&f)); err != nil {
			return err
		}
		s.know(true)
		s.state = Ready
	} else {
		s.state = Authentication
	}
	s.form.UTC = s.form.UTC || patched
	s.success(func(m *metadata) {
		m.text("server", s.opt.Server)
		m.text("connection_id", s.opt.ID)
		m.mapping("hints", func(m *metadata) {
			m.int("connection.recv_timeout_seconds", 60)
			m.bool("ssr.enabled", true)
			m.bool("telemetry.enabled", false)
		})
		if patched {
			m.texts("patch_bolt", []string{"utc"})
		}
		if s.opt.Listed {
			m.text("protocol_version", s.version.String())
		}
	})
	return nil
}

func authOf(f *fields) Auth {
	return Auth{Scheme: f.text("scheme"), Principal: f.text("principal"), Credentials: f.text("credentials")}
}

func (s *Session) logon(ctx context.Context, f fields) error {
	auth := authOf(&f)
	if f.err != nil {
		return faultError("%v", f.err)
	}
	if err := s.backend.Logon(ctx, auth); err != nil {
		return err
	}
	s.know(true)
	s.state = Ready
	s.success(func(m *metadata) {
		if s.opt.Advertised != "" && s.version.from(5, 8) {
			m.text("advertised_address", s.opt.Advertised)
		}
	})
	return nil
}

// contextOf reads the settings of a statement or a transaction.
func (s *Session) contextOf(of string, v graph.Value) (c Context, err error) {
	f := fields{of: of, m: v.Map()}
	c.Graph = f.text("db")
	c.Named = c.Graph != ""
	switch mode := f.text("mode"); mode {
	case "", "w":
	case "r":
		c.ReadOnly = true
	default:
		return c, faultError("%s: mode must be r or w, was %q", of, mode)
	}
	if ms := f.int("tx_timeout", -1); ms >= 0 {
		c.HasTimeout, c.Timeout = true, time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond
	} else if _, given := f.get("tx_timeout", graph.Int); given {
		return c, faultError("%s: tx_timeout must not be negative, was %d", of, ms)
	}
	c.Metadata, _ = f.get("tx_metadata", graph.Map)
	c.Bookmarks = f.texts("bookmarks")
	c.Impersonate = f.text("imp_user")
	c.Filter = filterOf(&f)
	c.Filter.Severity = cmp.Or(c.Filter.Severity, s.filter.Severity)
	c.Filter.Disabled = cmp.Or(c.Filter.Disabled, s.filter.Disabled)
	if f.err != nil {
		return c, faultError("%v", f.err)
	}
	return c, nil
}

// run answers RUN. The result that it opens keeps the message's memory.
func (s *Session) run(ctx context.Context, it *item, m *message) error {
	began := time.Now()
	c, err := s.contextOf("RUN", m.fields[2])
	if err != nil {
		return err
	}
	st := &Statement{Context: c, Text: strings.Clone(m.fields[0].Str())} // it outlives the message
	if params := m.fields[1].Map(); len(params) > 0 {
		st.Params = make(map[string]graph.Value, len(params))
		for _, p := range params {
			st.Params[p.Key] = p.Value
		}
	}
	r := &openResult{began: began, filter: c.Filter}
	if s.tx == nil {
		if r.res, err = s.backend.Run(ctx, st); err != nil {
			return err
		}
		s.auto, s.state = r, Streaming
	} else {
		if err := s.hold(); err != nil {
			return err
		}
		r.filter = s.txFilter
		if r.res, err = s.tx.Run(ctx, st); err != nil {
			return err
		}
		r.qid = s.qid
		s.qid++
		s.results[r.qid] = r
		s.live, s.state = r, TxStreaming
	}
	r.done, it.done = it.done, nil
	s.success(func(m *metadata) {
		m.texts("fields", r.res.Columns())
		m.int("t_first", time.Since(began).Milliseconds())
		if s.tx != nil {
			m.int("qid", r.qid)
		}
		if s.version.from(5, 8) && !c.Named && s.tx == nil {
			m.text("db", r.res.Graph())
		}
	})
	return nil
}

// hold loads the remaining rows of the transaction's live result into memory, so that another result may be live.
func (s *Session) hold() error {
	if s.live == nil {
		return nil
	}
	if err := s.live.res.Hold(s.live.batch, s.live.at); err != nil {
		return err
	}
	s.live.batch, s.live = nil, nil
	return nil
}

// stream answers PULL and DISCARD.
func (s *Session) stream(m *message) error {
	f := fields{of: m.tag.String(), m: m.fields[0].Map()}
	n, qid := f.int("n", 0), f.int("qid", -1)
	if f.err == nil && (n < -1 || n == 0) {
		f.err = fmt.Errorf("%s: n must be -1 or at least 1, was %d", m.tag, n)
	}
	if f.err != nil {
		return faultError("%v", f.err)
	}
	r := s.auto
	if s.tx != nil {
		if qid == -1 {
			qid = s.qid - 1
		}
		r = s.results[qid]
	} else if qid != -1 && qid != 0 {
		r = nil
	}
	if r == nil {
		return noResult(qid)
	}
	more, err := s.advance(r, n, m.tag == Pull)
	if err != nil {
		return err
	}
	if more {
		s.success(func(m *metadata) { m.bool("has_more", true) })
		return nil
	}
	s.success(func(m *metadata) { s.putSummary(m, r) })
	r.close()
	if s.tx == nil {
		s.auto, s.state = nil, Ready
		return nil
	}
	delete(s.results, r.qid)
	if s.live == r {
		s.live = nil
	}
	if len(s.results) == 0 {
		s.state = TxReady
	}
	return nil
}

// advance sends or skips n rows, all if n is -1. more reports whether rows may be left: advance reads no batch that the client has not
// requested, so the end of a result shows only when the client requests more rows than exist.
func (s *Session) advance(r *openResult, n int64, send bool) (more bool, err error) {
	if n == -1 {
		n = math.MaxInt64
		if !send && !r.res.Whole() {
			return false, nil
		}
	}
	for n > 0 {
		if r.batch == nil || r.at == r.batch.N {
			if r.batch, err = r.res.Next(); err != nil || r.batch == nil {
				return false, err
			}
			r.at = 0
			r.res.Sending()
		}
		k := int(min(n, int64(r.batch.N-r.at)))
		if send && len(r.batch.Cols) > 0 {
			form := s.form
			form.Replaced = &r.replaced
			size, err := s.out.records(form, r.batch, r.at, r.at+k)
			if err != nil {
				return false, err
			}
			r.res.Sent(size)
			s.backend.Sent(k)
		}
		r.at += k
		n -= int64(k)
	}
	return true, nil
}

func (s *Session) begin(ctx context.Context, m *message) error {
	c, err := s.contextOf("BEGIN", m.fields[0])
	if err != nil {
		return err
	}
	tx, err := s.backend.Begin(ctx, &c)
	if err != nil {
		return err
	}
	s.tx, s.state, s.qid, s.txFilter = tx, TxReady, 0, c.Filter
	s.success(func(m *metadata) {
		if s.version.from(5, 8) && !c.Named {
			m.text("db", tx.Graph())
		}
	})
	return nil
}

func (s *Session) commit(ctx context.Context) error {
	s.closeResults()
	bookmark, err := s.tx.Commit(ctx)
	if err != nil {
		return err
	}
	s.tx, s.state = nil, Ready
	s.success(func(m *metadata) { m.text("bookmark", bookmark) })
	return nil
}

func (s *Session) route(ctx context.Context, m *message) error {
	routing := fields{of: "ROUTE", m: m.fields[0].Map()}
	extra := fields{of: "ROUTE", m: m.fields[2].Map()}
	r := &RouteRequest{Address: routing.address(), Graph: extra.text("db"), Impersonate: extra.text("imp_user")}
	var err error
	r.Bookmarks, err = textsOf(m.fields[1])
	if err = errors.Join(routing.err, extra.err, err); err != nil {
		return faultError("%v", err)
	}
	t, err := s.backend.Route(ctx, r)
	if err != nil {
		return err
	}
	s.success(func(m *metadata) { putTable(m, t) })
	return nil
}

func (s *Session) telemetry(api int64) error {
	if api < 0 || api > 3 {
		return faultError("TELEMETRY: the api must be from 0 to 3, was %d", api)
	}
	s.backend.Telemetry(int(api))
	s.success(nil)
	return nil
}
