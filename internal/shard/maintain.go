package shard

import (
	"context"
	"io"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Maintainer is a store whose data can be verified, repaired and copied while it is in use.
type Maintainer interface {
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
	Files() []graph.CheckpointFile
	// Open reads the i-th of Files.
	Open(i int) (io.ReadCloser, error)
	Close() error
}

// Members is a store whose shards have replicas.
type Members interface {
	// Members returns how the replicas of all processes stand, in the order of the processes and shards.
	Members(ctx context.Context) ([]Member, error)
	// ReplaceMember makes the present disk of a process that of its replicas, in place of one that is lost, and returns how many replicas
	// that concerned. It waits until the new ones vote.
	ReplaceMember(ctx context.Context, process int) (replaced int, err error)
	// MoveReplica has a process keep a shard in place of another one, and reports whether the former replica is deleted already. It can
	// be called again if it fails.
	MoveReplica(ctx context.Context, shard, from, to int) (deleted bool, err error)
	// TransferLead has the replica of a process lead a shard.
	TransferLead(ctx context.Context, shard, process int) error
	// AddMember adds the process at an address, which keeps no replica until one moves to it, and returns its number; added is false if it
	// had that before.
	AddMember(ctx context.Context, address string) (process int, added bool, err error)
	// RemoveMember permanently removes a process that keeps no replica.
	RemoveMember(ctx context.Context, process int) error
}

// Member is a replica.
type Member struct {
	Process, Shard int
	Address        string // of the process
	Replica        uint64 // its id; 0 if the process does not answer
	Role           string // leader, follower, learner, waiting or stopped; without a shard, unreachable, or idle if it keeps none
	Term           uint64
	// Commit is the last entry of the log that it knows to be committed, Applied the last that it has applied.
	Commit, Applied uint64
	LogBytes        uint64
	// SeedBytes is the size of the state that it is being seeded with, SeededBytes what has arrived.
	SeedBytes, SeededBytes uint64
	Note                   string // why it is waiting, stopped or unreachable
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
