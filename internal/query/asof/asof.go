package asof

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// Moment is a token, the name of a snapshot, or a time in nanoseconds since 1970. It implements past.Moment.
type Moment struct {
	token, snapshot string
	time            int64
}

// snapshotPrefix is what stands before the name of a snapshot where a moment is a text.
const snapshotPrefix = "snapshot:"

// The details of errors, which are stable codes; those of tokens are package changes'.
const (
	// Invalid says that a value is neither a token nor a time.
	Invalid = "AsOfInvalid"
	// InFuture says that a time has not come yet.
	InFuture = "AsOfInFuture"
	// InTransaction says that a statement of an explicit transaction asks for a moment of its own.
	InTransaction = "AsOfInTransaction"
)

func invalid(detail, format string, args ...any) error {
	return graph.RuntimeError("ArgumentError", detail, format, args...)
}

// Parse reads a moment that a request has in a field: a token, "snapshot:" and the name of a snapshot, or a date and time with a zone, such as
// 2026-03-01T12:00:00Z.
func Parse(field, text string) (*Moment, error) {
	if text == "" {
		return nil, invalid(Invalid, "%s: is empty; it takes a token, snapshot: and a name, or a date and time, such as 2026-03-01T12:00:00Z", field)
	}
	if name, ok := strings.CutPrefix(text, snapshotPrefix); ok {
		return snapshotOf(field, name)
	}
	if c := text[0]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
		return &Moment{token: text}, nil
	}
	t, err := temporal.ParseDateTime(text, temporal.Zone{})
	if err != nil {
		return nil, invalid(Invalid, "%s: is neither a token nor snapshot: and a name nor a date and time, such as 2026-03-01T12:00:00Z: %v", field, err)
	}
	return at(t), nil
}

func snapshotOf(field, name string) (*Moment, error) {
	if name == "" {
		return nil, invalid(Invalid, "%s: names no snapshot", field)
	}
	return &Moment{snapshot: name}, nil
}

// at returns the moment of a time; what nanoseconds in 64 bits cannot tell is before, or after, any commit.
func at(t temporal.DateTime) *Moment {
	const most = math.MaxInt64/int64(time.Second) - 1
	return &Moment{time: max(-most, min(t.Sec, most))*int64(time.Second) + int64(t.Nano)}
}

// With returns the context of a request with a moment in a field: ctx itself for none.
func With(ctx context.Context, field, text string) (context.Context, error) {
	if text == "" {
		return ctx, nil
	}
	m, err := Parse(field, text)
	if err != nil {
		return nil, err
	}
	return past.With(ctx, m), nil
}

// WithValue is With for a value in a field: a text as Parse takes it, or a date and time with a zone. Null is none.
func WithValue(ctx context.Context, field string, v graph.Value) (context.Context, error) {
	if v.IsNull() {
		return ctx, nil
	}
	m, err := value(field, v)
	if err != nil {
		return nil, err
	}
	return past.With(ctx, m), nil
}

// Text returns the moment of a context as the request has it; "" for the present.
func Text(ctx context.Context) string {
	m, ok := past.Asked(ctx).(*Moment)
	switch {
	case !ok:
		return ""
	case m.token != "":
		return m.token
	}
	return clock(m.time)
}

// Query returns the context of a statement that names a moment by AS OF: ctx itself for another one.
func Query(ctx context.Context, q *plan.Query, params map[string]graph.Value) (context.Context, error) {
	if q == nil || q.AsOf == nil {
		return ctx, nil
	}
	var v graph.Value
	switch x := q.AsOf.(type) {
	case *plan.Const:
		v = x.Value
	case *plan.Param:
		v = params[x.Name]
	}
	m, err := of(v, q.Snapshot)
	switch {
	case q.Writes:
		return nil, past.ReadOnly()
	case err != nil && q.Prefix == "EXPLAIN" && v.IsNull():
		return ctx, nil // without the parameter
	case err != nil:
		return nil, err
	case past.Asked(ctx) != nil:
		return nil, invalid(Invalid, "AS OF: the request has another moment beside the statement")
	}
	return past.With(ctx, m), nil
}

