package check

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// The kinds of faults that a check finds.
const (
	FaultRecord     = "malformed record"
	FaultChecksum   = "checksum"
	FaultReplica    = "replica that differs"
	FaultMirror     = "edge without its mirror"
	FaultDangling   = "edge without an end"
	FaultList       = "edge list"
	FaultMember     = "label membership"
	FaultPresence   = "property that is not announced"
	FaultEntry      = "index entry"
	FaultUnique     = "unique constraint"
	FaultRequired   = "required property"
	FaultCounter    = "counter"
	FaultMark       = "mark of an index build"
	FaultNextID     = "next id"
	FaultLarge      = "large value that is missing"
	FaultUnreferred = "large value without a reference"
	FaultGarbage    = "large value marked as garbage"
)

// maxExamples bounds the examples of a kind; maxFixes the changes that one check proposes.
const (
	maxExamples = 10
	maxFixes    = 1 << 20
)

// Result is what a check has found.
type Result struct {
	Vertices, Edges, Entries, Large uint64
	Findings                        map[string]*Finding
	fixes                           int
}

// Finding is one kind of fault.
type Finding struct {
	Count    uint64
	Examples []string
	// Fixes repair some of them.
	Fixes []storage.Fix
}

// add notes a fault with what repairs it, if anything does.
func (c *Result) add(kind string, fixes []storage.Fix, format string, args ...any) {
	f := c.Findings[kind]
	if f == nil {
		f = &Finding{}
		c.Findings[kind] = f
	}
	f.Count++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, fmt.Sprintf(format, args...))
	}
	if c.fixes+len(fixes) <= maxFixes {
		c.fixes += len(fixes)
		f.Fixes = append(f.Fixes, fixes...)
	}
}

// join adds what another part of the check has found.
func (c *Result) join(o *Result) {
	c.Vertices, c.Edges, c.Entries, c.Large = c.Vertices+o.Vertices, c.Edges+o.Edges, c.Entries+o.Entries, c.Large+o.Large
	for _, kind := range o.Kinds() {
		from, f := o.Findings[kind], c.Findings[kind]
		if f == nil {
			f = &Finding{}
			c.Findings[kind] = f
		}
		f.Count += from.Count
		f.Examples = append(f.Examples, from.Examples[:min(len(from.Examples), maxExamples-len(f.Examples))]...)
		fixes := from.Fixes[:min(len(from.Fixes), maxFixes-c.fixes)]
		c.fixes += len(fixes)
		f.Fixes = append(f.Fixes, fixes...)
	}
}

// Index is an index with its names resolved.
type Index struct {
	graph.Index
	Label graph.LabelID
	Type  graph.TypeID
	Props []graph.PropID
	// All says that it is over all vertices, as an id space is.
	All bool
}

// checker checks the views of all shards of a graph, which show one state.
type checker struct {
	ctx     context.Context
	views   []*view.View
	cat     *storage.Catalog
	indexes []Index
	out     *Result
	failed  error // of a look-up between passes

	balance balance
	// first says that this is the first pass, which counts and checks each record alone.
	first bool
	large []largeSet // by shard

	mu   sync.Mutex // of what follows
	tell func(stage string, records uint64)
	read uint64
}

// checkAtOnce is how many shards are read side by side.
const checkAtOnce = 8

// Run verifies a graph on views of all of its shards, in order, that show one state. tell may be nil.
//
// It reads everything in the order of the keys, some shards side by side, twice for what is stored in two places: a first pass
// adds up checksums of what each place says, in as many sums as fit in little memory. Only what falls in sums that do not
// agree is compared in further passes. So memory is bounded whatever the size of the graph. What is found is in the order of
// the shards.
func Run(ctx context.Context, views []*view.View, cat *storage.Catalog, indexes []Index, tell func(stage string, records uint64)) (*Result, error) {
	if tell == nil {
		tell = func(string, uint64) {}
	}
	c := &checker{ctx: ctx, views: views, cat: cat, indexes: indexes, tell: tell, out: &Result{Findings: map[string]*Finding{}}, first: true}
	c.balance.init()
	if err := c.pass(); err != nil {
		return nil, err
	}
	c.first = false
	for c.balance.next() {
		if err := c.pass(); err != nil {
			return nil, err
		}
		c.differences()
		if c.failed != nil {
			return nil, c.failed
		}
	}
	return c.out, nil
}

