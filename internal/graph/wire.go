package graph

import "sync/atomic"

// Wire counts the bytes that a transaction's requests to other processes have sent and received. A nil Wire counts nothing. It is safe for
// concurrent use.
type Wire struct {
	Requests       atomic.Int64
	Sent, Received atomic.Int64
}

// Count counts one request.
func (w *Wire) Count(sent, received int) {
	if w != nil {
		w.Requests.Add(1)
		w.Sent.Add(int64(sent))
		w.Received.Add(int64(received))
	}
}