// of returns the moment of a value, which is the name of a snapshot if snapshot is set.
func of(v graph.Value, snapshot bool) (*Moment, error) {
	switch {
	case snapshot && v.Kind() == graph.String:
		return snapshotOf("AS OF SNAPSHOT", v.Str())
	case snapshot:
		return nil, invalid(Invalid, "AS OF SNAPSHOT: takes the name of a snapshot, and no %s", v.Kind())
	}
	return value("AS OF", v)
}

// value returns the moment of a value in a field.
func value(field string, v graph.Value) (*Moment, error) {
	switch v.Kind() {
	case graph.String:
		return Parse(field, v.Str())
	case graph.DateTime:
		return at(v.DateTime()), nil
	}
	return nil, invalid(Invalid, "%s: takes a token or a date and time, and no %s", field, v.Kind())
}

// Refuse is the error of a statement within a transaction, or another statement, that has AS OF: these have their snapshot already.
func Refuse(q *plan.Query) error {
	if q == nil || q.AsOf == nil {
		return nil
	}
	return invalid(InTransaction, "AS OF cannot be part of a transaction or of another statement, which have their snapshot: begin a transaction as of the moment")
}

// Explain tells how a context has a graph read; "" if it is the present.
func Explain(ctx context.Context, g shard.Graph) (string, error) {
	if past.Asked(ctx) == nil || g.ChangeLog() == nil {
		return "", nil
	}
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	commit, _ := tx.Features().Commits.Position()
	return fmt.Sprintf(" (as of commit %d; vectors and texts by exact search where they have changed since)", commit), nil
}

// Defined implements past.Moment.
func (m *Moment) Defined() bool { return m.snapshot != "" }

// Find implements past.Moment.
func (m *Moment) Find(ctx context.Context, g shard.Graph) (commit uint64, at int64, err error) {
	var s *named.Snapshot
	if m.snapshot != "" {
		if s, err = named.Get(g.Definitions(), m.snapshot, time.Now()); err != nil {
			return 0, 0, err
		}
	}
	log := g.ChangeLog()
	st, err := log.LogState(ctx)
	switch {
	case err != nil:
		return 0, 0, err
	case s != nil:
		return known(ctx, log, &st, s.Commit, s.Time)
	case m.token != "":
		return find(ctx, log, &st, m.token)
	}
	return before(ctx, log, &st, m.time)
}

// Names returns the commit that the moment's token names, with its time, for the graph with a secret; ok is false if the moment is a time,
// which then is at.
func (m *Moment) Names(key [32]byte) (commit uint64, at int64, ok bool, err error) {
	if m.token == "" {
		return 0, m.time, false, nil
	}
	t, err := token.NewSigner(key).Parse(m.token, time.Now())
	if err != nil {
		return 0, 0, true, tokenError(err)
	}
	return t.Commit, t.Time, true, nil
}

// Time returns the time of the moment in nanoseconds since 1970: that of a token as it says, which nobody has checked. That of a named snapshot
// is an error, since only its graph knows it.
func (m *Moment) Time() (int64, error) {
	if m.snapshot != "" {
		return 0, invalid(Invalid, "snapshot %s: only its graph knows its time", m.snapshot)
	}
	if m.token == "" {
		return m.time, nil
	}
	t, err := token.Unchecked(m.token)
	if err != nil {
		return 0, tokenError(err)
	}
	return t.Time, nil
}

// find finds the commit of a token.
func find(ctx context.Context, log shard.ChangeLog, st *shard.LogState, text string) (commit uint64, at int64, err error) {
	t, err := tokens.read(st.Key, text, time.Now())
	if err != nil {
		return 0, 0, tokenError(err)
	}
	return known(ctx, log, st, t.Commit, t.Time)
}

// known returns a commit and its time if the log has it.
func known(ctx context.Context, log shard.ChangeLog, st *shard.LogState, commit uint64, at int64) (uint64, int64, error) {
	was := int64(0)
	switch {
	case commit < st.First:
		return 0, 0, shard.NoLogPosition(commit, st.First, st.Last)
	case commit == st.First:
		was = st.FirstTime
	case commit == st.Last:
		was = st.LastTime
	case commit < st.Last:
		var err error
		if was, err = times.of(ctx, log, st.Key, commit); err != nil {
			return 0, 0, err
		}
	}
	if was != at {
		return 0, 0, invalid(changes.OtherHistory, "the graph does not have commit %d: it was restored to an earlier moment", commit)
	}
	return commit, at, nil
}

