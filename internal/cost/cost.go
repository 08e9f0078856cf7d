// Package cost says what a request takes: what it has taken, and what it is expected to take.
package cost

import "time"

// Cost is what a request takes. The zero value is nothing.
type Cost struct {
	Visits int64 // vertices, edges and index entries that it reads
	Rows   int64 // of its result
	Bytes  int64 // of its result as it is sent; 0: unknown
	CPU    time.Duration
	Queue  time.Duration // before it ran
}

// Units returns the cost in units, of which limits and quotas count: one for each visit and each row.
func (c Cost) Units() int64 { return c.Visits + c.Rows }
