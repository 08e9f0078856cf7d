package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/hopgate/hopgate/internal/query"
)

// The server keeps evidence at most once per evidenceEvery, for the last evidenceKept moments.
const (
	evidenceEvery = time.Minute
	evidenceKept  = 5
)

// evidence records why memory was short: for each moment a directory, named after its time, with the running requests, the goroutines and
// the heap.
type evidence struct {
	dir     string
	running func(context.Context) []*query.Running
	last    time.Time
}

// statement is an entry of running.json.
type statement struct {
	ID        uint64    `json:"id"`
	Graph     string    `json:"graph"`
	Caller    string    `json:"caller,omitempty"`
	Statement string    `json:"statement"`
	Start     time.Time `json:"start"`
	Rows      int64     `json:"rows"`
	Operator  string    `json:"operator,omitempty"`
	Bytes     int64     `json:"bytes"`
}

// keep records evidence now, unless it did so recently.
func (e *evidence) keep(now time.Time) error {
	if now.Sub(e.last) < evidenceEvery {
		return nil
	}
	e.last = now
	dir := filepath.Join(e.dir, now.UTC().Format("20060102T150405.000Z"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"running.json":   e.writeRunning,
		"goroutines.txt": func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) },
		"heap.pb.gz":     func(w io.Writer) error { return pprof.Lookup("heap").WriteTo(w, 0) },
	} {
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
	}
	return e.dropOld()
}

func (e *evidence) writeRunning(w io.Writer) error {
	list := []statement{}
	for _, q := range e.running(context.Background()) {
		s := statement{ID: q.ID, Graph: q.Graph, Caller: q.Caller.Name, Statement: q.Statement, Start: q.Start, Rows: q.Rows()}
		s.Operator, s.Bytes = q.Held()
		list = append(list, s)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}

// dropOld removes all but the latest moments.
func (e *evidence) dropOld() error {
	moments, err := os.ReadDir(e.dir) // sorted by name, hence by time
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	for _, m := range moments[:max(len(moments)-evidenceKept, 0)] {
		if err := os.RemoveAll(filepath.Join(e.dir, m.Name())); err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
