package peers

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Patience is how long a request without a deadline waits for a process that does not answer.
const Patience = 30 * time.Second

// Within gives a request without a deadline that of Patience.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, Patience)
}

// Call makes an idempotent call until it is answered or ctx ends. who names the process in errors.
func Call(ctx context.Context, who string, f func(ctx context.Context) error) error {
	limited, cancel := Within(ctx)
	defer cancel()
	return Retry(ctx, limited, who, f)
}

// Retry makes an idempotent call until it is answered or limited ends, which ctx bounds.
func Retry(ctx, limited context.Context, who string, f func(ctx context.Context) error) error {
	for r := new(rpc.Retries); ; {
		err, retryable := wire.FromStatus(ctx, who, f(limited))
		if !retryable || limited.Err() != nil {
			return err
		}
		if !r.Pause(limited) {
			if ctx.Err() != nil {
				return graph.DeadlineError(ctx.Err())
			}
			return err
		}
	}
}
