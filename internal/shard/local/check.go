package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// Check implements shard.Keeper. What is checked is the newest cut, so that nobody waits; to mend what is wrong, the
// graph is checked again under the writer's lock, so that nobody changes what is being mended.
func (s *Store) Check(ctx context.Context, name string, o shard.CheckOptions) (*shard.CheckReport, error) {
	g, err := s.Local(name)
	if err != nil {
		return nil, err
	}
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	if o.Repair && s.opts.ReadOnly {
		return nil, readOnly()
	}
	c := g.acquire()
	found, err := g.check(ctx, c, o.Progress)
	g.release(c)
	if err != nil {
		return nil, err
	}
	rep := report(found)
	if !s.opts.ReadOnly {
		if err := s.checkFiles(ctx, g, rep); err != nil {
			return nil, err
		}
	}
	if !o.Repair || len(found.Findings) == 0 {
		return rep, nil
	}
	files := finding(rep, storage.FaultChecksum)
	mended, err := g.repair(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	mended.Files, mended.FileBytes = rep.Files, rep.FileBytes
	if files != nil {
		mended.Findings = append(mended.Findings, files)
	}
	return mended, nil
}

// check verifies a cut.
func (g *Graph) check(ctx context.Context, c *cut, tell func(string, uint64)) (*storage.Checked, error) {
	var indexes []storage.CheckIndex
	for _, d := range g.defs.Load().byID {
		ix := storage.CheckIndex{Index: d.Index, Props: d.props, All: d.bare()}
		ix.Label, _ = g.Catalog.Label(d.Index.Label)
		ix.Type, _ = g.Catalog.Type(d.Index.Type)
		indexes = append(indexes, ix)
	}
	return storage.Check(ctx, c.views, g.Catalog, indexes, tell)
}

// repairBatch is how many records are mended together.
const repairBatch = 4096

// repair checks the graph while nobody writes and mends what can be mended.
func (g *Graph) repair(ctx context.Context, tell func(string, uint64)) (*shard.CheckReport, error) {
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	defer g.unlock()
	var rep *shard.CheckReport
	for round := 0; ; round++ {
		found, err := g.checkNow(ctx, tell)
		if err != nil {
			return nil, err
		}
		if rep == nil {
			rep = report(found)
		}
		some, err := g.mendRound(ctx, found)
		if err != nil {
			return nil, err
		}
		if !some || round == repairRounds {
			settle(rep, found)
			return rep, nil
		}
	}
}

// repairRounds is how often what was mended is looked at again: counters come right once lists and labels are.
const repairRounds = 4

// checkNow checks what is there. The caller holds the writer's lock.
func (g *Graph) checkNow(ctx context.Context, tell func(string, uint64)) (*storage.Checked, error) {
	c, err := g.newCut()
	if err != nil {
		return nil, err
	}
	defer g.closeViews(c)
	return g.check(ctx, c, tell)
}

// settle says how many faults were mended, by those that the last check has left.
func settle(rep *shard.CheckReport, left *storage.Checked) {
	for _, kind := range left.Kinds() {
		f := finding(rep, kind)
		if f == nil {
			f = &shard.CheckFinding{Kind: kind, Mendable: storage.Mendable(kind), Examples: left.Findings[kind].Examples}
			rep.Findings = append(rep.Findings, f)
		}
		f.Count = max(f.Count, left.Findings[kind].Count)
	}
	for _, f := range rep.Findings {
		f.Mended = f.Count
		if l := left.Findings[f.Kind]; l != nil {
			f.Mended -= l.Count
		}
	}
}

// mendRound mends what a check has found and shows readers the outcome; some tells whether there was anything to mend.
func (g *Graph) mendRound(ctx context.Context, found *storage.Checked) (some bool, err error) {
	var changes []storage.EdgeChange
	var counters []storage.Fix
	for _, kind := range found.Kinds() {
		fixes := found.Findings[kind].Fixes
		if kind == storage.FaultCounter {
			counters = fixes
			continue
		}
		some = some || len(fixes) > 0
		err = errors.Join(err, g.mend(ctx, fixes, &changes))
	}
	if !some && len(counters) > 0 {
		some = true
		err = g.mend(ctx, counters, &changes)
	}
	if !some {
		return false, err
	}
	// What is kept in memory follows what is stored now.
	g.keys, g.pairs = nil, nil
	for _, s := range g.shards {
		err = errors.Join(err, s.Reload())
	}
	g.seq++
	g.decoded.keys.Forget(g.seq)
	for no := range g.shards {
		var own []storage.EdgeChange
		for _, ch := range changes {
			if ch.Vertex.Shard() == no {
				own = append(own, ch)
			}
		}
		noteEdges(g.seq, g.decoded.lists[no], own)
	}
	p, perr := g.enqueue()
	g.noteFresh()
	if perr != nil {
		return true, errors.Join(err, perr)
	}
	return true, errors.Join(err, g.publish(p, nil))
}

// mend applies fixes in batches and adds what they change in lists to changes.
func (g *Graph) mend(ctx context.Context, fixes []storage.Fix, changes *[]storage.EdgeChange) error {
	byShard := make([][]storage.Fix, len(g.shards))
	for _, f := range fixes {
		if a := f.Announce; a != nil {
			if err := g.Present(a.Set, []graph.Property{{ID: a.Prop, Value: graph.BoolValue(true)}}); err != nil {
				return err
			}
			continue
		}
		byShard[f.Shard] = append(byShard[f.Shard], f)
		if f.Edge != nil {
			*changes = append(*changes, *f.Edge)
		}
	}
	for no, fixes := range byShard {
		for len(fixes) > 0 {
			if err := storage.Alive(ctx); err != nil {
				return err
			}
			n := min(len(fixes), repairBatch)
			if err := g.shards[no].Mend(fixes[:n]); err != nil {
				return err
			}
			fixes = fixes[n:]
		}
	}
	return nil
}

// report gives findings the form of the interface.
func report(c *storage.Checked) *shard.CheckReport {
	rep := &shard.CheckReport{Vertices: c.Vertices, Edges: c.Edges, Entries: c.Entries, LargeValues: c.Large}
	for _, kind := range c.Kinds() {
		f := c.Findings[kind]
		rep.Findings = append(rep.Findings, &shard.CheckFinding{
			Kind: kind, Count: f.Count, Mendable: storage.Mendable(kind), Examples: f.Examples,
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

// checkFiles verifies the checksums of all blocks on disk, of copies that nobody else reads.
func (s *Store) checkFiles(ctx context.Context, g *Graph, rep *shard.CheckReport) (err error) {
	s.copies.mu.Lock()
	s.copies.last++
	number := s.copies.last
	s.copies.mu.Unlock()
	fs := s.opts.FS
	dir := fs.PathJoin(s.opts.Dir, checkpointsName, strconv.FormatUint(number, 10))
	defer func() { err = errors.Join(err, fs.RemoveAll(dir)) }()
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for no, sh := range g.shards {
		at := storage.Dir(dir, no)
		if err := sh.Checkpoint(at); err != nil {
			return err
		}
		bad := func(file string, err error) {
			f := finding(rep, storage.FaultChecksum)
			if f == nil {
				f = &shard.CheckFinding{Kind: storage.FaultChecksum}
				rep.Findings = append(rep.Findings, f)
			}
			f.Count++
			f.Examples = append(f.Examples, fmt.Sprintf("shard %d, %s: %v", no, file, err))
		}
		files, bytes, err := storage.CheckFiles(ctx, g.opts, at, bad)
		rep.Files, rep.FileBytes = rep.Files+files, rep.FileBytes+bytes
		if err != nil {
			return err
		}
	}
	return nil
}
