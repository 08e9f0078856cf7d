package changes

import (
	"context"

	"github.com/hopgate/hopgate/internal/shard"
)

// Graph returns the graph that the stream reads, and its name.
func (s *Stream) Graph() (shard.Graph, string) { return s.g, s.name }

// Commit is the number of the last commit that the stream has read, or has begun to read.
func (s *Stream) Commit() uint64 { return s.after.Commit }

// Last returns the number of the log's last commit. It may be called while another goroutine uses the stream.
func (s *Stream) Last(ctx context.Context) (uint64, error) {
	st, err := s.log.LogState(ctx)
	return st.Last, err
}

// Allowed returns why the caller may not read the graph's changes any more, or nil. It may be called while another goroutine uses the stream.
func (s *Stream) Allowed(ctx context.Context) error { return s.allowed(ctx) }
