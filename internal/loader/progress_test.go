package loader

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The progress of a load covers its inputs as they are stored, also where they are compressed, read twice, or were
// begun by an earlier run.
func TestProgress(t *testing.T) {
	const text = `
version: 1
inputs:
  - path: p.csv.gz
    vertices: [{label: P, id: id, properties: {id: {type: int}}}]
    edges: [{type: E, from: {column: id, idSpace: P}, to: {column: to, idSpace: P}}]
  - {path: q.csv, vertices: [{label: Q, id: id, properties: {id: {type: int}}}]}
`
	w := newWorld(t)
	var p, q strings.Builder
	p.WriteString("id,to\n")
	q.WriteString("id\n")
	for i := range 2000 {
		fmt.Fprintf(&p, "%d,%d\n", i, i*7%2000)
		fmt.Fprintf(&q, "%d\n", i)
	}
	writeWith(t, w, "p.csv.gz", p.String(), false)
	w.file("q.csv", q.String())
	plan := func() *Plan {
		l, err := w.plan(text)
		require.NoError(t, err)
		l.chunk = 512
		return l
	}
	first := plan()
	require.Equal(t, Progress{Left: -1}, first.Progress(), "before the run")
	_, err := first.Run(t.Context(), &cut{Sink: NewLocal(w.l), sends: 1000, acks: 30}, Options{})
	require.ErrorIs(t, err, errCut)
	cutAt := first.Progress()
	require.Positive(t, cutAt.Done)
	require.Less(t, cutAt.Done, cutAt.Bytes)

	second := plan()
	var reports []Progress
	_, err = second.Run(t.Context(), NewLocal(w.l), Options{Progress: func(p Progress) { reports = append(reports, p) }})
	require.NoError(t, err)
	end := second.Progress()
	require.Equal(t, second.Bytes(), end.Done)
	require.Equal(t, end.Bytes, end.Done)
	require.Zero(t, end.Left)
	require.Zero(t, end.InFlight)
	require.NotEmpty(t, reports)
	require.Equal(t, end.Totals, reports[len(reports)-1].Totals)
	require.Less(t, end.Rows, int64(4000), "the earlier run has read the others")
	for i, want := range []int64{2 * second.inputs[0].size, second.inputs[1].size} {
		in := end.Inputs[i]
		require.Equal(t, want, in.Bytes, in.Path)
		require.Equal(t, want, in.Done, in.Path)
	}
	require.Equal(t, "p.csv.gz", end.Inputs[end.Current].Path, "edges come last")
}

// The remaining time is proportional to the remaining input, and unknown at the start.
func TestLeft(t *testing.T) {
	require.Equal(t, 3*time.Second, left(time.Second, 10, 30))
	require.Zero(t, left(time.Second, 10, 0))
	require.Negative(t, left(time.Second, 0, 30))
}

// A share of refused rows ends a load of compressed inputs as soon as its first part exceeds it.
func TestBudgetShareCompressed(t *testing.T) {
	const text = `
version: 1
inputs:
  - {path: p.csv.gz, vertices: [{label: P, id: id, properties: {id: {type: int}}}]}
`
	w := newWorld(t)
	var b strings.Builder
	b.WriteString("id\n")
	for i := range 200_000 {
		if i < 100_000 {
			b.WriteByte('x')
		}
		fmt.Fprintln(&b, i)
	}
	writeWith(t, w, "p.csv.gz", b.String(), false)
	p, err := w.plan(text)
	require.NoError(t, err)
	p.chunk = 1 << 12
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{MaxRejects: Budget{Share: 0.3}, Memory: 1 << 16})
	var many *TooManyRejectsError
	require.True(t, errors.As(err, &many), "%v", err)
	require.Less(t, rep.Rows, int64(200_000), "the budget is of all rows, so half of them suffice")
}
