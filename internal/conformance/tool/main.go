// Package main fills the cache of conformance suites from public repositories, and says where suites lie and what tests ran of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/hopgate/hopgate/internal/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "fill":
		dir, err := conformance.Cache()
		if err != nil {
			return err
		}
		return fill(ctx, dir, args[1:])
	case len(args) == 1 && args[0] == "dir": // of openCypher's cases
		path, err := conformance.OpenCypher.Path()
		if err != nil {
			return err
		}
		fmt.Println(filepath.Dir(path))
		return nil
	case len(args) == 2 && args[0] == "summary": // of the log of a run of the tests
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		line, err := conformance.Summary(f)
		if err != nil {
			return err
		}
		fmt.Println(line)
		return nil
	}
	return errors.New("usage: tool fill [--REPOSITORY URL]… | tool dir | tool summary LOG")
}
