package kv

import (
	"fmt"
	"sync"
)

// guards are the goroutines that make calls in which Pebble may block forever. They are reused so that commits do not regrow a stack.
type guards struct {
	mu    sync.Mutex
	idle  []*guardian
	ended bool
}

type guardian struct {
	do   chan func() error
	done chan error
}

// mostIdle is the maximum number of idle goroutines.
const mostIdle = 16

func (gs *guards) take() *guardian {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	n := len(gs.idle)
	if n == 0 {
		return nil
	}
	g := gs.idle[n-1]
	gs.idle = gs.idle[:n-1]
	return g
}

// put returns a goroutine to the idle ones, or ends it.
func (gs *guards) put(g *guardian) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.ended || len(gs.idle) == mostIdle {
		close(g.do)
		return
	}
	gs.idle = append(gs.idle, g)
}

// end ends the idle goroutines, and the others when they become idle.
func (gs *guards) end() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.ended = true
	for _, g := range gs.idle {
		close(g.do)
	}
	gs.idle = nil
}

// Guard runs a call that may block forever in Pebble, or panic with Pebble's locks held, and returns its error.
func (in *Instance) Guard(f func() error) error {
	g := in.guards.take()
	if g == nil {
		g = &guardian{make(chan func() error), make(chan error, 1)}
		go func() {
			for f := range g.do {
				g.done <- in.try(f)
			}
		}()
	}
	g.do <- f
	select {
	case err := <-g.done:
		in.guards.put(g)
		return err
	case <-in.failed:
		// Unless it is blocked, the goroutine ends after this call.
		close(g.do)
		return in.Fault
	}
}

// try runs f and turns a panic into a fault of the instance.
func (in *Instance) try(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
			in.wedge(err)
		}
	}()
	return f()
}
