package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
)

// others are the methods that no test of this package calls.
type others struct{ Graph }

// host is a bare graph.
type host struct {
	*localtest.Bare
	others
}

// epoch is when the clock begins, in seconds since 1970: lesser numbers of milliseconds are not times of writing.
const epoch = 1_800_000_000

// world is a graph with its maintenance, none of which runs by itself.
type world struct {
	t       *testing.T
	g       host
	now     time.Time
	expirer *Expirer
	compact *Compactor
	builds  *Builds
}

// TestSteps plays the steps of maintenance.
func TestSteps(t *testing.T) {
	datadriven.Walk(t, "testdata/steps", func(t *testing.T, path string) {
		w := &world{t: t, now: time.Unix(epoch, 0)}
		w.g.Bare = localtest.NewBare(t, storage.Options{
			Shards: 2, Logger: localtest.Quiet(), Clock: func() time.Time { return w.now },
			Tuning: storage.Tuning{PlaceBlock: 1, ExpireBatch: 2, IndexBatch: 2, CompactRecords: 4, CompactStep: 3},
		})
		w.expirer = NewExpirer(w.g, w.g.On, nil, w.g.Stop)
		w.compact = NewCompactor(w.g, w.g.On, w.g.Parts, w.g.Stop)
		w.builds = NewBuilds(w.g, w.g.On, w.g.Catalog, w.g.Parts)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := w.run(d)
			if err != nil {
				out += graph.AsError(err).Msg + "\n"
			}
			return out
		})
		w.builds.Wait()
	})
}

func (w *world) run(d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	switch d.Cmd {
	case "do":
		return "", w.g.Do(d.Input)
	case "clock":
		sec := 0
		d.ScanArgs(w.t, "sec", &sec)
		w.now = time.Unix(epoch+int64(sec), 0)
	case "index":
		w.g.Index(w.define(d))
	case "find":
		err := w.expirer.Find()
		return "due " + due(w.expirer.Due()) + "\n", err
	case "expire": // a step
		w.g.Fails = nil
		if d.HasArg("broken") {
			w.g.Fails = errors.New("the disk is broken")
		}
		some, err := w.expirer.step(ctx)
		if some {
			w.expirer.Set(w.g.Due)
		}
		require.False(w.t, w.g.Locked())
		return fmt.Sprintf("some %t, due %s, deleted %v\n%s", some, due(w.expirer.Due()), w.expirer.Deleted(), w.entries()), err
	case "note":
		w.compact.Note()
		kicked := len(w.compact.kick)
		for range kicked {
			<-w.compact.kick
		}
		return fmt.Sprintf("pending %d, due %d, kicked %d\n", w.compact.Pending(), w.compact.due.Load(), kicked), nil
	case "compact":
		some, err := w.compact.Step(ctx)
		require.False(w.t, w.g.Locked())
		return fmt.Sprintf("some %t, pending %d\n", some, w.compact.Pending()), err
	case "build":
		if d.HasArg("dropped") || d.HasArg("abandoned") {
			require.NoError(w.t, w.g.Lock(ctx)) // keeps the build from going on
		}
		ix := w.define(d)
		ix.ID = w.g.Index(ix)
		b := w.builds.Start(ix.ID)
		var out string
		switch {
		case d.HasArg("dropped"):
			require.NoError(w.t, w.g.RemoveIndex(ix))
			w.g.Unlock()
		case d.HasArg("abandoned"):
			ended, cancel := context.WithCancel(ctx)
			cancel()
			out = graph.AsError(b.Await(ended, w.g.Stop, ix.Unique)).Msg + "\n"
			w.g.Unlock()
		}
		err := b.Await(ctx, w.g.Stop, false)
		return fmt.Sprintf("%sprogress %v, running %d\n%s", out, w.builds.Progress(ix.ID), w.builds.Len(), w.entries()), err
	case "scan": // what a build visits that began before some changes
		b := &Build{of: w.builds, ctx: ctx}
		for _, s := range w.g.Parts {
			b.ends = append(b.ends, s.NextVertex())
		}
		require.NoError(w.t, w.g.Do(d.Input))
		tx, end, err := w.g.ReadNewest()
		require.NoError(w.t, err)
		defer end()
		var out []string
		for from := graph.VertexID(0); from != graph.NoVertex && err == nil; {
			var ids []graph.VertexID
			ids, from, err = b.scan(tx, 0, from)
			for _, id := range ids {
				out = append(out, w.g.NameOf(graph.IndexOwner{Vertex: id}))
			}
		}
		return fmt.Sprintf("%v\n", out), err
	default:
		w.t.Fatalf("unknown command %s", d.Cmd)
	}
	return "", nil
}

func due(at int64) string {
	if at == write.Never {
		return "never"
	}
	return time.Duration(at - epoch*1e9).String()
}

// define reads a definition.
func (w *world) define(d *datadriven.TestData) graph.Index {
	ix := graph.Index{Indexed: !d.HasArg("required"), Required: d.HasArg("required"), Unique: d.HasArg("unique")}
	ttl, props := 0, ""
	d.MaybeScanArgs(w.t, "name", &ix.Name)
	d.MaybeScanArgs(w.t, "label", &ix.Label)
	d.MaybeScanArgs(w.t, "type", &ix.Type)
	d.MaybeScanArgs(w.t, "props", &props)
	d.MaybeScanArgs(w.t, "ttl", &ttl)
	if ix.TTL = time.Duration(ttl) * time.Second; ttl > 0 {
		ix.Name, ix.Online = "ttl", true
	}
	if props != "" {
		ix.Props = strings.Split(props, "+")
	}
	return ix
}

// entries lists the owners of all indexes.
func (w *world) entries() string {
	tx, end, err := w.g.ReadNewest()
	require.NoError(w.t, err)
	defer end()
	var out strings.Builder
	for _, ix := range index.All(w.g.Catalog) {
		var names []string
		for _, v := range tx.Views() {
			require.NoError(w.t, v.Walk(context.Background(), ix.ID, nil, nil, false, func(_ []byte, o graph.IndexOwner) bool {
				names = append(names, w.g.NameOf(o))
				return true
			}))
		}
		slices.Sort(names)
		fmt.Fprintf(&out, "%s: online %t, failure %q, %v\n", ix.Name+ix.Label+ix.Type, ix.Online, ix.Failure, names)
	}
	return out.String()
}