// tokenError is the error of a client whose token cannot be read.
func tokenError(err error) error {
	switch {
	case errors.Is(err, token.ErrOtherGraph):
		return invalid(changes.OtherGraph, "the token is of another graph, or of one of this name that has been dropped")
	case errors.Is(err, token.ErrExpired):
		return invalid(changes.Expired, "%v", err)
	}
	return invalid(changes.Malformed, "the moment is neither a date and time nor a token of the graph")
}

// before finds the last commit at or before a time.
func before(ctx context.Context, log shard.ChangeLog, st *shard.LogState, at int64) (commit uint64, was int64, err error) {
	switch {
	case at > time.Now().UnixNano() && at > st.LastTime:
		return 0, 0, invalid(InFuture, "the graph cannot be read as of %s, which is in the future", clock(at))
	case at >= st.LastTime:
		return st.Last, st.LastTime, nil
	case at < st.FirstTime:
		e := *graph.AsError(shard.NoLogPosition(0, st.First, st.Last))
		e.Msg = fmt.Sprintf("the graph cannot be read as of %s: its commit log reaches back to %s", clock(at), clock(st.FirstTime))
		return 0, 0, &e
	}
	lo, hi := st.First, st.Last // the time of lo is not above at, that of hi is
	was = st.FirstTime
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		t, err := timeOf(ctx, log, mid)
		switch {
		case err != nil:
			return 0, 0, err
		case t <= at:
			lo, was = mid, t
		default:
			hi = mid
		}
	}
	return lo, was, nil
}

func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// timeOf returns the time of a commit of the log.
func timeOf(ctx context.Context, log shard.ChangeLog, commit uint64) (int64, error) {
	b, err := log.ReadLog(ctx, commit-1, 1, nil)
	if err != nil {
		return 0, err
	}
	c, _, err := changelog.ReadCommit(b)
	if err != nil || c.Number != commit {
		return 0, graph.CorruptError("read the commit log", errors.Join(err, changelog.ErrRecord))
	}
	return c.Time, nil
}

// signed is a token that the graph with a key has signed. It never changes.
type signed struct {
	key   [32]byte
	text  string
	token token.Token
}

// signedTokens remembers some tokens, so that who reads one moment again and again does not have its signature computed each time.
type signedTokens struct {
	seed maphash.Seed
	some [64]atomic.Pointer[signed]
}

var tokens = signedTokens{seed: maphash.MakeSeed()}

// read reads a token of the graph with a key, that holds at a time. Its errors are those of token.Signer.Parse.
func (c *signedTokens) read(key [32]byte, text string, now time.Time) (token.Token, error) {
	place := &c.some[maphash.String(c.seed, text)%uint64(len(c.some))]
	if t := place.Load(); t != nil && t.key == key && subtle.ConstantTimeCompare([]byte(t.text), []byte(text)) == 1 {
		return t.token, t.token.Check(now)
	}
	t, err := token.NewSigner(key).Parse(text, now)
	if err == nil {
		place.Store(&signed{key, strings.Clone(text), t})
	}
	return t, err
}

// commitTime is the time of a commit of the graph with a key. It never changes.
type commitTime struct {
	key    [32]byte
	commit uint64
	time   int64
}

// commitTimes remembers the times of some commits, so that who reads one moment again and again does not read its record each time.
type commitTimes [64]atomic.Pointer[commitTime]

var times commitTimes

// of returns the time of a commit in the log of the graph with a key.
func (c *commitTimes) of(ctx context.Context, log shard.ChangeLog, key [32]byte, commit uint64) (int64, error) {
	place := &c[commit%uint64(len(c))]
	if t := place.Load(); t != nil && t.commit == commit && t.key == key {
		return t.time, nil
	}
	at, err := timeOf(ctx, log, commit)
	if err == nil {
		place.Store(&commitTime{key, commit, at})
	}
	return at, err
}
