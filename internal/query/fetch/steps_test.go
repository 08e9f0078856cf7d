package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// repeat writes a text for each number below n.
func repeat(n int, sep string, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, sep)
}

func inUsers(words string) string { return `{"User[]": {"User": {` + words + `}}}` }

// long are requests with n parts.
var long = map[string]func(n int) string{
	"columns": func(n int) string {
		return inUsers(`"@column": "` + repeat(n, ",", func(i int) string { return fmt.Sprintf("id:c%d", i) }) + `"`)
	},
	"an expression": func(n int) string { return inUsers(`"@column": "(id` + strings.Repeat("+1", n) + `):c"`) },
	"texts": func(n int) string {
		return inUsers(`"name$": [` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`"%%%d%%"`, i) }) + `]`)
	},
	"numbers": func(n int) string {
		return inUsers(`"id{}": [` + repeat(n, ",", strconv.Itoa) + `]`)
	},
	"ranges": func(n int) string {
		return inUsers(`"id{}": "` + repeat(n, ",", func(i int) string { return fmt.Sprintf("=%d", i) }) + `"`)
	},
	"order": func(n int) string { return inUsers(`"@order": "` + strings.Repeat("id+,", n) + `id-"`) },
	"combination": func(n int) string {
		return inUsers(`"name": "a", "@combine": "` + strings.Repeat("name | ", n) + `name"`)
	},
	"plain values": func(n int) string {
		return `{"User": {"id": 1}, ` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`"a%d": [%d]`, i, i) }) + `}`
	},
	"objects": func(n int) string {
		return `{` + repeat(n/40, ",", func(i int) string {
			return fmt.Sprintf(`"o%d": {%s}`, i, repeat(40, ",", func(j int) string { return fmt.Sprintf(`"User:u%d": {"id": %d}`, j, j) }))
		}) + `}`
	},
}

var errBound = errors.New("bound")

// onlyBinds runs no plan.
type onlyBinds struct{ *world }

func (onlyBinds) Run(context.Context, *plan.Query, map[string]graph.Value, func(*graph.Batch) error) error {
	return errBound
}

// bindCounted parses a request and binds it.
func (w *world) bindCounted(body string, count *steps.Counter) (phase string, err error) {
	req, err := syntax.Parse("get", []byte(body), syntax.Limits{Objects: 1000}, nil, count)
	if err != nil {
		return "parse", err
	}
	_, err = fetch.Run(context.Background(), req, onlyBinds{w}, nil, io.Discard)
	return "bind", err
}

// TestLongRequests doubles the parts of requests, which about doubles the work to parse and bind them, and no long work comes between two polls.
func TestLongRequests(t *testing.T) {
	w := newWorld(t, 1)
	w.load(`User {"id": 1, "name": "a"}`)
	for name, text := range long {
		t.Run(name, func(t *testing.T) {
			work := func(n int) float64 {
				count, last := &steps.Counter{}, 0
				count.Alive = func() error {
					require.Less(t, count.Count()-last, 5_000)
					last = count.Count()
					return nil
				}
				_, err := w.bindCounted(text(n), count)
				require.ErrorIs(t, err, errBound)
				require.Greater(t, count.Count(), n)
				return float64(count.Count())
			}
			require.Less(t, work(1600)/work(800), 2.3)
		})
	}
}

// TestEndOfRequests ends a request at each poll in turn: neither the parser nor the binder continues after that.
func TestEndOfRequests(t *testing.T) {
	w := newWorld(t, 1)
	w.load(`User {"id": 1, "name": "a"}`)
	gone := graph.DeadlineError(context.Canceled)
	ended := map[string]bool{}
	for _, text := range long {
		all := 0
		_, err := w.bindCounted(text(1600), &steps.Counter{Alive: func() error { all++; return nil }})
		require.ErrorIs(t, err, errBound)
		for last := 1; last <= all; last++ {
			polls := 0
			phase, err := w.bindCounted(text(1600), &steps.Counter{Alive: func() error {
				if polls++; polls >= last {
					return gone
				}
				return nil
			}})
			require.ErrorIs(t, err, gone)
			require.Equal(t, syntax.CodeTimeout, syntax.AsError(err).Code)
			require.Equal(t, last, polls)
			ended[phase] = true
		}
	}
	require.Equal(t, map[string]bool{"parse": true, "bind": true}, ended)
}

// TestTooLarge refuses requests of too many parts, and names the place.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct{ path, message, body string }{
		{"User[]/User", "2001 columns, conditions", long["columns"](2001)},
		{"User[]/User", "2002 columns, conditions", long["texts"](2001)},
		{"User[]/User/@column", "more than 65536", long["an expression"](1 << 15)},
		{"User[]/User/id{}", "more than 65536", long["ranges"](1 << 15)},
		{"User[]/User/@combine", "more than 65536", long["combination"](1 << 15)},
		{"User[]/User/id{}/1048572", "is value 1048577 of the request", inUsers(`"id{}": [` + strings.Repeat("1,", 1<<20) + "1]")},
	} {
		_, err := syntax.Parse("get", []byte(c.body), syntax.Limits{}, nil, nil)
		require.ErrorContains(t, err, c.message)
		require.Equal(t, syntax.CodeArgument, syntax.AsError(err).Code)
		require.Equal(t, c.path, syntax.AsError(err).Path)
	}
}
