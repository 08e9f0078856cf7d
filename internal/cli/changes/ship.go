package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cenkalti/backoff/v5"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli/changes/sink"
)

const (
	// mostKept and longestKept bound what one Keep of a busy stream has, but for a transaction that is larger itself.
	mostKept    = 10_000
	longestKept = 200 * time.Millisecond
	// idleKept is how often the position of a stream without events is kept.
	idleKept = 10 * time.Second
	// mostAhead is how many parts of the stream are read ahead of the sink.
	mostAhead = 4
)

// shipper writes a stream to a sink.
type shipper struct {
	to       sink.Sink
	open     func(from string) *Stream // "": where the command says
	debezium bool
	lost     func(error) // is told of each failure after which it goes on

	kept string // the token that the sink has
	seen bool   // there has been a part of the stream
}

// ship writes a stream to the sink at an address.
func ship(ctx context.Context, to string, o sink.Options, open func(from string) *Stream) error {
	at, err := sink.Open(ctx, to, o)
	if err != nil {
		return err
	}
	defer at.Close()
	return (&shipper{to: at, open: open, debezium: o.Debezium, lost: o.Lost}).run(ctx)
}

// run writes events until the stream ends, or an error that Resume does not help with.
func (s *shipper) run(ctx context.Context) error {
	pause := backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.3, Multiplier: 2, MaxInterval: 5 * time.Second}
	for {
		was := s.kept
		err := s.once(ctx)
		if err == nil || ctx.Err() != nil || !sink.Temporary(err) {
			return err
		}
		s.lost(err)
		if s.kept != was {
			pause.Reset()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause.NextBackOff()):
		}
	}
}

// part is what Stream.Next has returned.
type part struct {
	res *pb.ChangesResponse
	err error
}

// once writes events from where the sink stands until an error, or the end of the stream.
func (s *shipper) once(ctx context.Context) (err error) {
	if s.kept, err = s.to.Resume(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream := s.open(s.kept)
	stream.begun = s.seen || s.kept != "" // the address was right once: the server comes back
	parts, done := make(chan part, mostAhead), make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		for {
			res, err := stream.Next(ctx)
			select {
			case parts <- part{res, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()

	b := batch{shipper: s, token: s.kept}
	for {
		var p part
		select {
		case p = <-parts:
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case errors.Is(p.err, io.EOF):
			return b.end(ctx)
		case p.err != nil:
			return p.err
		}
		s.seen = true
		if err := b.add(ctx, p.res, len(parts) == 0); err != nil {
			return err
		}
	}
}

// batch is what the sink has got and has not kept.
type batch struct {
	*shipper
	n      int       // events
	within bool      // a transaction
	since  time.Time // of the first event
	token  string    // the position after them
	idle   time.Time // when the sink has last been told of a position
}

// add adds a part of the stream. Transactions are kept whole: a token within a snapshot leads back to its beginning.
func (b *batch) add(ctx context.Context, res *pb.ChangesResponse, alone bool) error {
	for _, e := range res.GetEvents() {
		to, err := event(e, b.debezium)
		if err != nil {
			return err
		}
		if b.n == 0 {
			b.since = time.Now()
		}
		if err := b.to.Add(ctx, to); err != nil {
			return err
		}
		b.n, b.token, b.within = b.n+1, to.Token, !to.Last
		if to.Last && (b.n >= mostKept || time.Since(b.since) >= longestKept) {
			if err := b.keep(ctx); err != nil {
				return err
			}
		}
	}
	switch {
	case b.within:
		return nil
	case b.n > 0:
		if alone { // there is nothing to wait for
			return b.keep(ctx)
		}
		return nil
	}
	b.token = res.GetToken()
	if b.kept == "" || time.Since(b.idle) >= idleKept {
		return b.keep(ctx)
	}
	return nil
}

// end keeps what there is at the end of the stream.
func (b *batch) end(ctx context.Context) error {
	if b.within {
		return fmt.Errorf("the stream has ended within a transaction, after %s", b.token)
	}
	return b.keep(ctx)
}

func (b *batch) keep(ctx context.Context) error {
	if err := b.to.Keep(ctx, b.token); err != nil {
		return err
	}
	b.n, b.kept, b.idle = 0, b.token, time.Now()
	return nil
}

// element is what has the id of an element in an event.
type element struct {
	ElementID string `json:"elementId"`
}

// event converts an event of the stream.
func event(e *pb.ChangeEvent, debezium bool) (sink.Event, error) {
	to := sink.Event{Token: e.GetId(), Commit: e.GetTxId(), Seq: e.GetSeq(), Last: e.GetLast(), Value: e.GetJson()}
	if debezium {
		var j struct {
			Before, After *element
			Op            string
		}
		if err := json.Unmarshal(to.Value, &j); err != nil {
			return to, fmt.Errorf("event %s: %w", to.Token, err)
		}
		if j.After == nil {
			j.After = j.Before
		}
		if j.After != nil {
			to.Key = j.After.ElementID
		}
		to.Deleted = j.Op == "d"
		return to, nil
	}
	var j struct {
		Event struct {
			element
			Operation string
		}
	}
	if err := json.Unmarshal(to.Value, &j); err != nil {
		return to, fmt.Errorf("event %s: %w", to.Token, err)
	}
	to.Key, to.Deleted = j.Event.ElementID, j.Event.Operation == "d"
	return to, nil
}
