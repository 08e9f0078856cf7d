package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// silence is how long a server may send nothing while it is waited for.
const silence = 2 * time.Minute

var errSilent = fmt.Errorf("the server has sent nothing for %v", silence)

// within bounds a request whose answer is short.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, silence, errSilent)
}

// lateness gives why a request failed: that its server was silent, if it was.
func lateness(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// patient is a body that is read while its server sends.
type patient struct {
	io.ReadCloser
	ctx    context.Context // of its request
	cancel context.CancelCauseFunc
	late   *time.Timer // runs while the server is waited for
}

// Patient opens a body, whose request lasts until Close, or ctx ends, or nothing has come for two minutes while somebody waited
// for it.
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
