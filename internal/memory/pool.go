package memory

import "sync/atomic"

// Pool bounds the memory of all runs of a process or of one owner. It is safe for concurrent use.
type Pool struct {
	Limit int64  // bytes
	Owner string // of the runs; "": all owners
	// A run that grows calls Relieve when the pool exceeds its limit. Relieve cancels runs of its choice.
	Relieve func(*Pool)
	held    atomic.Int64
}

// Held is the memory of all runs, within the step by which each changes it.
func (p *Pool) Held() int64 { return p.held.Load() }

// Take adds memory that no run holds, if the pool has room for it.
func (p *Pool) Take(bytes int64) bool {
	if p.held.Add(bytes) > p.Limit {
		p.held.Add(-bytes)
		return false
	}
	return true
}

// Give returns memory that Take added.
func (p *Pool) Give(bytes int64) { p.held.Add(-bytes) }

// Grow adds memory that a run holds, or has freed if bytes is negative, and calls Relieve if the pool then exceeds its limit.
func (p *Pool) Grow(bytes int64) {
	if p.held.Add(bytes) > p.Limit && bytes > 0 {
		p.Relieve(p)
	}
}
