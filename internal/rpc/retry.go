package rpc

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// firstPause is the pause before the second try. Each pause is about twice the one before.
const firstPause = 5 * time.Millisecond

// LongestPause is the longest pause between tries.
const LongestPause = 250 * time.Millisecond

// Retries spaces the tries of a call. The zero value is ready to use.
type Retries struct{ backoff backoff.ExponentialBackOff }

// Pause waits before the next try; false reports that ctx has ended.
func (r *Retries) Pause(ctx context.Context) bool {
	if r.backoff.InitialInterval == 0 {
		r.backoff = backoff.ExponentialBackOff{InitialInterval: firstPause, RandomizationFactor: 0.2, Multiplier: 2, MaxInterval: LongestPause}
	}
	select {
	case <-time.After(r.backoff.NextBackOff()):
		return true
	case <-ctx.Done():
		return false
	}
}
