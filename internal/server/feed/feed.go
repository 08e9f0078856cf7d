package feed

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/charge"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	// usualHeartbeat is how often a feed without events says that it is alive, unless its client asks otherwise.
	usualHeartbeat = 15 * time.Second
	// shortestHeartbeat and longestHeartbeat bound what clients ask for.
	shortestHeartbeat = 100 * time.Millisecond
	longestHeartbeat  = 10 * time.Minute
	// batch is the largest number of events that Next returns.
	batch = 500
	// chargeEvery is how often the events of a feed are charged.
	chargeEvery = time.Second
)

// Request is what a client asks for. Its errors name the fields as clients know them.
type Request struct {
	Graph     string // "": the default
	From      string // a token, earliest, current or snapshot; "": current
	Selectors string // the JSON of db.cdc.query's argument; "": all events
	Format    Format
	// Wait is how long the feed waits for further changes before it ends, and how long it waits for the first ones. With 0 it ends after the
	// changes that there are when it is opened. Negative: no limit.
	Wait time.Duration
	// Heartbeat is how often a feed without events says where it stands; 0: every 15 s.
	Heartbeat time.Duration
}

// ParseWait reads the duration of Wait: "" is no limit.
func ParseWait(text string) (time.Duration, error) {
	if text == "" {
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wire.RequestError("wait: must be a duration from 0, such as 500ms or 30s, was " + strconv.Quote(text))
	}
	return d, nil
}

// ParseHeartbeat reads the duration of Heartbeat.
func ParseHeartbeat(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, wire.RequestError("heartbeat: must be a duration such as 10s, was " + strconv.Quote(text))
	}
	return d, CheckHeartbeat(d)
}

// CheckHeartbeat returns an error unless a client may ask for a heartbeat.
func CheckHeartbeat(d time.Duration) error {
	if d < shortestHeartbeat || d > longestHeartbeat {
		return wire.RequestError(fmt.Sprintf("heartbeat: must be from %v to %v, was %v", shortestHeartbeat, longestHeartbeat, d))
	}
	return nil
}

// Feed is an open stream of a client. Only one goroutine at a time may use it. Close it.
type Feed struct {
	all       *Feeds
	transport string
	s         *changes.Stream
	format    Format
	debezium  debezium
	wait      time.Duration
	heartbeat time.Duration

	name    string          // of the graph
	caller  context.Context // of the client's request
	ended   context.Context // when the server drains, the client is gone, or its rights are
	end     context.CancelCauseFunc
	stop    func() bool   // ends the wait for the server to drain
	at      atomic.Uint64 // the last commit that has been read
	said    time.Time     // when the client last heard of the feed
	idle    time.Time     // since when there have been no events
	charged time.Time
	quotas  *quota.Accounts
	events  int64 // not charged yet
}

// Open opens a feed for a client of a transport. ctx is that of the whole feed. The errors of tokens are those of changes.Open.
func (all *Feeds) Open(ctx context.Context, transport string, r Request) (*Feed, error) {
	selectors, err := changes.ParseSelectorsJSON([]byte(r.Selectors))
	if err != nil {
		return nil, err
	}
	if !all.enter() {
		return nil, graph.Busy(0, "there are %d change streams, as many as one process serves; try again later", mostFeeds)
	}
	f := &Feed{all: all, transport: transport, format: r.Format, wait: r.Wait, heartbeat: cmp.Or(r.Heartbeat, usualHeartbeat)}
	f.caller = ctx
	f.ended, f.end = context.WithCancelCause(ctx)
	f.stop = context.AfterFunc(all.drained, func() { f.end(io.EOF) })
	if err := f.open(ctx, r, selectors); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Feed) open(ctx context.Context, r Request, selectors changes.Selectors) (err error) {
	f.s, err = f.all.e.Changes(ctx, r.Graph, changes.Request{From: r.From, Selectors: selectors, Bounded: r.Wait == 0})
	if err != nil {
		return err
	}
	g, name := f.s.Graph()
	if err := access.EnterGraph(ctx, name); err != nil {
		return err
	}
	if err := f.all.e.Quotas.Enter(ctx, g, &charge.Request{Graph: name, Caller: access.Granted(ctx)}, &f.quotas); err != nil {
		return err
	}
	f.name, f.debezium.graph = name, name
	f.said, f.idle, f.charged = time.Now(), time.Now(), time.Now()
	f.at.Store(f.s.Commit())
	f.all.add(f)
	return nil
}

// Token is the position after all that Next has returned.
func (f *Feed) Token() string { return f.s.Token() }

// Close ends the feed.
func (f *Feed) Close() {
	f.all.leave(f) // before the stream closes, which sweeps look at
	if f.s != nil {
		f.charge()
		f.s.Close()
	}
	f.stop()
	f.end(nil)
}

// Next returns the next events, which are valid until it is called again. If there are none for a heartbeat's time, it returns none, for the
// client to hear where the feed stands. The error is io.EOF if the feed has ended in good order: after its wait, or since the server drains.
func (f *Feed) Next() ([]changes.Event, error) {
	for {
		began := time.Now()
		wait := f.said.Add(f.heartbeat).Sub(began)
		if f.wait >= 0 {
			wait = min(wait, f.idle.Add(f.wait).Sub(began))
		}
		events, err := f.s.Next(f.ended, max(wait, 0), batch)
		switch cause := context.Cause(f.ended); {
		case cause != nil && f.caller.Err() != nil:
			return nil, graph.DeadlineError(f.caller.Err())
		case cause != nil:
			return nil, cause
		case err != nil:
			return nil, err
		}
		now := time.Now()
		f.at.Store(f.s.Commit())
		if len(events) > 0 {
			if err := f.s.Allowed(f.caller); err != nil { // it may have waited
				return nil, err
			}
			f.events += int64(len(events))
			f.all.sent(f.transport, len(events))
			if now.Sub(f.charged) >= chargeEvery {
				f.charged = now
				f.charge()
			}
			f.said, f.idle = now, now
			f.debezium.now = now
			return events, nil
		}
		switch {
		case f.wait >= 0 && now.Sub(f.idle) >= f.wait:
			return nil, io.EOF
		case now.Sub(f.said) >= f.heartbeat:
			f.said = now
			return nil, nil
		}
	}
}

// charge charges the quotas of the caller for the events.
func (f *Feed) charge() {
	if f.quotas != nil && f.events > 0 {
		f.quotas.Charge(cost.Cost{Visits: f.events, Rows: f.events})
	}
	f.events = 0
}

// Append appends an event in the format that the client asked for.
func (f *Feed) Append(dst []byte, e *changes.Event) []byte {
	if f.format == Debezium {
		return f.debezium.append(dst, e)
	}
	return e.AppendJSON(dst)
}
