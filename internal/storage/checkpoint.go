package storage

import (
	"errors"
)

// Checkpoint makes a copy of the shard in a directory that does not exist yet, of hard links where they can be, with all
// that was applied. The caller ensures that no commit is half applied and that none is made meanwhile, so that what
// the graph instance refers to is in the values instance's copy.
func (s *Shard) Checkpoint(dir string) error {
	fs := s.opts.FS
	return errors.Join(
		s.disk.graph.Checkpoint(fs.PathJoin(dir, graphDir)),
		s.disk.values.Checkpoint(fs.PathJoin(dir, valuesDir)),
	)
}

// The names of a shard's stores in its directory.
const (
	graphDir  = "graph"
	valuesDir = "values"
)
