// Package runtime provides what all operators share: the run and its forks, batches, stages, frames, accounts and counters.
package runtime
