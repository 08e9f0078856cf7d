package restricted

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// scans finds the visible vertices of a label by indexes of what the rules compare.
type scans struct {
	r    *reader
	view *View // nil: plans are for this caller alone
}

// RuleIndexes implements shard.RuleScanner.
func (s *scans) RuleIndexes(label string) (parts []rules.Part, ok bool) {
	id, ok := s.r.names.Label(label)
	if !ok {
		return nil, false
	}
	b := s.r.bound.Load()
	if s.view != nil {
		b = s.view.planned()
	}
	c, ok := b.Cover(id)
	return c.Parts, ok
}

// Remembers implements shard.RuleScanner.
func (s *scans) Remembers() bool { return s.r.tx.Features().Dated != nil }

// RuleRanges implements shard.RuleScanner. A transaction that has changed something scans: it may have label sets of its own.
func (s *scans) RuleRanges(label graph.LabelID) (ranges []shard.RuleRange, ok bool) {
	if s.r.memo == nil {
		return nil, false
	}
	c, ok := s.r.bound.Load().Cover(label)
	if !ok {
		return nil, false
	}
	for i := range c.Parts {
		for _, in := range c.Parts[i].Intervals() {
			first := in[0]
			rg := shard.Range{Lo: first.Lo, Hi: first.Hi, LoOpen: first.LoOpen, HiOpen: first.HiOpen}
			for _, more := range in[1:] {
				rg.Further = append(rg.Further, [2]graph.Value{more.Lo, more.Hi})
			}
			ranges = append(ranges, shard.RuleRange{Index: c.Parts[i].Index.ID, Range: rg})
		}
	}
	return ranges, true
}

// ScanRange implements shard.RuleScanner.
func (s *scans) ScanRange(ctx context.Context, r *shard.RuleRange, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	for {
		start := len(dst)
		dst, err := s.r.tx.SeekRange(ctx, r.Index, r.Range, cursor, dst)
		if err != nil {
			return dst, err
		}
		seen, err := s.r.filter(ctx, dst[start:])
		if dst = dst[:start+len(seen)]; len(seen) > 0 || *cursor == nil || err != nil {
			return dst, err
		}
	}
}
