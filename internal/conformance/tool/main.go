// Package main says where conformance suites lie and what tests ran of them.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hopgate/hopgate/internal/conformance"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
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
	return errors.New("usage: tool dir | tool summary LOG")
}
