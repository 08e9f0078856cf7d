package shard

import (
	"context"
	"io"
	"time"
)

// Keeper is a store whose data can be copied while it is in use.
type Keeper interface {
	// Checkpoint takes one state of each of some graphs, none named is all. The caller closes it.
	Checkpoint(ctx context.Context, names []string) (Checkpoint, error)
}

// Checkpoint is one state of graphs as the files of a data directory. It lasts until Close.
type Checkpoint interface {
	Graphs() []string
	// Format is the version of the files' layout.
	Format() int
	Taken() time.Time
	Files() []CheckpointFile
	// Open reads the i-th of Files.
	Open(i int) (io.ReadCloser, error)
	Close() error
}

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Path   string // relative to the data directory, with slashes
	Size   int64  // in bytes
	SHA256 [32]byte
}
