package local

import (
	"slices"

	"github.com/hopgate/hopgate/internal/shard"
)

// graphFeatures are those of a graph, partFeatures those of the part of a graph that this process has.
var (
	graphFeatures = shard.FeatureSet{
		shard.Validation:   "every snapshot is the present one as it begins",
		shard.WireMetering: "what is read is in this process",
	}
	partFeatures = shard.FeatureSet{
		shard.Summaries:    noWholeGraph,
		shard.Blocks:       noWholeGraph,
		shard.PairCounts:   noWholeGraph,
		shard.FullText:     "the leader has the full-text indexes",
		shard.Turns:        "the leader keeps the turns",
		shard.Validation:   "the leader knows the present snapshot",
		shard.WireMetering: "what is read is in this process",
	}
)

const noWholeGraph = "other processes have the other shards"

// Features implements shard.Graph.
func (g *Graph) Features() *shard.FeatureSet { return &graphFeatures }

// Features implements shard.Tx and shard.PartTx.
func (tx *Tx) Features() shard.Features {
	if tx.g == nil || slices.Contains(tx.views, nil) {
		return shard.Features{Reads: tx, Passer: tx, Set: &partFeatures}
	}
	return shard.Features{Summaries: tx, Blocks: tx, Pairs: tx, Text: tx, Turns: tx, Reads: tx, Passer: tx, Set: &graphFeatures}
}

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures { return shard.StoreFeatures{Maintainer: s} }
