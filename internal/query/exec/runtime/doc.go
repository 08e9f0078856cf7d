// Package runtime holds what all operators share: the run and its forks, batches, stages, frames, accounts and counters.
package runtime
