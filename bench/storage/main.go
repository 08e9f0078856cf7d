// Command storage measures the effect of separating large values from keys, in Hopgate's layout and in one with a key for each record,
// after NebulaGraph's study of key-value separation.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

func main() {
	o := options{}
	flag.Float64Var(&o.scale, "scale", 1, "size of the network: 1 is 4,000 people and 2,000 comments, 60 MB")
	flag.DurationVar(&o.time, "time", 500*time.Millisecond, "time of each cell of the tables")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where to put the stores")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "storage:", err)
		os.Exit(1)
	}
}

type options struct {
	scale float64
	time  time.Duration
	dir   string
}

// threshold is the size from which values are stored separately.
type threshold struct {
	name string
	size int
}

var thresholds = []threshold{{"off", off}, {"100 B", 100}, {"4 KB", 4 << 10}}

// cell holds the measurements of a workload.
type cell struct{ p50, p99 time.Duration }

// run prints a table for each cache mode.
func run(w io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "hopgate-storage-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := newData(o.scale)
	// The block cache holds an eighth of the texts.
	cache := max(1<<20, int64(len(d.comments))*(30<<10)/8)
	fmt.Fprintf(w, "%d people, %d edges, %d comments; block cache %d MiB\n", len(d.people), len(d.knows), len(d.comments), cache>>20)
	for _, mode := range []kv.CacheMode{kv.CacheBlocks, kv.CachePages, kv.CacheDirect} {
		var columns []map[string]cell
		var sizes []uint64
		for li, l := range layouts {
			for ti, t := range thresholds {
				s := setup{filepath.Join(dir, fmt.Sprint(li, "-", ti)), t.size, mode, cache}
				column, size, err := measure(l, s, d, o.time)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", mode, l.name, t.name, err)
				}
				columns, sizes = append(columns, column), append(sizes, size)
			}
		}
		if err := table(w, mode, columns, sizes); err != nil {
			return err
		}
	}
	return nil
}

// measure runs all workloads on a store, which it fills if it is missing.
func measure(l layout, s setup, d *data, limit time.Duration) (_ map[string]cell, size uint64, err error) {
	if _, serr := os.Stat(s.dir); serr != nil {
		if err := os.Mkdir(s.dir, 0o755); err != nil {
			return nil, 0, err
		}
		filled, err := l.open(setup{s.dir, s.threshold, kv.CacheBlocks, s.cache}, d, true)
		if err != nil {
			return nil, 0, err
		}
		if err := errors.Join(filled.settle(), filled.close()); err != nil {
			return nil, 0, err
		}
	}
	st, err := l.open(s, d, false)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	size = st.size()
	out := map[string]cell{}
	for _, load := range workloads {
		rng := rand.New(rand.NewPCG(3, 5))
		var took []time.Duration
		for began := time.Now(); len(took) < 5 || time.Since(began) < limit && len(took) < 20_000; {
			start := time.Now()
			if err := load.run(st, d, rng); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", load.name, err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		out[load.name] = cell{took[len(took)/2], took[len(took)*99/100]}
	}
	return out, size, nil
}

// workload is one operation, at random places.
type workload struct {
	name string
	run  func(s store, d *data, rng *rand.Rand) error
}

var workloads = []workload{
	{"1 step", steps(1)},
	{"2 steps", steps(2)},
	{"3 steps", steps(3)},
	{"5 steps", steps(5)},
	{"shortest path", func(s store, d *data, rng *rand.Rand) error {
		from, to := rng.IntN(len(d.people)), rng.IntN(len(d.people))
		seen := map[int]bool{from: true}
		for at := []int{from}; len(at) > 0 && !seen[to]; {
			next, err := s.step(at)
			if err != nil {
				return err
			}
			at = slices.DeleteFunc(next, func(p int) bool { return seen[p] })
			for _, p := range at {
				seen[p] = true
			}
		}
		return nil
	}},
	{"small vertex properties", func(s store, d *data, rng *rand.Rand) error {
		_, err := s.names(rng.IntN(len(d.people)))
		return err
	}},
	{"large vertex properties", func(s store, d *data, rng *rand.Rand) error {
		_, err := s.texts([]int{rng.IntN(len(d.comments)), rng.IntN(len(d.comments)), rng.IntN(len(d.comments))})
		return err
	}},
	{"edge properties", func(s store, d *data, rng *rand.Rand) error {
		_, err := s.since(rng.IntN(len(d.people)))
		return err
	}},
	{"insert, synced", func(s store, d *data, rng *rand.Rand) error {
		return s.insert(rng.IntN(len(d.people)), d.comments[rng.IntN(len(d.comments))])
	}},
}

func steps(n int) func(s store, d *data, rng *rand.Rand) error {
	return func(s store, d *data, rng *rand.Rand) (err error) {
		at := []int{rng.IntN(len(d.people))}
		for range n {
			if at, err = s.step(at); err != nil {
				return err
			}
		}
		return nil
	}
}

// table prints one cache mode: the times of each layout and threshold, and their change relative to the same layout without separation and
// to the naive layout without separation.
func table(w io.Writer, mode kv.CacheMode, columns []map[string]cell, sizes []uint64) error {
	fmt.Fprintf(w, "\ncache mode %s\n\n", mode)
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprint(tw, "|\t")
	for _, l := range layouts {
		for _, t := range thresholds {
			fmt.Fprintf(tw, "| %s, %s\t", l.name, t.name)
		}
	}
	fmt.Fprintf(tw, "| by separation\t| by the layout\t|\n|---\t%s|---\t|---\t|\n", strings.Repeat("|---\t", len(columns)))
	first := len(thresholds) // of our layout's columns
	row := func(name, what string, of func(c cell) time.Duration) {
		fmt.Fprintf(tw, "| %s, %s\t", name, what)
		for _, c := range columns {
			fmt.Fprintf(tw, "| %v\t", short(of(c[name])))
		}
		fmt.Fprintf(tw, "| %s, %s\t| %s\t|\n", less(of(columns[0][name]), of(columns[first-1][name])),
			less(of(columns[first][name]), of(columns[len(columns)-1][name])), less(of(columns[0][name]), of(columns[first][name])))
	}
	for _, l := range workloads {
		row(l.name, "P50", func(c cell) time.Duration { return c.p50 })
		row(l.name, "P99", func(c cell) time.Duration { return c.p99 })
	}
	fmt.Fprint(tw, "| MB on disk\t")
	for _, s := range sizes {
		fmt.Fprintf(tw, "| %.1f\t", float64(s)/1e6)
	}
	fmt.Fprint(tw, "|\t|\t|\n")
	return tw.Flush()
}

// less returns by how many percent b is less than a.
func less(a, b time.Duration) string { return fmt.Sprintf("%+.0f%%", 100*(float64(b)/float64(a)-1)) }

// short rounds a time to three digits.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
