package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/graphdb"
)

// digest describes a graph: for the vertices of each set of labels, and the edges of each type between such sets, their number and the sum of
// the hashes of their properties. It does not depend on their order.
type digest struct {
	seed   maphash.Seed
	groups map[string]*group
	buf    []byte
}

type group struct {
	count int64
	sum   uint64
}

// labelled returns labels as a pattern has them, in an order of their own.
func labelled(labels []string) string {
	labels = slices.Clone(labels)
	slices.Sort(labels)
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(":" + answer.QuoteName(l))
	}
	return "(" + b.String() + ")"
}

// between returns the pattern of edges.
func between(source []string, typ string, target []string) string {
	return labelled(source) + "-[:" + answer.QuoteName(typ) + "]->" + labelled(target)
}

// count counts elements.
func (d *digest) count(kind string, n int64) *group {
	g := d.groups[kind]
	if g == nil {
		g = &group{}
		d.groups[kind] = g
	}
	g.count += n
	return g
}

// add adds an element with properties in any order.
func (d *digest) add(kind string, properties []*pb.MapEntry) error {
	g := d.count(kind, 1)
	slices.SortFunc(properties, func(a, b *pb.MapEntry) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	var err error
	d.buf, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(d.buf[:0], &pb.MapValue{Entries: properties})
	g.sum += maphash.Bytes(d.seed, d.buf)
	return err
}

// differences says what two graphs differ in.
func (d *digest) differences(o *digest) (out []string) {
	kinds := maps.Clone(d.groups)
	maps.Copy(kinds, o.groups)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		a, b := d.groups[kind], o.groups[kind]
		if a == nil {
			a = &group{}
		}
		if b == nil {
			b = &group{}
		}
		switch {
		case a.count != b.count:
			out = append(out, fmt.Sprintf("%s: %s in the source, %s in the copy", kind, cli.Grouped(a.count), cli.Grouped(b.count)))
		case a.sum != b.sum:
			out = append(out, fmt.Sprintf("%s: properties of the %s elements differ", kind, cli.Grouped(a.count)))
		}
	}
	return out
}

// compare compares the copy with its source, and prints the differences.
func (d *fromDatabase) compare(ctx context.Context, out io.Writer) (int, error) {
	digests := [2]*digest{}
	seed := maphash.MakeSeed()
	for i := range digests {
		digests[i] = &digest{seed: seed, groups: map[string]*group{}}
	}
	ofSource, ofCopy := d.digestSource, d.digestCopy
	if d.comparison == compareCounts {
		ofSource, ofCopy = d.countSource, d.countCopy
	}
	if err := errors.Join(ofSource(ctx, digests[0]), ofCopy(ctx, digests[1])); err != nil {
		return 0, fmt.Errorf("compare: %w", err)
	}
	differences := digests[0].differences(digests[1])
	for _, line := range differences {
		fmt.Fprintln(out, "differs:", line)
	}
	if len(differences) == 0 {
		fmt.Fprintf(out, "compared %s of %s kinds of vertices and edges: the copy equals its source\n", d.comparison, cli.Grouped(int64(len(digests[0].groups))))
	}
	return len(differences), nil
}

func (d *fromDatabase) digestSource(ctx context.Context, to *digest) error {
	for _, edges := range []bool{false, true} {
		rows := d.source.Rows(ctx, edges, true, loader.Cursor{})
		err := each(rows.Next, func(row *graphdb.Row) error {
			kind := labelled(row.Labels)
			if edges {
				kind = between(row.Ends[0], row.Type, row.Ends[1])
			}
			var properties []*pb.MapEntry
			for _, p := range row.Properties {
				properties = append(properties, &pb.MapEntry{Key: p.Key, Value: valueProto(p.Value)})
			}
			return to.add(kind, properties)
		})
		if err := errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for what next returns, up to io.EOF.
func each[T any](next func() (T, error), f func(T) error) error {
	for {
		x, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(x)
		}
		if err != nil {
			return err
		}
	}
}

func (d *fromDatabase) countSource(ctx context.Context, to *digest) error {
	for _, edges := range []bool{false, true} {
		kinds, err := d.source.Kinds(ctx, edges)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			kind := labelled(k.Labels)
			if edges {
				kind = between(k.Labels, k.Type, k.Target)
			}
			to.count(kind, k.Count)
		}
	}
	return nil
}

func (d *fromDatabase) countCopy(ctx context.Context, to *digest) error {
	err := d.a.read(ctx, graphdb.CountVertices, func(cells []*pb.Value) error {
		to.count(labelled(names(cells[0])), cells[1].GetInteger())
		return nil
	})
	if err != nil {
		return err
	}
	return d.a.read(ctx, graphdb.CountEdges, func(cells []*pb.Value) error {
		to.count(between(names(cells[0]), cells[2].GetString_(), names(cells[3])), cells[1].GetInteger())
		return nil
	})
}

// names returns the elements of a list of strings.
func names(v *pb.Value) (out []string) {
	for _, e := range v.GetList().GetValues() {
		out = append(out, e.GetString_())
	}
	return out
}

func (d *fromDatabase) digestCopy(ctx context.Context, to *digest) error {
	err := d.a.read(ctx, "MATCH (n) RETURN labels(n), properties(n)", func(cells []*pb.Value) error {
		return to.add(labelled(names(cells[0])), cells[1].GetMap().GetEntries())
	})
	if err != nil {
		return err
	}
	return d.a.read(ctx, "MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b), properties(r)", func(cells []*pb.Value) error {
		return to.add(between(names(cells[0]), cells[1].GetString_(), names(cells[2])), cells[3].GetMap().GetEntries())
	})
}
