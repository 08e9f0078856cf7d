// Command fetch measures JSON-array fetches through a real server process: a million rows of 9 columns, short lists, and a nested list
// compared with the same vertices flat.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of hopgate and graphctl")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where to put the data")
	flag.StringVar(&o.memory, "memory", "512MiB", "the server's --memory")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of the long list")
	flag.IntVar(&o.runs, "runs", 7, "runs of each long fetch")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, dir, memory string
	rows, runs       int
}

// measured is a fetch and the number of its runs.
type measured struct {
	name, body string
	runs       int
}

func (o *options) fetches() []measured {
	return []measured{
		{"all rows", fmt.Sprintf(`{"Record[]": {"count": %d, "Record": {}}}`, o.rows), o.runs},
		{"all rows, a condition", fmt.Sprintf(`{"Record[]": {"count": %d, "Record": {"id>": 0, "name$": "User%%"}}}`, o.rows), o.runs},
		{"all rows by @order of the key", fmt.Sprintf(`{"Record[]": {"count": %d, "Record": {"@order": "id+"}}}`, o.rows), o.runs},
		{"all rows by @order of the key, down", fmt.Sprintf(`{"Record[]": {"count": %d, "Record": {"@order": "id-"}}}`, o.rows), o.runs},
		{"100 rows", `{"Record[]": {"count": 100, "Record": {}}}`, 300},
		{"100 rows of page 1,000 by @order", `{"Record[]": {"count": 100, "page": 1000, "Record": {"@order": "id+"}}}`, 100},
		{"nested by hops", fmt.Sprintf(`{"[]": {"count": %d, "Moment": {}, "User": {"id@": "/Moment/userId"},
			"Comment[]": {"hop": "<ON", "count": %d, "Comment": {}}, "User[]": {"hop": "<LIKES", "count": %d, "User": {}}}}`,
			nestedMoments, nestedComments, nestedLikes), 40},
		{"nested by references", fmt.Sprintf(`{"[]": {"count": %d, "Moment": {}, "User": {"id@": "/Moment/userId"},
			"Comment[]": {"count": %d, "Comment": {"momentId@": "[]/Moment/id"}}, "User[]": {"hop": "<LIKES", "count": %d, "User": {}}}}`,
			nestedMoments, nestedComments, nestedLikes), 40},
		{"the same flat", fmt.Sprintf(`{"Moment[]": {"count": %d, "Moment": {}}, "Comment[]": {"count": %d, "Comment": {}},
			"User[]": {"count": %d, "User": {}}, "User:again[]": {"count": %[3]d, "User:again": {}}}`,
			nestedMoments, nestedMoments*nestedComments, people), 40},
	}
}

// run loads the graph into a new server and prints a table.
func run(w io.Writer, o options) (err error) {
	bin, err := filepath.Abs(o.bin) // programs run in the directory of the data
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "hopgate-fetch-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := generate(dir, o.rows); err != nil {
		return err
	}
	s, err := proc.Start(bin, "serve", "--data-dir", filepath.Join(dir, "data"), "--memory", o.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := s.Graphctl(dir, "load", "mapping.yaml"); err != nil {
		return err
	}
	// The load leaves memory behind that fetches do not use: a new process shows what the fetches need.
	if err := s.Restart(); err != nil {
		return err
	}
	idle, err := s.Memory("VmRSS")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d rows of 9 columns; the idle server has %d MiB\n", o.rows, idle>>20)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "fetch\tfirst byte p50\tall p50\tp99\tserver CPU\tMB\tMB/s\tMiB above idle\t")
	for _, m := range o.fetches() {
		r, err := measure(s, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		rate := float64(r.size) / 1e6 / r.all.Seconds()
		fmt.Fprintf(t, "%s\t%v\t%v\t%v\t%v\t%.1f\t%.0f\t%d\t\n", m.name, r.first.Round(10*time.Microsecond), r.all.Round(10*time.Microsecond),
			r.p99.Round(10*time.Microsecond), r.busy.Round(100*time.Microsecond), float64(r.size)/1e6, rate, (int64(r.peak)-int64(idle))>>20)
	}
	return t.Flush()
}
