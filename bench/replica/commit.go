package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
	"github.com/hopgate/hopgate/internal/faultnet"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// setup is a cluster whose commits are measured.
type setup struct {
	name      string
	processes int
	replicas  int
	shards    int
	link      time.Duration // between two processes, there and back
}

// commits measures commits through a gateway in this process, which no simulated link delays.
func commits(w io.Writer, o *options, _ string) error {
	setups := []setup{
		{"1 replica", 1, 1, 1, 0},
		{"3 replicas, loopback", 3, 3, 1, 0},
		{"3 replicas of 3 shards, loopback", 3, 3, 3, 0},
		{"3 replicas of 16 shards, loopback", 3, 3, 16, 0},
		{"3 replicas, 0.1 ms", 3, 3, 1, 100 * time.Microsecond},
		{"3 replicas, 1 ms", 3, 3, 1, time.Millisecond},
	}
	for _, sync := range []time.Duration{200 * time.Microsecond, 2 * time.Millisecond} {
		fmt.Fprintf(w, "\ncommits of one vertex, a sync of %v takes %v\n", sync, took(func() { sleep(sync) }))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(t, "\tround trip\t")
		for _, n := range o.clients {
			fmt.Fprintf(t, "%d clients: p50\tp99\tcommits/s\t", n)
		}
		fmt.Fprintln(t)
		for _, s := range setups {
			if err := s.measure(t, o, sync); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// took returns the median duration of a function.
func took(f func()) time.Duration {
	var times []time.Duration
	for range 101 {
		start := time.Now()
		f()
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2].Round(time.Microsecond)
}

// measure prints the row of a setup.
func (s *setup) measure(w io.Writer, o *options, sync time.Duration) (err error) {
	addresses, err := proc.FreeAddresses(s.processes)
	if err != nil {
		return err
	}
	named := func(int) []string { return addresses }
	trip := "–"
	if s.link > 0 {
		n, err := faultnet.New(addresses, s.link/2)
		if err != nil {
			return err
		}
		defer n.Close()
		named = func(no int) []string { return n.Addresses(no, s.processes) }
		if trip, err = roundTrip(s.link); err != nil {
			return err
		}
	}
	for i := range s.processes {
		stop, err2 := startPart(&partSettings{No: i, Replicas: s.replicas, Shards: s.shards, Listen: addresses[i], Addresses: named(i), Sync: sync})
		if err2 != nil {
			return err2
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	store, err := gateway.Open(addresses)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e := query.New(store, query.Options{})
	if err := commit(e, "CREATE CONSTRAINT ids FOR (n:N) REQUIRE n.id IS UNIQUE", 0); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\t%s\t", s.name, trip)
	var next atomic.Int64
	for _, clients := range o.clients {
		if _, _, err := hammer(e, &next, clients, o.cell/5); err != nil { // until connections and caches are warm
			return err
		}
		times, rate, err := hammer(e, &next, clients, o.cell)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%.2f ms\t%.2f ms\t%.0f\t", milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.99)), rate)
	}
	fmt.Fprintln(w)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile returns a quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// hammer commits by so many clients for a time. It returns the sorted times of the commits, and how many there are a second.
func hammer(e *query.Engine, next *atomic.Int64, clients int, length time.Duration) (times []time.Duration, rate float64, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	start := time.Now()
	for range clients {
		running.Go(func() {
			var own []time.Duration
			var failed error
			for failed == nil && time.Since(start) < length {
				began := time.Now()
				failed = commit(e, "CREATE (:N {id: $id, name: 'somebody', age: 33})", next.Add(1))
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			times, err = append(times, own...), errors.Join(err, failed)
		})
	}
	running.Wait()
	rate = float64(len(times)) / time.Since(start).Seconds()
	slices.Sort(times)
	return times, rate, err
}

func commit(e *query.Engine, statement string, id int64) error {
	res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: map[string]graph.Value{"id": graph.IntValue(id)}})
	if err != nil {
		return err
	}
	res.Close()
	return nil
}
