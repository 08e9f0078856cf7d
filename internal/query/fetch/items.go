package fetch

import (
	"context"
	"errors"
	"io"

	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// Items runs a request for one array and passes each of its items, as JSON, to take, which must not retain it. It drops the rest of
// the answer. It returns the errors of Run and of take.
func Items(ctx context.Context, r *syntax.Request, runner Runner, cache *Cache, take func(item []byte) error) (Result, error) {
	x := start(ctx, r, runner, cache, io.Discard)
	x.items = take
	err := x.all()
	if errors.Is(err, errUnmodified) {
		return Result{Unmodified: true}, nil
	}
	if err != nil {
		err = syntax.AsError(err)
	}
	return Result{Rows: x.rows}, err
}

// arrays counts the arrays of an answer that do not lie inside of items.
func arrays(members []*bind.Output) (n int) {
	for _, m := range members {
		if m.Kind == bind.OutArray {
			n++
		}
		n += arrays(m.Members)
	}
	return n
}
