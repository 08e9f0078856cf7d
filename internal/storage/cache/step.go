package cache

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

// Step adds to out what the lists of a type in the direction Out or In lead to from the vertices of from. views are
// those of the graph's shards, by number, all at one cut; a nil one is another's business, as far as from is concerned. Vertices of from
// whose lists are not to be had here are added to missed, for the caller to see to. Up to workers goroutines run.
//
// It pushes, from the vertices of from to their neighbours, or pulls, by looking for a vertex of from among the neighbours
// of each vertex that is not in out yet, whichever is likely to touch fewer edges.
func Step(views []*ListView, typ graph.TypeID, dir graph.Direction, from, out, missed *graph.VertexSet, workers int) error {
	s, _ := steppers.Get().(*stepper)
	*s = stepper{
		views: views, typ: typ, dir: dir, from: from, out: out, missed: missed, workers: max(workers, 1),
		parts: s.parts[:0], pushers: s.pushers[:0],
	}
	defer s.release()
	s.plan()
	if len(s.parts) == 0 {
		return nil
	}
	if s.worthPulling() {
		if done, err := s.pull(); done || err != nil {
			return err
		}
	}
	return s.push()
}

type stepper struct {
	views             []*ListView
	typ               graph.TypeID
	dir               graph.Direction
	from, out, missed *graph.VertexSet
	workers           int
	parts             []part
	pushers           []*pusher // one a worker
	frontier          int       // vertices of from
}

var steppers = sync.Pool{New: func() any { return new(stepper) }}

// release keeps the memory of a step for others.
func (s *stepper) release() {
	clear(s.parts)
	clear(s.pushers)
	*s = stepper{parts: s.parts[:0], pushers: s.pushers[:0]}
	steppers.Put(s)
}

// part is one block of from, or of out when pulling.
type part struct {
	view  *ListView
	shard int
	block uint64
	n     int // vertices of the set in it
}

// plan finds the blocks that from has vertices in.
func (s *stepper) plan() {
	for shard, v := range s.views {
		b := s.from.Bitmap(shard)
		if v == nil {
			continue
		}
		for block := uint64(0); int(block)*listWords < len(b); block++ {
			n := 0
			for _, w := range window(b, block) {
				n += bits.OnesCount64(w)
			}
			if n > 0 {
				s.parts = append(s.parts, part{v, shard, block, n})
				s.frontier += n
			}
		}
	}
}

// window is the part of a bitmap for a block; it may be short.
func window(b graph.Bitmap, block uint64) []uint64 {
	lo := min(int(block)*listWords, len(b))
	return b[lo:min(lo+listWords, len(b))]
}

// minParallel is the number of vertices of a frontier from which on more than one goroutine pays.
const minParallel = 2048

