package request

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a connection that counts the deadlines set.
type counted struct {
	net.Conn
	reads, writes int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

// pipe returns a paced connection, what counts its deadlines, and its other end.
func pipe(t *testing.T) (*Paced, *counted, net.Conn) {
	t.Helper()
	server, client := net.Pipe()
	t.Cleanup(func() { _, _ = server.Close(), client.Close() })
	c := &counted{Conn: server}
	return NewPaced(c), c, client
}

// at runs f after a duration.
func at(d time.Duration, f func()) { go func() { time.Sleep(d); f() }() }

func in(d time.Duration) time.Time { return time.Now().Add(d) }

// TestPacedReads reads within deadlines that are set before and during a read.
func TestPacedReads(t *testing.T) {
	const short, long = 10 * time.Second, time.Minute
	for _, c := range []struct {
		name         string
		before       []time.Duration // deadlines set before the read; 0: none
		during       time.Duration   // set after a second; 0: none is
		sent         time.Duration   // when a byte comes; 0: never
		late         bool
		after        time.Duration // when the read ends
		networkReads int
	}{
		{"in time", []time.Duration{short}, 0, 5 * time.Second, false, 5 * time.Second, 1},
		{"late", []time.Duration{short}, 0, 0, true, short, 1},
		{"later than the first", []time.Duration{short, long, 0, long}, 0, 0, true, long, 1},
		{"sooner than the first", []time.Duration{long, short}, 0, 0, true, short, 1},
		{"without any more", []time.Duration{short, 0}, 0, long, false, long, 0},
		{"past before", []time.Duration{-1}, 0, 0, true, 0, 1},
		{"past during", []time.Duration{long}, -1, 0, true, time.Second, 2},
		{"sooner during", []time.Duration{long}, short, 0, true, time.Second + short, 2},
		{"later during", []time.Duration{short}, long, 0, true, time.Second + long, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, counts, client := pipe(t)
				for _, d := range c.before {
					until := in(d)
					if d == 0 {
						until = time.Time{}
					}
					_ = p.SetReadDeadline(until)
				}
				if c.during != 0 {
					at(time.Second, func() { _ = p.SetReadDeadline(in(c.during)) })
				}
				if c.sent != 0 {
					at(c.sent, func() { _, _ = client.Write([]byte{1}) })
				}
				began := time.Now()
				_, err := p.Read(make([]byte, 1))
				if errors.Is(err, os.ErrDeadlineExceeded) != c.late || (err != nil) != c.late {
					t.Errorf("the read ended with %v, want late: %v", err, c.late)
				}
				if took := time.Since(began); took.Round(time.Millisecond) != c.after {
					t.Errorf("the read took %v, want %v", took, c.after)
				}
				if counts.reads != c.networkReads {
					t.Errorf("%d deadlines of the network, want %d", counts.reads, c.networkReads)
				}
			})
		})
	}
}

// TestPacedReadAfterAbort reads again after a deadline in the past has ended a read, as net/http does with each body.
func TestPacedReadAfterAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, client := pipe(t)
		for range 3 {
			at(time.Second, func() { _ = p.SetReadDeadline(time.Unix(1, 0)) })
			if _, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("an aborted read ended with %v", err)
			}
			_ = p.SetReadDeadline(time.Time{})
			_ = p.SetReadDeadline(in(time.Minute))
			at(time.Second, func() { _, _ = client.Write([]byte{1}) })
			if _, err := p.Read(make([]byte, 1)); err != nil {
				t.Fatalf("the read after it ended with %v", err)
			}
		}
	})
}

// TestPacedWrites gives each write its whole time, whenever the one before was.
func TestPacedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, counts, client := pipe(t)
		for _, pause := range []time.Duration{0, time.Second, WriteTime - 2*time.Second, 3 * WriteTime} {
			time.Sleep(pause)
			at(WriteTime-time.Second, func() { _, _ = client.Read(make([]byte, 2)) })
			if n, err := p.Write([]byte{1, 2}); n != 2 || err != nil {
				t.Fatalf("a write after %v ended after %d bytes with %v", pause, n, err)
			}
		}
		before := counts.writes
		for range 100 {
			go func() { _, _ = client.Read(make([]byte, 2)) }()
			if _, err := p.Write([]byte{1, 2}); err != nil {
				t.Fatal(err)
			}
		}
		if set := counts.writes - before; set > 1 {
			t.Errorf("%d deadlines of the network for 100 writes at once", set)
		}
		began := time.Now()
		at(time.Second, func() { _, _ = client.Read(make([]byte, 1)) })
		if n, err := p.Write([]byte{1, 2}); n != 1 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) < WriteTime {
			t.Errorf("a write whose client reads one byte ended after %v and %d bytes with %v", time.Since(began), n, err)
		}
	})
}

// TestPacedWriteEnds ends a running write by a deadline set from outside.
func TestPacedWriteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := pipe(t)
		at(time.Second, func() { _ = p.SetDeadline(time.Unix(1, 0)) })
		began := time.Now()
		if _, err := p.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began).Round(time.Millisecond) != time.Second {
			t.Errorf("it ended after %v with %v", time.Since(began), err)
		}
	})
}
