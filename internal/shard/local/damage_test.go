package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// places is how many places of a file are damaged that has no blocks that are known.
func places() int64 { return int64(size(12, 5)) }

// spot is a byte of a file to damage.
type spot struct {
	file string
	at   int64
	kind string // of the block
}

// tableSpots returns the middle of each block of a table.
func tableSpots(t *testing.T, fs vfs.FS, name string) (spots []spot) {
	f, err := fs.Open(name)
	require.NoError(t, err)
	readable, err := sstable.NewSimpleReadable(f)
	require.NoError(t, err)
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	require.NoError(t, err)
	l, err := r.Layout()
	require.NoError(t, err)
	add := func(offset, length uint64, kind string) {
		if length > 0 {
			spots = append(spots, spot{name, int64(offset + length/2), kind})
		}
	}
	for _, h := range l.Data {
		add(h.Offset, h.Length, "data")
	}
	for _, h := range l.Index {
		add(h.Offset, h.Length, "index")
	}
	for _, h := range l.Filter {
		add(h.Offset, h.Length, "filter")
	}
	for _, h := range l.ValueBlock {
		add(h.Offset, h.Length, "value")
	}
	add(l.ValueIndex.Offset, l.ValueIndex.Length, "value index")
	add(l.RangeDel.Offset, l.RangeDel.Length, "range deletions")
	require.NoError(t, r.Close())
	return spots
}

// readAll reads everything that a graph holds in every way, and returns it as text.
func (l *ledger) readAll(plain bool) (_ string, err error) {
	ctx := context.Background()
	stx, err := l.g.Begin(ctx, shard.Read)
	if err != nil {
		return "", err
	}
	tx := stx.(*Tx)
	defer tx.Rollback()
	if plain {
		tx.Plain()
	}
	var out strings.Builder
	for _, label := range []graph.LabelID{0, l.label} {
		var ids []graph.VertexID
		for from, done := graph.VertexID(0), false; !done; {
			var some []graph.VertexID
			if some, from, done, err = tx.Scan(ctx, label, from, make([]graph.VertexID, 0, 100)); err != nil {
				return "", fmt.Errorf("Scan: %w", err)
			}
			ids = append(ids, some...)
		}
		fmt.Fprintln(&out, ids)
		sets := make([]graph.LabelSet, len(ids))
		if err := tx.LabelSets(ctx, ids, sets); err != nil {
			return "", fmt.Errorf("LabelSets: %w", err)
		}
		fmt.Fprintln(&out, sets)
		recs := make([]shard.Record, len(ids))
		if err := tx.Records(ctx, ids, recs); err != nil {
			return "", fmt.Errorf("Records: %w", err)
		}
		showRecords(&out, recs)
		props := []graph.PropID{l.id, l.text, l.last}
		cols := shard.Columns(len(props), len(ids))
		if err := tx.Properties(ctx, ids, props, cols); err != nil {
			return "", fmt.Errorf("Properties: %w", err)
		}
		for _, c := range cols {
			showValues(&out, c)
		}
		for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
			var res shard.Neighbours
			if err := tx.Expand(ctx, &shard.Expand{Sources: ids, Dir: dir, Edges: true, Props: []graph.PropID{l.id, l.text}}, &res); err != nil {
				return "", fmt.Errorf("Expand: %w", err)
			}
			fmt.Fprintln(&out, res.Offsets, res.Targets, res.Edges)
			for _, c := range res.Props {
				showValues(&out, c)
			}
			degrees := make([]int, len(ids))
			if err := tx.Degrees(ctx, ids, nil, dir, degrees); err != nil {
				return "", fmt.Errorf("Degrees: %w", err)
			}
			fmt.Fprintln(&out, degrees)
			if dir != graph.Out {
				continue
			}
			var edges []graph.Edge
			for i, id := range ids {
				for e := res.Offsets[i]; e < res.Offsets[i+1]; e++ {
					edges = append(edges, graph.Edge{ID: res.Edges[e], Type: res.Types[e], Src: id, Dst: res.Targets[e]})
				}
			}
			recs := make([]shard.Record, len(edges))
			if err := tx.EdgeRecords(ctx, edges, recs); err != nil {
				return "", fmt.Errorf("EdgeRecords: %w", err)
			}
			showRecords(&out, recs)
		}
		var found shard.Found
		if err := tx.Seek(ctx, &shard.Seek{Index: l.index, Keys: cols[0]}, &found); err != nil {
			return "", fmt.Errorf("Seek: %w", err)
		}
		fmt.Fprintln(&out, found)
		var cursor []byte
		all, err := tx.SeekRange(ctx, l.index, shard.Range{Lo: graph.IntValue(0)}, &cursor, make([]graph.VertexID, 0, len(ids)+1))
		if err != nil {
			return "", fmt.Errorf("SeekRange: %w", err)
		}
		fmt.Fprintln(&out, all)
	}
	return out.String(), nil
}

