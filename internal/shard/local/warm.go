package local

import (
	"context"
	"log/slog"
)

// Warm decodes the lists of the graphs that this process has, as far as they fit into half of the topology cache, for the first requests after
// a start; see read.Readers.Warm.
func (s *Store) Warm(ctx context.Context) {
	for _, name := range s.Graphs() {
		g, err := s.Local(name)
		if err != nil {
			continue // it has been dropped meanwhile
		}
		if err := g.Readers.Warm(ctx); err != nil && !g.Ending() {
			s.Options.Logger.Warn("the cache is not warmed", slog.String("graph", name), slog.Any("error", err))
		}
	}
}
