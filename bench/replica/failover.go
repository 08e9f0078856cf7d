package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"
)

// ending is a way in which a process of a cluster ends.
type ending struct {
	name    string
	signal  syscall.Signal
	follows bool // it is not the one that leads the cluster
}

var endings = []ending{
	{"kill -9 of the leader", syscall.SIGKILL, false},
	{"SIGTERM to the leader", syscall.SIGTERM, false},
	{"kill -9 of another", syscall.SIGKILL, true},
}

// failovers ends processes of a cluster with three replicas while clients of its gateway write and read, and prints how long clients
// wait: the longest time without a commit and the longest read, each around one end.
func failovers(w io.Writer, o *options, dir string) (err error) {
	c, err := startCluster(o, filepath.Join(dir, "failover"), 3)
	if c != nil && c.front != nil {
		defer c.stop()
	}
	if err != nil {
		return err
	}
	for _, s := range []string{"CREATE CONSTRAINT ids FOR (n:N) REQUIRE n.id IS UNIQUE", "UNWIND range(0, 999) AS i CREATE (:N {id: -1 - i})"} {
		if _, err := c.query(s, 0); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\n%d ends of processes of each kind, 4 clients write and 4 read\n", o.kills)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tno commit for: p50\tp90\tp99\tmost\tlongest read: p50\tp99\tfailed writes\tfailed reads\t")
	var drawn []distribution
	for _, e := range endings {
		pauses, reads, failed, err := e.measure(c, o.kills)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintf(t, "%s\t", e.name)
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			fmt.Fprintf(t, "%.0f ms\t", milliseconds(quantile(pauses, q)))
		}
		fmt.Fprintf(t, "%.0f ms\t%.0f ms\t%d\t%d\t\n", milliseconds(quantile(reads, 0.5)), milliseconds(quantile(reads, 0.99)), failed[0], failed[1])
		drawn = append(drawn, distribution{e.name, pauses})
	}
	if err := t.Flush(); err != nil || o.svg == "" {
		return err
	}
	return os.WriteFile(o.svg, draw(drawn), 0o600)
}

// load is what clients do meanwhile. Each slice belongs to one kind of requests: writes, then reads.
type load struct {
	mu     sync.Mutex
	ends   []time.Time     // of commits
	reads  []time.Duration // of reads that were answered
	failed [2]int
	next   atomic.Int64
	stop   chan struct{}
}

// start has clients work until stop is closed.
func (l *load) start(c *deployment, running *sync.WaitGroup) {
	const clients = 4 // of each kind
	for i := range 2 * clients {
		running.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				var err error
				start := time.Now()
				if i < clients {
					_, err = c.query("CREATE (:N {id: $id})", int(l.next.Add(1)))
				} else {
					_, err = c.query("MATCH (n:N {id: -$id}) RETURN n.id", 1+int(start.UnixNano()%1000))
				}
				now := time.Now()
				l.mu.Lock()
				switch {
				case err != nil:
					l.failed[i/clients]++
				case i < clients:
					l.ends = append(l.ends, now)
				default:
					l.reads = append(l.reads, now.Sub(start))
				}
				l.mu.Unlock()
			}
		})
	}
}

// after waits until so many commits and reads have ended.
func (l *load) after(n int) error {
	var ends, reads int
	for i := range 12_000 {
		l.mu.Lock()
		if i == 0 {
			ends, reads = len(l.ends)+n, len(l.reads)+n
		}
		done := len(l.ends) >= ends && len(l.reads) >= reads
		l.mu.Unlock()
		if done {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("nothing goes on for a minute")
}

// around forgets what has ended and returns the longest pause of commits and the longest read.
func (l *load) around() (pause, read time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.ends, time.Time.Compare)
	for i := 1; i < len(l.ends); i++ {
		pause = max(pause, l.ends[i].Sub(l.ends[i-1]))
	}
	if len(l.reads) > 0 {
		read = slices.Max(l.reads)
	}
	l.ends, l.reads = nil, nil
	return pause, read
}

// measure ends a process so many times. It returns sorted times, and how many writes and reads failed.
func (e *ending) measure(c *deployment, n int) (pauses, reads []time.Duration, failed [2]int, err error) {
	const steady = 50
	l := &load{stop: make(chan struct{})}
	l.next.Store(time.Now().UnixNano())
	var running sync.WaitGroup
	l.start(c, &running)
	defer running.Wait()
	defer close(l.stop)
	for range n {
		victim, err := c.leader()
		if err != nil {
			return nil, nil, failed, err
		}
		if e.follows {
			victim = (victim + 1) % len(c.shards)
		}
		if err := l.after(steady); err != nil {
			return nil, nil, failed, err
		}
		l.around()
		if err := l.after(steady / 10); err != nil {
			return nil, nil, failed, err
		}
		p := c.shards[victim]
		p.end(e.signal)
		if err := l.after(steady); err != nil {
			return nil, nil, failed, err
		}
		pause, read := l.around()
		pauses, reads = append(pauses, pause), append(reads, read)
		if err := errors.Join(p.start(), p.await()); err != nil {
			return nil, nil, failed, err
		}
	}
	slices.Sort(pauses)
	slices.Sort(reads)
	l.mu.Lock()
	defer l.mu.Unlock()
	return pauses, reads, l.failed, nil
}
