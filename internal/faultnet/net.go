package faultnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Net relays TCP from any of its nodes to any other. What it holds up arrives later, as TCP resends it behind a partition; nothing that
// has arrived at the relay is lost unless one of the ends closes its connection.
type Net struct {
	targets []string
	delay   time.Duration
	links   [][]net.Listener // by caller and called, nil where there is nothing to relay
	ctx     context.Context  // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	blocked [][]bool      // by sender and receiver of bytes
	changed chan struct{} // closed when blocked changes
}

// New returns a network of nodes that listen at targets, "" for one that only calls others. Every byte takes delay to arrive.
func New(targets []string, delay time.Duration) (_ *Net, err error) {
	n := &Net{targets: targets, delay: delay, changed: make(chan struct{})}
	n.ctx, n.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	for range targets {
		n.links = append(n.links, make([]net.Listener, len(targets)))
		n.blocked = append(n.blocked, make([]bool, len(targets)))
	}
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

// Block holds up what goes from one node to another, in connections of either, for as long as blocks returns true for them. A nil
// blocks heals the network.
func (n *Net) Block(blocks func(from, to int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for from := range n.blocked {
		for to := range n.blocked[from] {
			n.blocked[from][to] = blocks != nil && from != to && blocks(from, to)
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

// pass waits until bytes may go from one node to another.
func (n *Net) pass(ctx context.Context, from, to int) error {
	for {
		n.mu.Lock()
		blocked, changed := n.blocked[from][to], n.changed
		n.mu.Unlock()
		if !blocked {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
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
	defer context.AfterFunc(ctx, func() { _ = c.Close(); _ = d.Close() })()
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
		if rest := n.delay - time.Since(p.at); rest > 0 {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
			}
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
