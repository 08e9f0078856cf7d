package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// Check implements shard.Maintainer. It checks the newest snapshot, so nothing waits for it. What is wrong there is repaired
// under the writer's lock, some records at a time and only as far as it has not changed since; then the graph is checked
// again.
func (s *Store) Check(ctx context.Context, name string, o shard.CheckOptions) (*shard.CheckReport, error) {
	g, err := s.Local(name)
	if err != nil {
		return nil, err
	}
	if err := g.Enter(); err != nil {
		return nil, err
	}
	defer g.Leave()
	if o.Repair && s.Options.ReadOnly {
		return nil, fail.ReadOnly()
	}
	rep, err := checker{g}.rounds(ctx, o)
	if err == nil {
		err = g.texts.Check(ctx, rep, o)
	}
	if err == nil {
		err = s.compare(ctx, g, rep)
	}
	if err == nil && !s.Options.ReadOnly {
		err = s.checkFiles(ctx, g, rep)
	}
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// idleRounds is how many rounds in a row may find no fewer faults than before until a repair gives up. What writers change while the
// graph is checked is left to the next round, so vertices that they change all the time may be left several times.
const idleRounds = 6

// checker checks a graph and repairs it.
type checker struct{ *Graph }

// rounds checks the graph and repairs what it finds until nothing is left to repair: counters come right once lists and labels are.
func (k checker) rounds(ctx context.Context, o shard.CheckOptions) (rep *shard.CheckReport, err error) {
	least := [2]uint64{math.MaxUint64}
	for idle := 0; ; idle++ {
		c := k.acquireBase()
		found, err := k.check(ctx, c, o.Progress)
		some := false
		if err == nil && o.Repair {
			if left := faults(found); slices.Compare(left[:], least[:]) < 0 {
				idle, least = 0, left
			}
			if idle < idleRounds {
				some, err = k.repairRound(ctx, c, found)
			}
		}
		k.releaseBase(c)
		if err != nil {
			return nil, err
		}
		if rep == nil {
			rep = report(found)
		}
		if !some {
			if o.Repair {
				settle(rep, found)
			}
			return rep, nil
		}
	}
}

// faults counts what a check has found: what counters follow from, and then counters.
func faults(c *check.Result) (n [2]uint64) {
	for kind, f := range c.Findings {
		if kind == check.FaultCounter {
			n[1] += f.Count
		} else {
			n[0] += f.Count
		}
	}
	return n
}

// check verifies a snapshot.
func (k checker) check(ctx context.Context, c *snapshot, tell func(string, uint64)) (*check.Result, error) {
	var indexes []check.Index
	for _, d := range k.defs.Load().ByID {
		ix := check.Index{Index: d.Index, Props: d.PropIDs, All: d.Bare()}
		ix.Label, _ = k.Catalog.Label(d.Index.Label)
		ix.Type, _ = k.Catalog.Type(d.Index.Type)
		indexes = append(indexes, ix)
	}
	return check.Run(ctx, c.Views, k.Catalog, indexes, tell)
}

// repairBatch is how many records are repaired together.
const repairBatch = 4096

// settle says how many faults were repaired, by those that the last check has left.
func settle(rep *shard.CheckReport, left *check.Result) {
	for _, kind := range left.Kinds() {
		f := finding(rep, kind)
		if f == nil {
			f = &shard.CheckFinding{Kind: kind, Repairable: check.Repairable(kind), Examples: left.Findings[kind].Examples}
			rep.Findings = append(rep.Findings, f)
		}
		f.Count = max(f.Count, left.Findings[kind].Count)
	}
	for _, f := range rep.Findings {
		f.Repaired = f.Count
		if l := left.Findings[f.Kind]; l != nil {
			f.Repaired -= l.Count
		}
	}
}

// repairRound repairs what a check has found in a snapshot, counters once nothing else is wrong; some reports whether there was
// anything to repair.
func (k checker) repairRound(ctx context.Context, c *snapshot, found *check.Result) (some bool, err error) {
	var fixes, counters []storage.Fix
	for _, kind := range found.Kinds() {
		for _, f := range found.Findings[kind].Fixes {
			switch {
			case f.Announce != nil:
				some = true
				if err := k.Present(f.Announce.Set, []graph.Property{{ID: f.Announce.Prop, Value: graph.BoolValue(true)}}); err != nil {
					return false, err
				}
			case kind == check.FaultCounter:
				counters = append(counters, f)
			default:
				fixes = append(fixes, f)
			}
		}
	}
	if !some && len(fixes) == 0 {
		fixes = counters
	}
	some = some || len(fixes) > 0
	for step := range slices.Chunk(fixes, repairBatch) {
		if err := k.repair(ctx, c, step); err != nil {
			return false, err
		}
	}
	return some, nil
}

// repair applies fixes of what a check has found in a snapshot and shows readers the outcome.
func (k checker) repair(ctx context.Context, c *snapshot, fixes []storage.Fix) error {
	if err := k.lock(ctx); err != nil {
		return err
	}
	p, err := k.repairLocked(c, fixes)
	k.unlock()
	if err != nil {
		return err
	}
	return k.publish(p, nil)
}

func (k checker) repairLocked(c *snapshot, fixes []storage.Fix) (*publication, error) {
	changed := map[graph.IndexOwner]bool{}
	for _, s := range k.since(c.Seq) {
		for _, id := range s.vertices {
			changed[graph.IndexOwner{Vertex: id}] = true
		}
		for _, id := range s.edges {
			changed[graph.IndexOwner{Edge: id, IsEdge: true}] = true
		}
	}
	byShard := make([][]storage.Fix, len(k.shards))
	for _, f := range fixes {
		if !slices.ContainsFunc(f.Owners, func(o graph.IndexOwner) bool {
			if o.IsEdge {
				o = graph.IndexOwner{Edge: o.Edge, IsEdge: true}
			}
			return changed[o]
		}) {
			byShard[f.Shard] = append(byShard[f.Shard], f)
		}
	}
	// Memory follows what is stored, even if not all was repaired.
	k.loads.Reset()
	seq, err := k.log.Break()
	if err != nil {
		return nil, err
	}
	k.Topology.ForgetKeys(seq)
	var errs []error
	for no, s := range k.shards {
		done, err := s.Repair(byShard[no], c.Views[no])
		errs = append(errs, err, s.Reload())
		var lists []staging.EdgeChange
		for _, f := range done {
			if f.Edge != nil {
				lists = append(lists, *f.Edge)
			}
		}
		k.Topology.NoteRepair(seq, no, lists)
	}
	p, err := k.enqueue()
	k.compactor.Note()
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, k.publish(p, nil))
	}
	return p, nil
}

