package changes

import (
	"context"

	"github.com/hopgate/hopgate/internal/shard"
)

// Graph returns the graph that the stream reads, and its name.
func (s *Stream) Graph() (shard.Graph, string) { return s.g, s.name }

// Behind returns how many commits the log has that the stream has not read.
func (s *Stream) Behind(ctx context.Context) (uint64, error) {
	st, err := s.log.LogState(ctx)
	if err != nil || st.Last < s.after.Commit {
		return 0, err
	}
	return st.Last - s.after.Commit, nil
}
