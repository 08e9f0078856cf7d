package shard

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// rerunTime bounds the time from the first rerun of a request that has returned no row to the last. Reruns are immediate at first, as
// after another commit, then with exponential backoff, as while a process restarts.
const (
	rerunTime  = 30 * time.Second
	freeReruns = 3
	maxBackoff = 128 * time.Millisecond
)

// Reruns counts the reruns of a request and spaces them out.
type Reruns struct {
	n     int
	first time.Time                   // when the first one began
	pause *backoff.ExponentialBackOff // once the free ones are used up
}

// Over reports whether there must be no more reruns.
func (r *Reruns) Over() bool { return r != nil && r.n > 0 && time.Since(r.first) >= rerunTime }

// Next waits for the time of the next rerun; it returns false if there must be none.
func (r *Reruns) Next(ctx context.Context) bool {
	if r.Over() || ctx.Err() != nil {
		return false
	}
	if r.n == 0 {
		r.first = time.Now()
	}
	r.n++
	if r.n <= freeReruns {
		return true
	}
	if r.n == freeReruns+1 {
		r.pause = &backoff.ExponentialBackOff{InitialInterval: time.Millisecond, RandomizationFactor: 0.2, Multiplier: 2, MaxInterval: maxBackoff}
	}
	select {
	case <-time.After(r.pause.NextBackOff()):
		return true
	case <-ctx.Done():
		return false
	}
}
