package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hopgate/hopgate/internal/cli"
)

// Event is an event of a change stream.
type Event struct {
	Token   string // the position after it
	Commit  int64  // the transaction; 0: of a snapshot
	Seq     int64  // in the transaction
	Last    bool   // of its transaction, or of the snapshot
	Deleted bool   // the element is gone
	Key     string // of the element's records; "": the event is of no element
	Value   []byte
}

// Sink is where the events of one graph go. Only one goroutine at a time may use it.
type Sink interface {
	// Resume undoes what was added and not kept, and returns the token that was kept last, or "". It takes the sink over from a run that
	// still has it: that one's next call fails with Fenced. A run calls it first, and again after a Temporary error.
	Resume(ctx context.Context) (string, error)
	// Add sends an event. It waits while too much is on its way, and may return the error of an earlier event.
	Add(ctx context.Context, e Event) error
	// Keep returns once the events added since the last call and the token that follows them are there to stay.
	Keep(ctx context.Context, token string) error
	// Close ends the connection. What was not kept is undone.
	Close()
}

// Code names a kind of failure. Codes are stable.
type Code string

// The codes.
const (
	// Unreachable is a broker that does not answer, or not now; the sink continues later.
	Unreachable Code = "SinkUnreachable"
	// Fenced is a sink that another run has taken over, or a transaction that took longer than the broker allows.
	Fenced Code = "SinkFenced"
	// Denied is a broker that rejects the credentials, or what they may do.
	Denied Code = "SinkDenied"
	// NotFound is a topic or a stream that does not exist.
	NotFound Code = "SinkNotFound"
	// TooLarge is an event that is larger than the broker takes.
	TooLarge Code = "SinkEventTooLarge"
	// Unfit is a stream that cannot keep a position: others publish to it, or it drops its last message.
	Unfit Code = "SinkUnfit"
	// Failed is any other failure.
	Failed Code = "SinkFailed"
)

// Error is a failure of a sink.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func failure(code Code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// Temporary reports whether a run can continue after an error, by Resume.
func Temporary(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == Unreachable
}

// Options says how events are written.
type Options struct {
	Graph    string // of the events
	Debezium bool   // as Debezium's connectors do, with its keys and tombstones
	// Lost is told of each failed connection that the sink tries again.
	Lost func(error)
}

const (
	// connectTime is how long opening a sink waits for a broker, and dialPause the time after a connection that fails.
	connectTime = 30 * time.Second
	dialPause   = 250 * time.Millisecond
)

// Open connects to the broker that an address names: kafka://BROKER[,BROKER]/TOPIC or nats://SERVER[,SERVER]/SUBJECT, with parameters.
func Open(ctx context.Context, to string, o Options) (Sink, error) {
	a, err := parseAddress(to)
	if err != nil {
		return nil, cli.Error{Code: cli.Usage, Err: fmt.Errorf("--to: %w", err)}
	}
	open := openKafka
	if a.scheme == "nats" {
		open = openNATS
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	s, err := open(ctx, a, o)
	for Temporary(err) && ctx.Err() == nil { // it may be starting, as this run is
		select {
		case <-ctx.Done():
		case <-time.After(dialPause):
			s, err = open(ctx, a, o)
		}
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		err = cli.Error{Code: cli.Usage, Err: fmt.Errorf("--to: %w", err)}
	}
	return s, err
}