func showValues(out *strings.Builder, vals []graph.Value) {
	for _, v := range vals {
		cell, _ := keys.AppendCell(nil, v)
		out.WriteString(strconv.Itoa(len(cell)))
		out.WriteByte(' ')
		out.Write(cell)
	}
	out.WriteByte('\n')
}

func showRecords(out *strings.Builder, recs []shard.Record) {
	for _, r := range recs {
		fmt.Fprint(out, r.Labels)
		for _, p := range r.Props {
			showValues(out, []graph.Value{graph.IntValue(int64(p.ID)), p.Value})
		}
	}
}

// A wrong byte in a block is an error that names the file and the keys whenever the block is read, in whatever way, and
// never an answer that lacks something. A check finds it also where nothing reads it.
func TestFlippedByte(t *testing.T) {
	mem := vfs.NewMem()
	opts := tiny(rand.New(rand.NewPCG(7, 1)), 2)
	opts.Logger, opts.FS = quiet(), mem
	opts.Tuning.CompactRecords, opts.Tuning.ReclaimBytes, opts.MemtableBytes = -1, -1, 1<<20
	l, err := openLedger(opts)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(7, 2))
	// Half of it lies packed, half of it as delta records.
	for range size(80, 40) {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.g.Settle(context.Background()))
	require.NoError(t, l.g.Flush(context.Background()))
	for range size(80, 40) {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.g.Flush(context.Background()))
	want, err := l.readAll(false)
	require.NoError(t, err)
	require.NoError(t, l.store.Close())

	var spots []spot
	for no := range 2 {
		for _, store := range []string{"graph", "values"} {
			dir := mem.PathJoin(storage.Dir("data/graphs/default", no), store)
			names, err := mem.List(dir)
			require.NoError(t, err)
			for _, name := range names {
				at := mem.PathJoin(dir, name)
				switch path.Ext(name) {
				case ".sst":
					spots = append(spots, tableSpots(t, mem, at)...)
				case ".blob":
					info, err := mem.Stat(at)
					require.NoError(t, err)
					for i := range places() {
						spots = append(spots, spot{at, i * info.Size() / places(), "blob"})
					}
					spots = append(spots, spot{at, info.Size() - 20, "footer"})
				}
			}
		}
	}
	read, unread, opened, checked := 0, 0, 0, 0
	for _, s := range spots {
		fs := vfs.NewMem()
		ok, err := vfs.Clone(mem, fs, "data", "data")
		require.NoError(t, err)
		require.True(t, ok)
		flip(t, fs, s)
		what := fmt.Sprintf("%s at %d", s.file, s.at)
		mustBeNamed := func(err error) {
			require.NotContains(t, err.Error(), "carrier", what)
			e := graph.AsError(err)
			require.Equal(t, graph.KindCorrupt, e.Kind, "%s: %v", what, err)
			if path.Ext(s.file) == ".blob" {
				// Of blob files Pebble tells the number alone.
				require.Contains(t, err.Error(), path.Dir(s.file), what)
				require.Contains(t, err.Error(), "file "+strings.TrimSuffix(path.Base(s.file), ".blob"), what)
			} else {
				require.Contains(t, err.Error(), s.file, what)
			}
			require.Contains(t, err.Error(), "key", what)
		}
		o := opts
		o.FS = fs
		l, err := openLedger(o)
		if err != nil {
			opened++
			mustBeNamed(err)
			if l != nil {
				_ = l.store.Close()
			}
			continue
		}
		seen := false
		for _, plain := range []bool{true, false} {
			got, err := l.readAll(plain)
			if err != nil {
				seen = true
				mustBeNamed(err)
			} else {
				require.True(t, want == got, "%s: an answer is wrong", what)
			}
		}
		if seen {
			read++
		} else if s.kind != "filter" && s.kind != "value" && s.kind != "value index" { // value blocks hold older versions
			unread++ // all that it holds has newer versions elsewhere, as long as no compaction has come by
		}
		rep, err := l.store.Check(context.Background(), "default", shard.CheckOptions{})
		if err != nil {
			mustBeNamed(err)
			checked++
		} else {
			require.False(t, rep.Clean(), "%s: the check has found nothing", what)
			require.Contains(t, fmt.Sprint(finding(rep, check.FaultChecksum).Examples), path.Base(s.file), what)
			checked++
		}
		if path.Ext(s.file) == ".sst" {
			_, err := l.store.Checkpoint(context.Background(), nil)
			require.ErrorContains(t, err, path.Base(s.file), what)
			require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind, what)
		}
		_ = l.store.Close()
	}
	t.Logf("%d bytes flipped: %d seen by opening, %d by reading, %d by checking", len(spots), opened, read, checked)
	require.Positive(t, read)
	require.LessOrEqual(t, unread, read/10)
}

