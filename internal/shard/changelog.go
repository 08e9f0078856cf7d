package shard

import (
	"context"
	"fmt"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
)

// ChangeLog is the commit log of a graph: what its last commits have changed. It is safe for concurrent use, and its readers keep no
// writer waiting.
//
// A position in it is the number of a commit: who has read up to it continues with the next one. Numbers ascend, by one for each commit
// that is in the log, and survive restarts, failovers, backups and restores.
type ChangeLog interface {
	// LogState returns what the log has now.
	LogState(ctx context.Context) (LogState, error)
	// ReadLog appends to dst the commits that follow the one with number after, each in the form that changelog.ReadCommit reads: all up to
	// max bytes, at least one; none if there is none yet. They are durable and in the snapshots of all transactions that begin later.
	// A position before LogState.First, or after the last commit, is graph.KindNotFound.
	ReadLog(ctx context.Context, after uint64, max int, dst []byte) ([]byte, error)
	// AwaitLog returns once ReadLog has a commit after one, or when ctx ends, with its error.
	AwaitLog(ctx context.Context, after uint64) error
	// SetLogMode says how much the log keeps of the commits that follow. It begins the log again if it turns it on or off, which is an error
	// of detail SnapshotsHoldLog while snapshots of package named hold it.
	SetLogMode(ctx context.Context, mode changelog.Mode) error
}

// LogState is the state of a commit log.
type LogState struct {
	// Key is a secret of the graph, for signing positions: another graph, or one that is made again under its name, has another.
	Key  [32]byte
	Mode changelog.Mode
	// First is the first position from which the log can be read, with the time of its commit in nanoseconds since 1970; Last is the last
	// one. They are the same if the log is empty.
	First, Last         uint64
	FirstTime, LastTime int64
	// Bytes is the size of all records so far, FirstBytes that of those before the first position, which the log has dropped.
	FirstBytes, Bytes uint64
}

// Committed is a Tx that knows commits of the log.
type Committed interface {
	// Position returns the number and the time of the last commit that the transaction's snapshot has.
	Position() (number uint64, time int64)
	// CommittedAt returns the number and the time of the transaction's own commit once Commit has returned, 0 if it had nothing to commit.
	CommittedAt() (number uint64, time int64)
	// From says where the transaction comes from, for the log. It is called before Commit.
	From(o changelog.Origin)
}

// LogOff is the error of who reads the log of a graph that keeps none.
func LogOff(name string) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.DatabaseError.ChangeDataCapture.Disabled", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "ChangeLogOff",
		Msg: fmt.Sprintf("graph %q keeps no commit log; set its option txLogEnrichment to 'DIFF' or 'FULL', and start the server with --log-retention above 0", name),
	}
}

// LogHeld is the error of who would have the log of a graph begin again while snapshots hold it.
func LogHeld(name string) error {
	return &graph.Error{
		Kind: graph.KindConflict, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: "SnapshotsHoldLog", Msg: fmt.Sprintf("snapshots of graph %q hold its commit log, which cannot be turned off: drop them first", name),
	}
}

// NoLogPosition is the error of who reads the log from a position that it does not have.
func NoLogPosition(after, first, last uint64) error {
	e := &graph.Error{
		Kind: graph.KindNotFound, Code: "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: "ChangeLogTooOld", Msg: fmt.Sprintf("commit %d is no longer in the commit log, which begins after commit %d; begin again with a snapshot", after, first),
	}
	if after > last {
		e.Detail, e.Msg = "ChangeLogAhead", fmt.Sprintf("commit %d is not in the graph, whose last one is %d; begin again with a snapshot", after, last)
	}
	return e
}
