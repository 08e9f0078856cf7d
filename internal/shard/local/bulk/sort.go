package bulk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/spill"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// sortedSum is what sorting has made, by shard.
type sortedSum struct {
	mu      sync.Mutex
	paths   [][]string
	counts  []map[stats.Count]int64
	degrees []map[stats.Degree]int64
	garbage [][]uint64
	again   shard.RowCounts // corrects what Add has counted; see shard.EdgeSorter
}

func newSortedSum(shards int) *sortedSum {
	s := &sortedSum{paths: make([][]string, shards), garbage: make([][]uint64, shards)}
	for range shards {
		s.counts = append(s.counts, map[stats.Count]int64{})
		s.degrees = append(s.degrees, map[stats.Degree]int64{})
	}
	return s
}

// sortType writes the lists of a type's edges in both directions. It closes the spill.
func (f *Sorter) sortType(ctx context.Context, t graph.TypeID, out *spill.File, sum *sortedSum) (err error) {
	in, err := f.newSpill(t, graph.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	firsts := make([]uint64, out.Buckets())
	for no, s := range f.g.Shards {
		n := 0
		for b := range f.buckets {
			firsts[no*f.buckets+b] = uint64(n)
			n += out.Records(no*f.buckets + b)
		}
		first := s.ReserveEdges(n)
		for b := range f.buckets {
			firsts[no*f.buckets+b] += first
		}
	}
	if err := f.sortLists(ctx, t, graph.Out, out, in, firsts, sum); err != nil {
		return err
	}
	f.mu.Lock()
	delete(f.types, t)
	f.mu.Unlock()
	if err := out.Close(); err != nil {
		return err
	}
	return f.sortLists(ctx, t, graph.In, in, nil, nil, sum)
}

// tableBytes is the number of bytes of records for one table.
const tableBytes = 64 << 20

// sortLists writes the lists of one direction: runs of buckets make a table each. mirror takes the edges for the other direction.
func (f *Sorter) sortLists(ctx context.Context, t graph.TypeID, dir graph.Direction, from, mirror *spill.File, firsts []uint64, sum *sortedSum) error {
	var tasks [][]int
	size := int64(0)
	for b := range from.Buckets() {
		if from.Records(b) == 0 {
			continue
		}
		last := len(tasks) - 1
		if last < 0 || size > tableBytes/int64(f.o.Workers) || tasks[last][0]/f.buckets != b/f.buckets {
			tasks, size = append(tasks, nil), 0
			last++
		}
		tasks[last] = append(tasks[last], b)
		size += from.Bytes(b)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, len(tasks))
	for i := range tasks {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	errs := make([]error, f.o.Workers)
	for k := range f.o.Workers {
		wg.Go(func() {
			s := &edgeSorter{f: f, t: t, dir: dir, sum: sum, props: map[graph.PropID]int64{}}
			if mirror != nil {
				s.mirror = mirror.Buffer(int(f.o.Memory) / 16 / f.o.Workers)
			}
			errs[k] = f.host.Read(ctx, func(tx Reader) error {
				s.tx = tx
				for i := range next {
					if err := s.task(ctx, from, tasks[i], i, firsts); err != nil {
						return err
					}
				}
				if s.mirror == nil {
					return nil
				}
				return s.mirror.Flush()
			})
			if errs[k] != nil {
				cancel(errs[k])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// edgeSorter sorts buckets, one after the other.
type edgeSorter struct {
	f      *Sorter
	t      graph.TypeID
	dir    graph.Direction
	tx     Reader
	sum    *sortedSum
	mirror *spill.Buffer
	table  *pack.ListTable

	data    []byte
	order   []placed
	scratch []placed
	rows    []sortedRecord // of the list at hand
	merged  []byte
	others  []graph.VertexID
	edges   []graph.EdgeID
	cols    []pack.Column
	// Of the bucket: the vertices that have lists and how long these are, and large values that were replaced.
	ids     []graph.VertexID
	sizes   []int64
	garbage []uint64
	again   shard.RowCounts // by the rows that repeat an edge
	// Of the table: how many edges have each property.
	props map[graph.PropID]int64
}

// placed is the order of a record: its place and other end in one number, see edgeSorter.sort, and where it is.
type placed struct {
	key uint64
	at  uint32
}

// task builds a table of the lists of buckets of one shard.
func (s *edgeSorter) task(ctx context.Context, from *spill.File, buckets []int, n int, firsts []uint64) (err error) {
	f := s.f
	no := buckets[0] / f.buckets
	if s.mirror != nil {
		if err := s.mirror.Round(n); err != nil {
			return err
		}
	}
	path := f.fs.PathJoin(f.dir, fmt.Sprintf("%d-%d-%d.sst", s.t, s.dir, n))
	if s.table, err = f.g.Shards[no].NewListTable(path, s.t, s.dir); err != nil {
		return err
	}
	for _, b := range buckets {
		first := uint64(0)
		if firsts != nil {
			first = firsts[b]
		}
		if err := s.bucket(ctx, from, b, f.first(b), f.shifts[no], &first); err != nil {
			return errors.Join(err, s.table.Close())
		}
	}
	if err := s.table.Close(); err != nil {
		return err
	}
	s.sum.mu.Lock()
	defer s.sum.mu.Unlock()
	s.sum.paths[no] = append(s.sum.paths[no], path)
	for d, n := range s.table.Resized {
		s.sum.degrees[no][d] += n
	}
	for p, n := range s.props {
		s.sum.counts[no][stats.Count{Kind: stats.CountEdgeProp, Type: s.t, Prop: p}] += n
	}
	clear(s.props)
	s.sum.garbage[no] = append(s.sum.garbage[no], s.garbage...)
	s.garbage = s.garbage[:0]
	s.sum.again.Add(s.again)
	s.again = shard.RowCounts{}
	return nil
}

// splitBits is by how many bits of the place a bucket that is too large is split.
const splitBits = 4

// bucket writes the lists of a bucket, whose places count from vertex first and have about width bits. Edges of out lists get
// ids from *id on.
func (s *edgeSorter) bucket(ctx context.Context, from *spill.File, b int, first graph.VertexID, width uint, id *uint64) error {
	if err := kv.Alive(ctx); err != nil {
		return err
	}
	// A record takes its own bytes and twice its order.
	need := from.Bytes(b) + int64(from.Records(b))*32
	if width > 0 && need > s.f.o.Memory/4/int64(s.f.o.Workers) {
		return s.split(ctx, from, b, first, width, id)
	}
	var err error
	if s.data, err = from.ReadAll(b, s.data); err != nil {
		return err
	}
	shift, err := s.sort(first.Shard())
	if err != nil {
		return err
	}
	s.ids, s.sizes = s.ids[:0], s.sizes[:0]
	for rest := s.order; len(rest) > 0; {
		place := rest[0].key >> shift
		n := 1
		for n < len(rest) && rest[n].key>>shift == place {
			n++
		}
		if err := s.list(first+graph.VertexID(place), rest[:n], id); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return s.count(ctx, first.Shard())
}

// split sorts a bucket that does not fit into memory in parts.
func (s *edgeSorter) split(ctx context.Context, from *spill.File, b int, first graph.VertexID, width uint, id *uint64) (err error) {
	shift := uint(max(0, int(width)-splitBits))
	fs := s.f.fs
	const parts = 1 << splitBits
	name := fmt.Sprintf("%d-%d-%d-%d", s.t, s.dir, first, width)
	to, err := spill.New(fs, fs.PathJoin(s.f.dir, name), parts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	buf := to.Buffer(int(s.f.o.Memory) / 16 / s.f.o.Workers)
	s.data, err = from.Each(b, s.data, func(data []byte) error {
		var r sortedRecord
		for len(data) > 0 {
			data = data[r.read(data, s.dir):]
			part := min(r.place>>shift, parts-1)
			r.place -= part << shift
			if err := buf.End(int(part), r.append(buf.Begin(int(part)), s.dir)); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, buf.Flush()); err != nil {
		return err
	}
	for part := range parts {
		if to.Records(part) == 0 {
			continue
		}
		if err := s.bucket(ctx, to, part, first+graph.VertexID(part)<<shift, shift, id); err != nil {
			return err
		}
	}
	return nil
}

// sort puts the records in the order of place and other end; those that are equal in both stay in their order. The keys
// have the place from bit shift on.
func (s *edgeSorter) sort(no int) (shift uint, err error) {
	var r sortedRecord
	if len(s.data) > 1<<32-1 {
		r.read(s.data, s.dir)
		return 0, fmt.Errorf("the edges of vertex %d of shard %d are too many to be sorted", r.place, no)
	}
	var most uint64
	for _, sh := range s.f.g.Shards {
		most = max(most, sh.NextVertex())
	}
	local := uint(bits.Len64(most))
	shift = local + uint(bits.Len(uint(len(s.f.g.Shards)-1)))
	s.order = s.order[:0]
	for at := 0; at < len(s.data); {
		size := r.read(s.data[at:], s.dir)
		s.order = append(s.order, placed{uint64(r.place)<<shift | uint64(r.other.Shard())<<local | r.other.Local(), uint32(at)})
		at += size
	}
	s.scratch = slices.Grow(s.scratch[:0], len(s.order))[:len(s.order)]
	s.order, s.scratch = sortPlaced(s.order, s.scratch, shift)
	return shift, nil
}

const radixBits = 11

// sortPlaced sorts by key, stably, with a radix sort; it gives the sorted and the other memory. Bits below shift need no
// sorting if the records come in their order, as those do that out lists have mirrored.
func sortPlaced(from, to []placed, shift uint) (sorted, other []placed) {
	var all, any, last uint64 = ^uint64(0), 0, 0
	done, doneBelow, below := true, true, uint64(1)<<shift-1
	for i := range from {
		key := from[i].key
		all &= key
		any |= key
		done = done && last <= key
		doneBelow = doneBelow && last&below <= key&below
		last = key
	}
	if done {
		return from, to
	}
	varying, at := all^any, uint(0)
	if doneBelow {
		at = shift
	}
	for ; at < uint(bits.Len64(varying)); at += radixBits {
		if varying>>at&(1<<radixBits-1) == 0 {
			continue
		}
		var next [1 << radixBits]uint32
		for i := range from {
			next[from[i].key>>at&(1<<radixBits-1)]++
		}
		sum := uint32(0)
		for d := range next {
			next[d], sum = sum, sum+next[d]
		}
		for i := range from {
			d := from[i].key >> at & (1<<radixBits - 1)
			to[next[d]] = from[i]
			next[d]++
		}
		from, to = to, from
	}
	return from, to
}

// list writes the list of a vertex.
func (s *edgeSorter) list(v graph.VertexID, records []placed, id *uint64) error {
	s.rows, s.merged = s.rows[:0], s.merged[:0]
	if s.dir == graph.Out {
		s.compact(records)
		for i := range s.rows {
			s.rows[i].id = graph.MakeEdgeID(v.Shard(), *id)
			*id++
		}
	} else {
		s.rows = slices.Grow(s.rows, len(records))[:len(records)]
		for i, r := range records {
			s.rows[i].read(s.data[r.at:], s.dir)
		}
	}
	s.others, s.edges = s.others[:0], s.edges[:0]
	for c := range s.cols {
		s.cols[c].Reset()
	}
	for i := range s.rows {
		r := &s.rows[i]
		s.others, s.edges = append(s.others, r.other), append(s.edges, r.id)
		for rest := r.props; len(rest) > 0; {
			p, n := binary.Uvarint(rest)
			size, m := binary.Uvarint(rest[n:])
			rest = rest[n+m:]
			col := s.column(graph.PropID(p))
			for col.Rows() < i {
				col.Skip()
			}
			col.AddCell(rest[:size])
			rest = rest[size:]
		}
		if s.mirror != nil {
			if err := s.reflect(v, r); err != nil {
				return err
			}
		}
	}
	for c := range s.cols {
		for s.cols[c].Rows() < len(s.rows) {
			s.cols[c].Skip()
		}
		if s.dir == graph.Out {
			s.props[s.cols[c].Prop] += int64(s.cols[c].Values)
		}
	}
	s.ids, s.sizes = append(s.ids, v), append(s.sizes, int64(len(s.rows)))
	return s.table.Put(v.Local(), s.others, s.edges, s.cols)
}

// column returns the column of a property, in the order of whose numbers they stand.
func (s *edgeSorter) column(p graph.PropID) *pack.Column {
	i := 0
	for ; i < len(s.cols) && s.cols[i].Prop <= p; i++ {
		if s.cols[i].Prop == p {
			return &s.cols[i]
		}
	}
	s.cols = slices.Insert(s.cols, i, pack.NewColumn(p, 64))
	return &s.cols[i]
}

// reflect hands an edge of an out list on to be sorted by its target.
func (s *edgeSorter) reflect(v graph.VertexID, r *sortedRecord) error {
	bucket, place := s.f.bucket(r.other)
	in := sortedRecord{place: place, other: v, id: r.id, props: r.props}
	return s.mirror.End(bucket, in.append(s.mirror.Begin(bucket), graph.In))
}

// compact makes rows of the records of an out list: among those with the same target the first makes an edge, and so does
// every insert; an upsert changes all that there are by then.
func (s *edgeSorter) compact(records []placed) {
	made := 0 // the first row with the target at hand
	for _, at := range records {
		var r sortedRecord
		r.read(s.data[at.at:], s.dir)
		if len(s.rows) == made || s.rows[made].other != r.other {
			made = len(s.rows)
		}
		if made == len(s.rows) || !r.upsert {
			s.rows = append(s.rows, r)
			continue
		}
		s.again.Created--
		for i := made; i < len(s.rows); i++ {
			var changed bool
			s.rows[i].props, changed = s.override(s.rows[i].props, r.props)
			s.again.Existing(changed)
		}
	}
}

// override returns properties with those of next in place of their own, and reports whether any changes. Large values count as changed.
func (s *edgeSorter) override(old, next []byte) (props []byte, changed bool) {
	start, kept := len(s.merged), 0
	_ = eachSorted(old, func(p graph.PropID, cell []byte) error {
		named := false
		_ = eachSorted(next, func(q graph.PropID, now []byte) error {
			if q == p {
				named = true
				kept += len(now)
				changed = changed || !bytes.Equal(now, cell)
			}
			return nil
		})
		switch {
		case !named:
			s.merged = binary.AppendUvarint(s.merged, uint64(p))
			s.merged = append(binary.AppendUvarint(s.merged, uint64(len(cell))), cell...)
		case cell[0] == keys.KindRef:
			if _, ref, isRef, _, err := keys.Cell(cell); err == nil && isRef {
				s.garbage = append(s.garbage, ref.ID)
			}
		}
		return nil
	})
	_ = eachSorted(next, func(_ graph.PropID, now []byte) error {
		kept -= len(now)
		return nil
	})
	s.merged = append(s.merged, next...)
	return s.merged[start:len(s.merged):len(s.merged)], changed || kept != 0
}

// count counts the edges of the bucket by the labels of the vertices whose lists they are in.
func (s *edgeSorter) count(ctx context.Context, no int) error {
	sets := make([]graph.LabelSet, len(s.ids))
	if err := s.tx.LabelSets(ctx, s.ids, sets); err != nil {
		return err
	}
	bySet := map[graph.LabelSet]int64{}
	all := int64(0)
	for i, set := range sets {
		bySet[set] += s.sizes[i]
		all += s.sizes[i]
	}
	s.sum.mu.Lock()
	defer s.sum.mu.Unlock()
	counts := s.sum.counts[no]
	kind := stats.CountDst
	if s.dir == graph.Out {
		kind = stats.CountSrc
		counts[stats.Count{Kind: stats.CountEdges}] += all
		counts[stats.Count{Kind: stats.CountType, Type: s.t}] += all
	}
	for set, n := range bySet {
		for _, l := range s.f.g.Labels(set) {
			counts[stats.Count{Kind: kind, Label: l, Type: s.t}] += n
		}
	}
	return nil
}