// A blob file that was cut short, or vanishes, fails its readers and nothing else.
func TestCutBlob(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	opts := tiny(rand.New(rand.NewPCG(9, 1)), 1)
	opts.Logger, opts.FS = quiet(), mem
	opts.Tuning.CompactRecords, opts.Tuning.ReclaimBytes, opts.MemtableBytes = -1, -1, 1<<20
	l, err := openLedger(opts)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(9, 2))
	for range 40 {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.g.Flush(ctx))
	require.NoError(t, l.store.Close())
	dir := mem.PathJoin(storage.Dir("data/graphs/default", 0), "values")
	names, err := mem.List(dir)
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".blob" })
	require.NotEmpty(t, names)
	for _, name := range names {
		file := mem.PathJoin(dir, name)
		f, err := mem.Open(file)
		require.NoError(t, err)
		whole, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		for _, left := range []int{-1, 0, 20, len(whole) / 2, len(whole) - 1} {
			fs := vfs.NewMem()
			_, err := vfs.Clone(mem, fs, "data", "data")
			require.NoError(t, err)
			if left >= 0 {
				f, err := fs.Create(file, vfs.WriteCategoryUnspecified)
				require.NoError(t, err)
				_, err = f.Write(whole[:left])
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
			o := opts
			o.FS = fs
			l, err := openLedger(o)
			require.NoError(t, err)
			if left < 0 {
				require.NoError(t, fs.Remove(file))
			}
			_, err = l.readAll(true)
			require.ErrorContains(t, err, file)
			require.ErrorContains(t, err, "key")
			require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)
			_, err = l.store.Check(ctx, "default", shard.CheckOptions{})
			require.ErrorContains(t, err, file)
			require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)
			require.NoError(t, l.store.Close())
			if left < 0 {
				_, err = openLedger(o)
				require.ErrorContains(t, err, dir)
				require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)
			}
		}
	}
}

// A wrong byte in a log or a manifest of a store that was closed, or in its seal, is an error that names the file; so is a
// file that is gone.
func TestFlippedByteOfLog(t *testing.T) {
	mem := vfs.NewMem()
	opts := tiny(rand.New(rand.NewPCG(8, 1)), 2)
	opts.Logger, opts.FS = quiet(), mem
	l, err := openLedger(opts)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(8, 2))
	for i := range 60 {
		require.NoError(t, l.write(rng))
		if i == 20 {
			require.NoError(t, l.g.Flush(context.Background()))
		}
	}
	require.NoError(t, l.store.Close())
	kinds := map[string]int{}
	try := func(file, kind string, harm func(fs vfs.FS)) {
		fs := vfs.NewMem()
		ok, err := vfs.Clone(mem, fs, "data", "data")
		require.NoError(t, err)
		require.True(t, ok)
		harm(fs)
		for _, readOnly := range []bool{true, false, false} { // an error changes nothing
			o := opts
			o.FS, o.ReadOnly = fs, readOnly
			_, err = Open(o)
			require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind, "%s: %v", file, err)
			require.ErrorContains(t, err, file)
		}
		kinds[kind]++
	}
	for no := range 2 {
		for _, store := range []string{"graph", "values"} {
			dir := mem.PathJoin(storage.Dir("data/graphs/default", no), store)
			names, err := mem.List(dir)
			require.NoError(t, err)
			for _, name := range names {
				kind, _, _ := strings.Cut(name, "-")
				if path.Ext(name) == ".log" {
					kind = "log"
				}
				if kind != "log" && kind != "MANIFEST" && kind != "SEAL" {
					continue
				}
				file := mem.PathJoin(dir, name)
				info, err := mem.Stat(file)
				require.NoError(t, err)
				for i := range min(info.Size(), places()) {
					try(file, kind, func(fs vfs.FS) { flip(t, fs, spot{file, i * (info.Size() - 1) / (places() - 1), kind}) })
				}
				if kind != "SEAL" {
					try(file, kind, func(fs vfs.FS) { require.NoError(t, fs.Remove(file)) })
				}
			}
		}
	}
	t.Log(kinds)
	require.Len(t, kinds, 3)
	l, err = openLedger(opts)
	require.NoError(t, err)
	l.check(t, map[int]bool{59: true})
	require.NoError(t, l.store.Close())
}

