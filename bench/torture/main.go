// Command torture makes many clients send the worst possible statements to a real server process with little memory. Before that, others read
// nothing or send slowly. It reports the effect on well-behaved requests, on the server's memory, and on the clients that send the worst.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

// Limits for the server: its memory in percent of --memory, and the slowest well-behaved requests relative to those of a quiet server.
const (
	mostMemory = 120
	mostSlower = 10
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of hopgate and graphctl")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where to put the data")
	flag.IntVar(&o.memory, "memory", 512, "the server's --memory in MiB")
	flag.IntVar(&o.people, "people", 50_000, "people, each of whom knows 10")
	flag.IntVar(&o.clients, "clients", 200, "clients that send the worst")
	flag.DurationVar(&o.quiet, "quiet", 10*time.Second, "how long the quiet server is measured")
	flag.IntVar(&o.slow, "slow", 200, "clients that read nothing or send slowly; 0 leaves this part out")
	flag.DurationVar(&o.torture, "torture", 60*time.Second, "how long each part lasts")
	flag.StringVar(&o.only, "only", "", "send this statement of the worst alone, by its name")
	flag.Parse()
	if err := run(os.Stdout, &o); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, dir, only          string
	memory, people, clients int
	slow                    int
	quiet, torture          time.Duration
}

// run loads the graph into a new server, tortures it, and prints the results. It fails if the server exceeds a limit.
func run(w io.Writer, o *options) (err error) {
	bin, err := filepath.Abs(o.bin) // programs run in the directory of the data
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "hopgate-torture-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := generate(dir, o.people); err != nil {
		return err
	}
	s, err := proc.Start(bin, "serve", "--data-dir", filepath.Join(dir, "data"), "--memory", fmt.Sprintf("%dMiB", o.memory))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := s.Graphctl(dir, "load", "mapping.yaml"); err != nil {
		return err
	}
	if err := s.Restart(); err != nil { // exclude the memory of the load
		return err
	}
	good := newMix(s.HTTP, o.people)
	all := withLarge()
	good.run(all, o.quiet/5) // warm the caches
	quiet := good.run(all, o.quiet)
	idle, err := s.Memory("VmRSS")
	if err != nil {
		return err
	}
	bad, err := newCrowd(s.HTTP, o)
	if err != nil {
		return err
	}
	var besideSlow []*times
	if o.slow > 0 {
		slow := startSlow(s.HTTP, o.slow)
		besideSlow = good.run(all, o.torture)
		slow.stop()
	}
	bad.start()
	beside := good.run(kinds, o.torture)
	bad.stop()
	if err := s.Alive(); err != nil {
		return err
	}
	peak, err := s.Memory("VmHWM")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "memory: %d MiB before, at most %d MiB, %d%% of --memory\n", idle>>20, peak>>20, peak*100/(uint64(o.memory)<<20))
	const header = "      quiet p50       p99    beside p50       p99  p99 ratio  requests  failed"
	var faults []error
	line := func(name string, q, b *times) {
		ratio := float64(b.at(99)) / float64(max(q.at(99), 1))
		fmt.Fprintf(w, "%-14s %12v %9v %13v %9v %10.1f %9d %7d\n", name, q.at(50), q.at(99), b.at(50), b.at(99), ratio, len(b.took), b.failed)
		if name == "all" && ratio > mostSlower {
			faults = append(faults, fmt.Errorf("the p99 of well-behaved requests is %.1f times that of a quiet server, more than %d", ratio, mostSlower))
		}
		if b.failed > 0 {
			faults = append(faults, fmt.Errorf("%s: %d failed, such as %s", name, b.failed, b.failure))
		}
	}
	part := func(name string, beside []*times) {
		fmt.Fprintf(w, "\n%s%s\n", name, header)
		for i := range beside {
			line(quiet[i].name, quiet[i], beside[i])
		}
		line("all", merged(quiet[:len(beside)]), merged(beside))
	}
	if o.slow > 0 {
		part("beside slow ", besideSlow)
	}
	part("beside worst", beside)
	fmt.Fprintln(w, "\nworst             outcome")
	for _, name := range slices.Sorted(maps.Keys(bad.outcomes)) {
		for _, outcome := range slices.Sorted(maps.Keys(bad.outcomes[name])) {
			n := bad.outcomes[name][outcome]
			fmt.Fprintf(w, "%-17s %6d × %s\n", name, n, outcome)
			if !allowed(outcome) {
				faults = append(faults, fmt.Errorf("%s: %d × %s, which is no right answer", name, n, outcome))
			}
		}
	}
	if peak*100 > uint64(o.memory)<<20*mostMemory {
		faults = append(faults, fmt.Errorf("the server took %d MiB, more than %d%% of --memory", peak>>20, mostMemory))
	}
	return errors.Join(faults...)
}
