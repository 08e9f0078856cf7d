package shard

import (
	"context"
	"io"
	"time"
)

// Keeper is a store whose data can be verified, repaired and copied while it is in use.
type Keeper interface {
	// Check verifies one state of a graph; see CheckOptions.
	Check(ctx context.Context, name string, o CheckOptions) (*CheckReport, error)
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

// CheckOptions are the options of a check.
type CheckOptions struct {
	// Repair repairs what can be derived from the rest.
	Repair bool
	// Progress, if not nil, is called repeatedly with the current stage and the number of records read.
	Progress func(stage string, records uint64)
}

// CheckReport lists the records read and the faults found.
type CheckReport struct {
	Vertices, Edges, Entries, LargeValues uint64
	Files, FileBytes                      uint64
	Findings                              []*CheckFinding // by kind
}

// CheckFinding is one kind of fault.
type CheckFinding struct {
	Kind            string
	Count, Repaired uint64
	// Repairable reports whether faults of the kind can be repaired.
	Repairable bool
	// Examples name some of the faulty records.
	Examples []string
}

// Clean reports whether nothing is wrong, or nothing is any more.
func (r *CheckReport) Clean() bool {
	for _, f := range r.Findings {
		if f.Repaired < f.Count {
			return false
		}
	}
	return true
}
