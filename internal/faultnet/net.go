package faultnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Net relays TCP from any of its nodes to any other. What it holds up arrives later, as TCP resends it behind a partition; nothing that
// has arrived at the relay is lost unless one of the ends closes its connection.
type Net struct {
	targets []string
	links   [][]net.Listener // by caller and called, nil where there is nothing to relay
	ctx     context.Context  // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	ways    [][]way       // by sender and receiver of bytes
	changed chan struct{} // closed when ways change
	delays  [][]time.Duration
}

// way is what happens to bytes on their way.
type way int

const (
	open way = iota
	blocked
	cut
)

var errCut = errors.New("the connection is cut")

// New returns a network of nodes that listen at targets, "" for one that only calls others. Every byte takes delay to arrive, see Slow.
func New(targets []string, delay time.Duration) (_ *Net, err error) {
	n := &Net{targets: targets, changed: make(chan struct{})}
	n.ctx, n.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	for range targets {
		n.links = append(n.links, make([]net.Listener, len(targets)))
		n.ways = append(n.ways, make([]way, len(targets)))
		n.delays = append(n.delays, make([]time.Duration, len(targets)))
	}
	n.Slow(delay, func(int, int) bool { return true })
	for from := range targets {
		for to, target := range targets {
			if to == from || target == "" {
				continue
			}
			l, err := (&net.ListenConfig{}).Listen(n.ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("listen for calls of node %d to node %d: %w", from, to, err)
			}
			n.links[from][to] = l
			n.running.Go(func() { n.accept(l, from, to) })
		}
	}
	return n, nil
}

// Address returns the address by which a node reaches another, or the target of a node itself.
func (n *Net) Address(from, to int) string {
	if l := n.links[from][to]; l != nil {
		return l.Addr().String()
	}
	return n.targets[to]
}

// Addresses returns the addresses by which a node reaches the first count nodes.
func (n *Net) Addresses(from, count int) []string {
	out := make([]string, count)
	for to := range out {
		out[to] = n.Address(from, to)
	}
	return out
}

// Block holds up what goes from one node to another, in connections of either, where blocks returns true, as a network does that loses
// packets. It replaces what was blocked and cut before.
func (n *Net) Block(blocks func(from, to int) bool) { n.set(blocks, blocked) }

// Cut resets the connections between two nodes, and refuses new ones, where cuts returns true for one of their directions, as a
// firewall does. It replaces what was blocked and cut before.
func (n *Net) Cut(cuts func(from, to int) bool) { n.set(cuts, cut) }

// Heal ends what Block and Cut do.
func (n *Net) Heal() { n.set(func(int, int) bool { return false }, open) }

// Slow makes bytes take delay to arrive from one node at another, in connections of either, where slows returns true. Bytes on their way
// keep their order. Heal does not end it.
func (n *Net) Slow(delay time.Duration, slows func(from, to int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for from := range n.delays {
		for to := range n.delays[from] {
			if slows(from, to) {
				n.delays[from][to] = delay
			}
		}
	}
}

// delay returns how long bytes take from one node to another.
func (n *Net) delay(from, to int) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.delays[from][to]
}

func (n *Net) set(where func(from, to int) bool, w way) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for from := range n.ways {
		for to := range n.ways[from] {
			n.ways[from][to] = open
			if from != to && where(from, to) {
				n.ways[from][to] = w
			}
		}
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// Close ends all connections.
func (n *Net) Close() {
	n.end()
	for _, row := range n.links {
		for _, l := range row {
			if l != nil {
				_ = l.Close()
			}
		}
	}
	n.running.Wait()
}

// pass waits until bytes may go from one node to another, or returns why they never will.
func (n *Net) pass(ctx context.Context, from, to int) error {
	for {
		w, changed := n.look(from, to)
		switch w {
		case open:
			return ctx.Err()
		case cut:
			return errCut
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look returns what happens to bytes from one node to another until changed is closed.
func (n *Net) look(from, to int) (w way, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ways[from][to], n.changed
}

// watch calls f when a direction between two nodes is cut, unless ctx ends.
func (n *Net) watch(ctx context.Context, a, b int, f func()) {
	for {
		there, changed := n.look(a, b)
		back, _ := n.look(b, a)
		if there == cut || back == cut {
			f()
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (n *Net) accept(l net.Listener, from, to int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		n.running.Go(func() {
			if err := n.relay(c.(*net.TCPConn), from, to); err != nil {
				_ = c.(*net.TCPConn).SetLinger(0) // the caller's connection is reset
			}
			_ = c.Close()
		})
	}
}

// relay copies between a connection of from and a new one to to until both directions have ended.
func (n *Net) relay(c *net.TCPConn, from, to int) error {
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	// A connection takes packets of both ends.
	if err := errors.Join(n.pass(ctx, from, to), n.pass(ctx, to, from)); err != nil {
		return err
	}
	d, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.targets[to])
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	defer context.AfterFunc(ctx, func() {
		for _, end := range []*net.TCPConn{c, d.(*net.TCPConn)} {
			_ = end.SetLinger(0) // it is reset
			_ = end.Close()
		}
	})()
	n.running.Go(func() { n.watch(ctx, from, to, cancel) })
	var there sync.WaitGroup
	var sent error
	there.Go(func() {
		if sent = n.copy(ctx, d.(*net.TCPConn), c, from, to); sent != nil {
			cancel()
		}
	})
	returned := n.copy(ctx, c, d.(*net.TCPConn), to, from)
	if returned != nil {
		cancel()
	}
	there.Wait()
	return errors.Join(sent, returned)
}

// piece is what one read has returned.
type piece struct {
	bytes []byte
	at    time.Time
	err   error
}

// What a direction of a connection holds on its way at most.
const pieces, pieceBytes = 64, 32 << 10

// wake is about how much longer than its time a thread sleeps.
const wake = 55 * time.Microsecond

// copy copies from src, a connection of from, to dst, one of to, until src ends.
func (n *Net) copy(ctx context.Context, dst, src *net.TCPConn, from, to int) error {
	way := make(chan piece, pieces)
	n.running.Go(func() {
		defer close(way)
		for {
			b := make([]byte, pieceBytes)
			k, err := src.Read(b)
			select {
			case way <- piece{b[:k], time.Now(), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	for p := range way {
		if rest := n.delay(from, to) - time.Since(p.at); rest > wake/2 {
			// The thread sleeps, because the runtime's timers round up to a millisecond.
			rest = max(1, rest-wake)
			_ = unix.Nanosleep(&unix.Timespec{Sec: int64(rest / time.Second), Nsec: int64(rest % time.Second)}, nil)
		}
		if err := n.pass(ctx, from, to); err != nil {
			return err
		}
		if len(p.bytes) > 0 {
			if _, err := dst.Write(p.bytes); err != nil {
				return err
			}
		}
		if p.err != nil {
			return dst.CloseWrite()
		}
	}
	return ctx.Err()
}
