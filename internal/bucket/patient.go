package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// silence is how long a server may send nothing while a read waits.
const silence = 2 * time.Minute

var errSilent = fmt.Errorf("the server has sent nothing for %v", silence)

// within bounds a request with a short response.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, silence, errSilent)
}

// lateness replaces the error of a request by the reason if the server was silent.
func lateness(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// patient is a body whose reads fail only if the server stops sending.
type patient struct {
	io.ReadCloser
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	late   *time.Timer // runs while a read waits
}

// Patient opens a body. The request lasts until Close, until ctx ends, or until a read has waited for two minutes without data.
func Patient(ctx context.Context, open func(ctx context.Context) (io.ReadCloser, error)) (io.ReadCloser, error) {
	p := &patient{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.late = time.AfterFunc(silence, func() { p.cancel(errSilent) })
	var err error
	p.ReadCloser, err = open(p.ctx)
	p.late.Stop()
	if err != nil {
		err = lateness(p.ctx, err)
		p.cancel(nil)
		return nil, err
	}
	return p, nil
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	p.late.Reset(silence)
	n, err := p.ReadCloser.Read(b)
	p.late.Stop()
	return n, lateness(p.ctx, err)
}

// Close implements io.Closer.
func (p *patient) Close() error {
	err := p.ReadCloser.Close()
	p.cancel(nil)
	return err
}
