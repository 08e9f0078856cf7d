// Package lazy has the context of a request, which most requests never cancel.
package lazy

import (
	"context"
	"sync/atomic"
)

// Context is a request's context, cancelled by itself or with its parent. Most requests are short, and no one waits for
// their end or derives a context from theirs, so it creates a cancellable context only on demand.
//
// Its value for a key of type K is its owner.
type Context[K, O any] struct {
	context.Context // the parent
	Owner           *O
	made            atomic.Pointer[cancelable]
	over            atomic.Bool
}

// cancelable is the context that a Context creates on demand.
type cancelable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// make returns the cancellable context.
func (c *Context[K, O]) make() *cancelable {
	if m := c.made.Load(); m != nil {
		return m
	}
	m := &cancelable{}
	m.Context, m.cancel = context.WithCancelCause(c.Context)
	if !c.made.CompareAndSwap(nil, m) {
		m.cancel(nil)
		return c.made.Load()
	}
	if c.over.Load() { // End sets it first and may have seen nothing to cancel
		m.cancel(nil)
	}
	return m
}

// Cancel ends the context with a cause.
func (c *Context[K, O]) Cancel(cause error) { c.make().cancel(cause) }

// End ends the context unless it has ended.
func (c *Context[K, O]) End() {
	c.over.Store(true)
	if m := c.made.Load(); m != nil {
		m.cancel(nil)
	}
}

// Done implements context.Context.
func (c *Context[K, O]) Done() <-chan struct{} { return c.make().Done() }

// Err implements context.Context.
func (c *Context[K, O]) Err() error {
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
func (c *Context[K, O]) Value(key any) any {
	if _, own := key.(K); own {
		return c.Owner
	}
	if m := c.made.Load(); m != nil {
		return m.Value(key)
	}
	return c.Context.Value(key)
}
