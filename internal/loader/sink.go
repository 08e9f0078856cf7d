package loader

import (
	"context"
	"io"
)

// Sink receives the batches of a load: a server, or a session in this process.
type Sink interface {
	// Begin opens the load and returns the progress of an earlier run.
	Begin(ctx context.Context, o Open) (Opened, error)
	// Pack encodes a batch for Send and is safe for concurrent use. copied reports whether the message shares no memory with the batch.
	Pack(b *Batch) (msg any, copied bool)
	// Send sends a message, in the order of batch numbers. One goroutine calls Send, another calls Recv.
	Send(msg any) error
	// Finish ends the sequence of batches.
	Finish() error
	// Recv returns the acknowledgements in the order of the batches, then io.EOF. One with number 0 only corrects the counts.
	Recv() (Ack, error)
}

// local is a sink that applies batches in this process.
type local struct {
	l       *Loader
	s       *Session
	ctx     context.Context // of the load; Begin is called once
	batches chan *Batch
	done    <-chan struct{}
	acks    []Ack
}

// NewLocal returns a sink for one load of a loader in this process.
func NewLocal(l *Loader) Sink { return &local{l: l, batches: make(chan *Batch, 8)} }

func (s *local) Begin(ctx context.Context, o Open) (Opened, error) {
	var err error
	s.ctx, s.done = ctx, ctx.Done()
	if s.s, err = s.l.Begin(ctx, o); err != nil {
		return Opened{}, err
	}
	return s.s.Opened(), nil
}

func (s *local) Pack(b *Batch) (any, bool) { return b, false }

func (s *local) Send(msg any) error {
	select {
	case s.batches <- msg.(*Batch):
		return nil
	case <-s.done:
		return context.Cause(s.ctx)
	}
}

func (s *local) Finish() error {
	close(s.batches)
	return nil
}

func (s *local) Recv() (Ack, error) {
	if len(s.acks) > 0 {
		a := s.acks[0]
		s.acks = s.acks[1:]
		return a, nil
	}
	var group []*Batch
	select {
	case b, ok := <-s.batches:
		if !ok {
			s.s.Close()
			return Ack{}, io.EOF
		}
		group = append(group, b)
	case <-s.done:
		return Ack{}, context.Cause(s.ctx)
	}
	for more := true; more; {
		select {
		case b, ok := <-s.batches:
			if more = ok; ok {
				group = append(group, b)
			} else {
				// A closed channel stays closed: the next call sees it again.
				more = false
			}
		default:
			more = false
		}
	}
	acks, err := s.s.Apply(s.ctx, group)
	if err != nil {
		return Ack{}, err
	}
	s.acks = acks[1:]
	return acks[0], nil
}