// A wrong bit in any file of a store whose process was killed, however old the store is, is an error when the store is opened or
// read, or harms nothing. When the machine died too, the record of what was synced may be lost; then the last write may be missing.
func TestFlippedBitAfterCrash(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(12, 1))
	opts := tiny(rng, 1)
	opts.Logger, opts.MemtableBytes = quiet(), 1<<20
	opts.Tuning.CompactRecords, opts.Tuning.ReclaimBytes = -1, -1
	mem := vfs.NewCrashableMem()
	opts.FS = mem
	l, err := openLedger(opts)
	require.NoError(t, err)
	write := func(n int) {
		for range n {
			require.NoError(t, l.write(rng))
		}
	}
	ages := []struct {
		name string
		step func()
	}{
		{"new", func() { write(6) }},
		{"large", func() { write(60) }},
		{"flushed", func() { require.NoError(t, errors.Join(l.g.Settle(ctx), l.g.Flush(ctx))); write(6) }},
		{"opened again", func() {
			crashed := mem.CrashClone(vfs.CrashCloneCfg{})
			require.NoError(t, l.store.Close())
			mem, opts.FS = crashed, crashed
			again, err := openLedger(opts)
			require.NoError(t, err)
			again.check(t, l.acked)
			l = again
			write(6)
		}},
	}
	kinds := map[string]int{}
	for _, age := range ages {
		age.step()
		want, err := l.readAll(false)
		require.NoError(t, err)
		for how, percent := range map[string]int{"process killed": 100, "machine died": 0} {
			whole := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			for _, s := range allSpots(t, whole, "data") {
				what := fmt.Sprintf("%s, %s: %s at %d", age.name, how, s.file, s.at)
				fs := whole.CrashClone(vfs.CrashCloneCfg{})
				flip(t, fs, s)
				o := opts
				o.FS = fs
				again, err := openLedger(o)
				got := ""
				if err == nil {
					got, err = again.readAll(true)
				}
				missing := 0
				if err == nil && got != want {
					missing = len(l.acked) - vertices(t, again)
				}
				switch {
				case err != nil:
					require.Contains(t, []graph.Kind{graph.KindCorrupt, graph.KindInternal}, graph.AsError(err).Kind, "%s: %v", what, err)
					kinds[how+" "+s.kind+" refused"]++
				case got == want:
					kinds[how+" "+s.kind+" harmless"]++
				default:
					require.Equal(t, "machine died", how, "%s: %d acknowledged transactions are missing", what, missing)
					require.LessOrEqual(t, missing, 1, what)
					kinds[how+" "+s.kind+" shorter"]++
				}
				if again != nil {
					_ = again.store.Close()
				}
			}
		}
	}
	t.Log(kinds)
	require.Positive(t, kinds["process killed .log refused"])
	require.Positive(t, kinds["process killed MANIFEST refused"])
	require.NoError(t, l.store.Close())
}

// vertices counts the vertices of a ledger.
func vertices(t *testing.T, l *ledger) int {
	tx, err := l.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	return int(tx.Counts().Vertices)
}

// allSpots returns places in all files below a directory, of logs and manifests in what is written of them.
func allSpots(t *testing.T, fs *vfs.MemFS, dir string) (spots []spot) {
	names, err := fs.List(dir)
	require.NoError(t, err)
	slices.Sort(names)
	for _, name := range names {
		at := fs.PathJoin(dir, name)
		info, err := fs.Stat(at)
		require.NoError(t, err)
		if info.IsDir() {
			spots = append(spots, allSpots(t, fs, at)...)
			continue
		}
		f, err := fs.Open(at)
		require.NoError(t, err)
		b, err := io.ReadAll(f)
		require.NoError(t, errors.Join(err, f.Close()))
		size := int64(len(bytes.TrimRight(b, "\x00")))
		kind, _, _ := strings.Cut(name, "-")
		if ext := path.Ext(name); ext != "" {
			kind = ext
		}
		n := min(size, places())
		if kind != ".log" && kind != "MANIFEST" && kind != "SYNCED" { // other tests damage every block of the rest
			n = min(n, 2)
		}
		for i := range n {
			spots = append(spots, spot{at, i * (size - 1) / max(1, n-1), kind})
		}
	}
	return spots
}

// flip changes a byte of a file.
func flip(t *testing.T, fs vfs.FS, s spot) {
	f, err := fs.OpenReadWrite(s.file, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, s.at)
	require.NoError(t, err)
	was := bytes.Clone(b)
	b[0] ^= 0x10
	_, err = f.WriteAt(b, s.at)
	require.NoError(t, err)
	require.NotEqual(t, was, b)
	require.NoError(t, f.Close())
}
