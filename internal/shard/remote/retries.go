package remote

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The pauses between tries: each about twice the one before.
const firstPause, longestPause = 5 * time.Millisecond, 250 * time.Millisecond

// retries spaces the tries of a request. The zero value is ready to use.
type retries struct{ backoff backoff.ExponentialBackOff }

// pause waits before the next try; false reports that ctx has ended.
func (r *retries) pause(ctx context.Context) bool {
	if r.backoff.InitialInterval == 0 {
		r.backoff = backoff.ExponentialBackOff{InitialInterval: firstPause, RandomizationFactor: 0.2, Multiplier: 2, MaxInterval: longestPause}
	}
	select {
	case <-time.After(r.backoff.NextBackOff()):
		return true
	case <-ctx.Done():
		return false
	}
}
