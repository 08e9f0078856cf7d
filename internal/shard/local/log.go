package local

import (
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/commitlog"
)

// logged is a graph's commit log.
type logged struct{ log *commitlog.Log }

// ChangeLog implements shard.Graph.
func (l *logged) ChangeLog() shard.ChangeLog { return l.log }

// Position implements shard.Committed.
func (tx *Tx) Position() (number uint64, time int64) {
	if tx.snap == nil {
		last := tx.g.log.Last()
		return last.Number, last.Time
	}
	return tx.snap.Seq, tx.snap.Time
}

// CommittedAt implements shard.Committed.
func (tx *Tx) CommittedAt() (number uint64, time int64) { return tx.seq, tx.time }

// From implements shard.Committed.
func (tx *Tx) From(o changelog.Origin) {
	if tx.Mutator != nil {
		tx.origin = o
	}
}