// report returns findings the form of the interface.
func report(c *check.Result) *shard.CheckReport {
	rep := &shard.CheckReport{Vertices: c.Vertices, Edges: c.Edges, Entries: c.Entries, LargeValues: c.Large}
	for _, kind := range c.Kinds() {
		f := c.Findings[kind]
		rep.Findings = append(rep.Findings, &shard.CheckFinding{
			Kind: kind, Count: f.Count, Repairable: check.Repairable(kind), Examples: f.Examples,
		})
	}
	return rep
}

func finding(rep *shard.CheckReport, kind string) *shard.CheckFinding {
	for _, f := range rep.Findings {
		if f.Kind == kind {
			return f
		}
	}
	return nil
}

// filesAtOnce is of how many shards the files are verified side by side.
const filesAtOnce = 4

// checkFiles verifies the checksums of all blocks on disk, of copies that have no other reader.
func (s *Store) checkFiles(ctx context.Context, g *Graph, rep *shard.CheckReport) error {
	of := storage.PartOf{Name: g.Name, ID: g.id, Shards: len(g.shards)}
	return s.Copies.Scratch(func(dir string) error {
		type checked struct {
			files, bytes uint64
			bad          []string
		}
		all := make([]checked, len(g.shards))
		side, ctx := errgroup.WithContext(ctx)
		side.SetLimit(filesAtOnce)
		for no, sh := range g.shards {
			side.Go(func() (err error) {
				c := &all[no]
				bad := func(file string, err error) { c.bad = append(c.bad, fmt.Sprintf("shard %d, %s: %v", no, file, err)) }
				if s.Options.Peers != nil {
					c.files, c.bytes, err = s.Options.Peers.CheckFiles(ctx, of, no, bad)
				} else if err = errors.Join(sh.CheckLogs(bad), sh.Checkpoint(storage.Dir(dir, no))); err == nil {
					c.files, c.bytes, err = storage.CheckFiles(ctx, g.Options, storage.Dir(dir, no), bad)
				}
				return err
			})
		}
		if err := side.Wait(); err != nil {
			return err
		}
		for _, c := range all {
			rep.Files, rep.FileBytes = rep.Files+c.files, rep.FileBytes+c.bytes
			note(rep, check.FaultChecksum, c.bad)
		}
		return nil
	})
}

// note adds faults that cannot be repaired to a report.
func note(rep *shard.CheckReport, kind string, faults []string) {
	if len(faults) == 0 {
		return
	}
	f := finding(rep, kind)
	if f == nil {
		f = &shard.CheckFinding{Kind: kind}
		rep.Findings = append(rep.Findings, f)
	}
	f.Count += uint64(len(faults))
	f.Examples = append(f.Examples, faults...)
}

// compare compares the replicas of each shard, in the newest snapshot.
func (s *Store) compare(ctx context.Context, g *Graph, rep *shard.CheckReport) error {
	if s.Options.Peers == nil {
		return nil
	}
	c := g.acquireBase()
	defer g.releaseBase(c)
	of := storage.PartOf{Name: g.Name, ID: g.id, Shards: len(g.shards)}
	for no, v := range c.Views {
		var differ []string
		err := s.Options.Peers.Compare(ctx, of, no, storage.VersionOf(v), func(replica string) { differ = append(differ, fmt.Sprintf("shard %d, %s", no, replica)) })
		if err != nil {
			return err
		}
		note(rep, check.FaultReplica, differ)
	}
	return nil
}
