package query

import (
	"context"
	"sync/atomic"
)

// lazyContext is a request's context, cancelled by itself or with its parent. Most requests are short, and no one waits for
// their end or derives a context from theirs, so it creates a cancellable context only on demand.
type lazyContext struct {
	context.Context // the parent
	owner           *Running
	made            atomic.Pointer[cancelable]
	over            atomic.Bool
}

// cancelable is the context that a lazyContext creates on demand.
type cancelable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// make returns the cancellable context.
func (c *lazyContext) make() *cancelable {
	if m := c.made.Load(); m != nil {
		return m
	}
	m := &cancelable{}
	m.Context, m.cancel = context.WithCancelCause(c.Context)
	if !c.made.CompareAndSwap(nil, m) {
		m.cancel(nil)
		return c.made.Load()
	}
	if c.over.Load() { // end sets it first and may have seen nothing to cancel
		m.cancel(nil)
	}
	return m
}

// cancel ends the context with a cause.
func (c *lazyContext) cancel(cause error) { c.make().cancel(cause) }

// end ends the context unless it has ended.
func (c *lazyContext) end() {
	c.over.Store(true)
	if m := c.made.Load(); m != nil {
		m.cancel(nil)
	}
}

// Done implements context.Context.
func (c *lazyContext) Done() <-chan struct{} { return c.make().Done() }

// Err implements context.Context.
func (c *lazyContext) Err() error {
	if m := c.made.Load(); m != nil {
		return m.Err()
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context. context.Cause finds the cause by it.
func (c *lazyContext) Value(key any) any {
	if key == (runningKey{}) {
		return c.owner
	}
	if m := c.made.Load(); m != nil {
		return m.Value(key)
	}
	return c.Context.Value(key)
}
