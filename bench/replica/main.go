// Command replica measures a cluster with replicas: commits with a simulated disk and network, failovers of real processes, and loads
// and reads beside a cluster without replicas and beside one process.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

type options struct {
	bin, memory, only, svg string
	clients                []int
	persons, kills, runs   int
	cell                   time.Duration
}

func main() {
	var o options
	part := flag.String("part", "", "serve as a process of the benchmark of commits, by these settings; the benchmark sets it")
	flag.StringVar(&o.bin, "bin", "bin", "directory of hopgate and graphctl")
	flag.StringVar(&o.memory, "memory", "512MiB", "--memory of every process")
	flag.StringVar(&o.only, "only", "commit,work,failover", "the parts to run")
	flag.DurationVar(&o.cell, "time", 5*time.Second, "duration of each measurement of commits")
	flag.IntVar(&o.persons, "persons", 100_000, "people in the network that is loaded")
	flag.IntVar(&o.runs, "runs", 100, "runs of each read")
	flag.IntVar(&o.kills, "kills", 100, "kills of each kind")
	flag.StringVar(&o.svg, "svg", "", "file for the distribution of the failover times")
	flag.Parse()
	o.clients = []int{1, 8, 64}
	err := error(nil)
	if *part != "" {
		err = servePart(*part)
	} else {
		err = run(os.Stdout, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o *options) (err error) {
	dir, err := os.MkdirTemp("", "hopgate-replica-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	parts := map[string]func(w io.Writer, o *options, dir string) error{"commit": commits, "work": work, "failover": failovers}
	for name := range strings.SplitSeq(o.only, ",") {
		f := parts[name]
		if f == nil {
			return fmt.Errorf("-only: there is no part %q", name)
		}
		if err := f(w, o, dir); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