// run calls work for each part on up to workers goroutines; each has its own number.
func (s *stepper) run(parts []part, workers int, work func(worker int, p *part) error) error {
	if workers == 1 {
		for i := range parts {
			if err := work(0, &parts[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		wg   sync.WaitGroup
		next atomic.Int64
		errs = make([]error, workers)
	)
	for w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(parts) {
					return
				}
				if err := work(w, &parts[i]); err != nil {
					errs[w] = err
					next.Store(int64(len(parts)))
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pusher is what one worker needs.
type pusher struct {
	cur    Cursor
	view   *ListView
	out    *graph.VertexSet
	missed *graph.VertexSet
	own    [2]graph.VertexSet
}

var pushers = sync.Pool{New: func() any { return new(pusher) }}

func (s *stepper) push() error {
	workers := 1
	if s.frontier >= minParallel {
		workers = min(s.workers, len(s.parts))
	}
	for i := range workers {
		p := pushers.Get().(*pusher)
		p.view, p.out, p.missed = nil, s.out, s.missed
		if i > 0 {
			p.own[0].Clear()
			p.own[1].Clear()
			p.out, p.missed = &p.own[0], &p.own[1]
		}
		s.pushers = append(s.pushers, p)
	}
	err := s.run(s.parts, workers, func(w int, part *part) error { return s.pushPart(s.pushers[w], part) })
	for i, p := range s.pushers {
		if i > 0 && err == nil {
			s.out.Union(p.out)
			s.missed.Union(p.missed)
		}
		p.view, p.out, p.missed = nil, nil, nil
		p.cur.Release()
		pushers.Put(p)
	}
	return err
}

func (s *stepper) pushPart(p *pusher, part *part) error {
	if p.view != part.view {
		p.view = part.view
		p.view.Cursor(&p.cur, s.typ, s.dir, Want{})
	}
	words := window(s.from.Bitmap(part.shard), part.block)
	ok, err := p.cur.seek(part.block, part.n)
	if err != nil {
		return err
	}
	if !ok {
		addWords(p.missed, part.shard, part.block, words)
		return nil
	}
	d := p.cur.data
	for shard, n := range d.max {
		if n > 0 {
			p.out.Grow(shard, uint64(n))
		}
	}
	ids := p.view.lists.ids
	if p.cur.over == nil && p.cur.skip == nil {
		if ids.shards == 1 {
			pushOne(p.out.Bitmap(0), words, d.offsets, d.targets)
		} else {
			pushMany(p.out, ids, words, d.offsets, d.targets)
		}
		return nil
	}
	return s.pushDirty(p, part, words)
}

// pushDirty pushes a block in which some lists have changed.
func (s *stepper) pushDirty(p *pusher, part *part, words []uint64) error {
	var clean [listWords]uint64
	ids := p.view.lists.ids
	for w, word := range words {
		var dirty uint64
		if p.cur.over != nil {
			dirty = p.cur.over.mask(w)
		}
		if p.cur.skip != nil {
			dirty |= p.cur.skip[w]
		}
		clean[w] = word &^ dirty
		for m := word & dirty; m != 0; m &= m - 1 {
			at := uint32(w<<6 + bits.TrailingZeros64(m))
			l, ok := p.cur.list(at)
			if !ok {
				p.missed.Add(graph.MakeVertexID(part.shard, part.block*ListBlock+uint64(at)))
				continue
			}
			for _, t := range l.Targets {
				p.out.Add(ids.unpack(t))
			}
		}
	}
	d := p.cur.data
	if ids.shards == 1 {
		pushOne(p.out.Bitmap(0), clean[:len(words)], d.offsets, d.targets)
	} else {
		pushMany(p.out, ids, clean[:len(words)], d.offsets, d.targets)
	}
	return nil
}

// pushOne sets the bits of the targets of the vertices of words in a graph of one shard. dst has room for all.
func pushOne(dst graph.Bitmap, words []uint64, offsets, targets []uint32) {
	for w, word := range words {
		if word == ^uint64(0) {
			pushRange(dst, targets[offsets[w<<6]:offsets[w<<6+64]])
			continue
		}
		for ; word != 0; word &= word - 1 {
			at := w<<6 + bits.TrailingZeros64(word)
			pushRange(dst, targets[offsets[at]:offsets[at+1]])
		}
	}
}

func pushRange(dst graph.Bitmap, list []uint32) {
	for _, t := range list {
		dst[t>>6] |= 1 << (t & 63)
	}
}

// pushMany is pushOne for a graph of several shards.
func pushMany(out *graph.VertexSet, ids IDs, words []uint64, offsets, targets []uint32) {
	local, mask := ids.local, uint32(1)<<ids.local-1
	for w, word := range words {
		for ; word != 0; word &= word - 1 {
			at := w<<6 + bits.TrailingZeros64(word)
			list := targets[offsets[at]:offsets[at+1]]
			// A list is sorted, so that the shards follow each other.
			for len(list) > 0 {
				shard := list[0] >> local
				dst := out.Bitmap(int(shard))
				n := 0
				for _, t := range list {
					if t>>local != shard {
						break
					}
					t &= mask
					dst[t>>6] |= 1 << (t & 63)
					n++
				}
				list = list[n:]
			}
		}
	}
}

// addWords adds a window of vertices to a set.
func addWords(set *graph.VertexSet, shard int, block uint64, words []uint64) {
	b := set.Grow(shard, block*ListBlock+uint64(len(words))*64)
	for i, w := range words {
		b[int(block)*listWords+i] |= w
	}
}
