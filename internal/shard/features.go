package shard

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/rules"
)

// Feature is something that the transactions of some graphs can do, and of others not.
type Feature uint8

// The features, in the order of the fields of Features.
const (
	Aggregates Feature = iota
	FullText
	Turns
	Validation
	ReadMetering
	WireMetering
	Passing
	ExactCounts
	ChangeDates
	DegreeBounds
	RuleScans
	Versions
	Commits
	Positions
	NumFeatures
)

var featureNames = [NumFeatures]string{
	"aggregates", "full text", "turns", "validation", "read metering", "wire metering", "passing", "exact counts", "change dates", "degree bounds", "rule scans",
	"versions", "commits", "positions",
}

// String returns the name of the feature.
func (f Feature) String() string { return featureNames[f] }

// FeatureSet says of each feature why it is missing, or "" if it is there. A planner plans with it.
type FeatureSet [NumFeatures]string

// Has reports whether a feature is there. A nil set has none.
func (s *FeatureSet) Has(f Feature) bool { return s != nil && s[f] == "" }

// Features are what a Tx, or a PartTx, can do beside its requests: a field is nil if its feature is missing. What implements them is
// assigned to a field, so that a method of another form does not compile, and is found without a type assertion.
type Features struct {
	Aggregates Aggregator
	Text       TextSearcher
	Turns      Heir
	Validator  Validator
	Reads      Metered
	Wire       Wired
	Passer     Passer
	Exact      Counter
	Dated      Dated
	Bounds     Bounder
	Rules      RuleScanner
	Versions   Versioned
	Commits    Committed
	Positions  Positioner
	// Set says why features are missing.
	Set *FeatureSet
}

// Check returns an error unless the fields are those of Set. Tests call it.
func (f *Features) Check() error {
	v := reflect.ValueOf(f).Elem()
	for x := range NumFeatures {
		if has := !v.Field(int(x)).IsNil(); has != (f.Set[x] == "") {
			return fmt.Errorf("feature %q: implemented: %v, reason why not: %q", x, has, f.Set[x])
		}
	}
	return nil
}

// Positioner is a Tx whose ranges of indexes can begin anywhere.
type Positioner interface {
	// CursorAt returns the cursor of a range that continues, in its order, at the first entry whose tuple begins with values; with an id,
	// behind the entry of these values that belongs to the vertex. ok is false if no entry can have the values.
	CursorAt(values []graph.Value, id *graph.VertexID, down bool) (cursor []byte, ok bool)
}

// TextSearcher finds what a full-text index has for a query in Lucene's syntax, in the transaction's state; see TextSearch. A PartTx has
// none, except that of a leader.
type TextSearcher interface {
	SearchText(ctx context.Context, req *TextSearch, res *TextHits) error
}

// Validator is a Tx over a snapshot that is likely to be the present one, and that finds out meanwhile whether it is. Neither a
// result nor an error of it may reach a client before Check returns nil. If Check returns a Retriable error, another transaction
// is needed.
type Validator interface {
	Check(ctx context.Context) error
}

// Passer is a Tx that can scan without filling its caches: after Pass, it still reads cached data, but caches nothing more.
type Passer interface{ Pass() }

// Counter is a Tx whose counts are exactly what it sees. Those of another one are at least that; see CountExactly.
type Counter interface{ Counts() *graph.Counts }

// Dated is a Tx that knows when vertices last changed.
type Dated interface {
	// LastChange returns a number of the last commit, in the transaction's snapshot, that changed the labels of a vertex that was there
	// before, or one of some properties. Later commits have greater numbers. ok is false if the transaction does not know.
	LastChange(props []graph.PropID) (commit uint64, ok bool)
}

// Bounder is a Tx whose degrees take more than looking them up. DegreeBounds fills out[i] with at least the degree of ids[i], for who
// only chooses a way by it.
type Bounder interface {
	DegreeBounds(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error
}

// RuleScanner is a Tx under access rules, which finds the vertices of a label that its caller may see by indexes of what the rules compare.
type RuleScanner interface {
	// RuleIndexes returns which parts of indexes have all visible vertices with a label, whatever the caller's claims; ok is false if only Scan
	// finds all.
	RuleIndexes(label string) (parts []rules.Part, ok bool)
	// Remembers reports whether other transactions use what a Scan finds out of the vertices, so that the next one reads few of them.
	Remembers() bool
	// RuleRanges returns the ranges to scan, for the caller's claims. Some vertices may be in several of them. ok is false if only Scan finds
	// all visible ones.
	RuleRanges(label graph.LabelID) (ranges []RuleRange, ok bool)
	// ScanRange appends to dst visible vertices in a range. It continues after *cursor and updates it (nil at the start and at the end).
	ScanRange(ctx context.Context, r *RuleRange, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error)
}

// RuleRange is a range of an index.
type RuleRange struct {
	Index graph.IndexID
	Range Range
}

// CountExactly returns the statistics of exactly what a transaction sees. Where they are not there, it reads the graph to count them.
func CountExactly(ctx context.Context, names graph.Catalog, tx Tx) (*graph.Counts, error) {
	if tx.Features().Exact != nil {
		return tx.Statistics(), nil
	}
	return CountAll(ctx, names, tx)
}

// Metered is a Tx whose process reads the graph itself. Meter makes it count its reads, by source, in r; nil ends that. No request
// runs meanwhile.
type Metered interface{ Meter(r *graph.Reads) }

// Wired is a Tx that sends requests to other processes. Wire makes it count them in w; nil ends that. No request runs meanwhile.
type Wired interface{ Wire(w *graph.Wire) }

// StoreFeatures are what a Store can do beside its requests.
type StoreFeatures struct {
	// Cached remembers graphs; nil: Graph asks no other process either.
	Cached CachedStore
	// Names tells whether there is a graph, without the error that Graph makes; nil: Graph does.
	Names interface{ Has(name string) bool }
	// Maintainer verifies and copies the data; nil: the store has none of its own.
	Maintainer Maintainer
	// Members administers the replicas; nil: there are none.
	Members Members
	// Quotas shares the accounts of quotas with other processes; nil: this one has them alone.
	Quotas quota.Source
	// Rows is how many rows make a request worth a round trip; 0: requests go to no other process.
	Rows int
}

// CachedStore is a Store that returns a graph without asking other processes whether it is still as it was: the beginning of a
// transaction finds out. Known returns nil for a graph that it does not know.
type CachedStore interface{ Known(name string) Graph }

// Replicas returns Members, or an error.
func (f StoreFeatures) Replicas() (Members, error) {
	if f.Members != nil {
		return f.Members, nil
	}
	return nil, &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "NoReplicas",
		Msg: "this server is a single process: its shards have no replicas",
	}
}