// fail remembers the fault of a look-up, which ends the check.
func (c *checker) fail(err error) {
	if err != nil && c.failed == nil {
		c.failed = kv.Fault("check", err)
	}
}

// pass reads everything.
func (c *checker) pass() error {
	c.large = make([]largeSet, len(c.views))
	err := c.side(func(s *shardCheck) error {
		for _, step := range []struct {
			name string
			run  func() error
		}{
			{"next ids", s.nextIDs},
			{"vertices", s.vertices},
			{"edges", s.edges},
			{"labels", s.members},
			{"indexes", s.entries},
			{"counters", s.counters},
			{"degree histograms", s.checkDegrees},
			{"index builds", s.marks},
			{"changes of texts", s.texts},
		} {
			s.stage(step.name)
			if err := step.run(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A reference may be to any shard's values.
	return c.side(func(s *shardCheck) error {
		s.stage("large values")
		return s.values()
	})
}

// side runs f for all shards, some side by side, and puts together what they find.
func (c *checker) side(f func(s *shardCheck) error) error {
	for from := 0; from < len(c.views); from += checkAtOnce {
		all := make([]*shardCheck, min(checkAtOnce, len(c.views)-from))
		g, ctx := errgroup.WithContext(c.ctx)
		for i := range all {
			no := from + i
			all[i] = &shardCheck{
				checker: c, ctx: ctx, v: c.views[no], no: no, out: &Result{Findings: map[string]*Finding{}}, balance: c.balance.part(),
				counts: map[stats.Count]int64{}, bars: stats.Degrees{},
			}
			g.Go(func() error { return f(all[i]) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, s := range all {
			c.balance.join(&s.balance)
			c.out.join(s.out)
		}
	}
	return nil
}

// shardCheck checks one shard.
type shardCheck struct {
	*checker
	ctx     context.Context
	v       *view.View
	no      int
	out     *Result
	balance balance
	read    uint64                // records that are not told of yet
	counts  map[stats.Count]int64 // of the shard
	bars    stats.Degrees         // likewise
	next    storage.NextIDs
	sets    gridSets
	list    codec.Merged
	runs    [][]byte
	// groups are the lists in groups of the walk over edges.
	groups groupLists

	key, item, ident []byte
}

// stage reports the progress of the check.
func (s *shardCheck) stage(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checker.read += s.read
	s.read = 0
	s.tell(name, s.checker.read)
}

// alive counts a record and looks at the context now and then.
func (s *shardCheck) alive() error {
	if s.read++; s.read > 0xffff {
		s.stage("")
		return kv.Alive(s.ctx)
	}
	return nil
}

// note notes a fault that a single record shows; it does so once.
func (s *shardCheck) note(kind string, fixes []storage.Fix, format string, args ...any) {
	if s.first {
		s.out.add(kind, fixes, format, args...)
	}
}

// malformed notes a record that cannot be read.
func (s *shardCheck) malformed(key []byte, err error) {
	s.note(FaultRecord, nil, "shard %d, key %s: %v", s.no, hex.EncodeToString(key), err)
}

// scan walks a range of the graph instance. f may keep nothing.
func (s *shardCheck) scan(lower, upper []byte, f func(k, v []byte) error) error {
	err := kv.ScanRange(s.v.Graph(), lower, upper, func(k, v []byte) error {
		if err := s.alive(); err != nil {
			return err
		}
		return f(k, v)
	})
	return s.damage("graph", err)
}

// damage turns a checksum fault of a read into one that names the store.
func (s *shardCheck) damage(store string, err error) error {
	if err == nil {
		return nil
	}
	return kv.Fault(fmt.Sprintf("check shard %d, store %s", s.no, store), err)
}

// iter opens an iterator over a range.
func (s *shardCheck) iter(lower, upper []byte) (kv.Iterator, error) {
	it, err := kv.NewIter(s.v.Graph(), &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, s.damage("graph", err)
	}
	return it, nil
}

// Kinds lists the kinds of faults that were found, in order.
func (c *Result) Kinds() []string {
	kinds := make([]string, 0, len(c.Findings))
	for k := range c.Findings {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// Repairable reports whether faults of a kind can be repaired at all.
func Repairable(kind string) bool {
	switch kind {
	case FaultRecord, FaultChecksum, FaultDangling, FaultUnique, FaultRequired, FaultLarge:
		return false
	}
	return true
}
