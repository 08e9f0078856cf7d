package local

import "github.com/hopgate/hopgate/internal/storage"

// Name makes the transaction's commit findable by Outcome.
func (tx *Tx) Name(id storage.CommitID) { tx.id = id }

// ids returns the name of the transaction, if it has one.
func (tx *Tx) ids() []storage.CommitID {
	if tx.id == (storage.CommitID{}) {
		return nil
	}
	return []storage.CommitID{tx.id}
}

// Outcome tells what became of the commit of a transaction that has ended, or whose process has; see storage.FindOutcome.
func (g *Graph) Outcome(id storage.CommitID) (storage.Outcome, error) {
	if err := g.enter(); err != nil {
		return storage.OutcomeUnknown, err
	}
	defer g.leave()
	return storage.FindOutcome(g.shards, id)
}
