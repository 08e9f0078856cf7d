package social

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// network holds what all writers of a network share.
type network struct {
	seed                   uint64
	n, cities, tags        int
	commentMin, commentMax int
	degrees                pareto
	spread, offset         uint64 // spread popularity ranks over the persons
}

// fill appends rows [from, to) of a file. A worker uses its own fill, which may keep memory between calls.
type fill func(dst []byte, from, to int) []byte

// file is one file of the network.
type file struct {
	name, header string
	things, step int // how many objects the rows describe, and how many of them a block has
	edges        bool
	worker       func() fill
}

// Write writes a network to a directory, which it creates.
func Write(ctx context.Context, dir string, o Options) (Counts, error) {
	var c Counts
	if err := o.Validate(); err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return c, fmt.Errorf("generate: %w", err)
	}
	g := newNetwork(&o)
	for _, f := range g.files() {
		rows, size, err := f.create(ctx, dir, max(1, o.Workers))
		if err != nil {
			return c, fmt.Errorf("generate %s: %w", f.name, err)
		}
		c.Bytes += size
		if f.edges {
			c.Edges += rows
		} else {
			c.Vertices += rows
		}
	}
	return c, nil
}

// Has reports whether a network without comments has a file of that name.
func Has(name string) bool {
	return find(&Options{Persons: 2}, name) != nil
}

// WriteFile writes one file of a network.
func WriteFile(ctx context.Context, w io.Writer, name string, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	f := find(&o, name)
	if f == nil {
		return fmt.Errorf("generate: file %s does not exist", name)
	}
	_, _, err := f.write(ctx, w, max(1, o.Workers))
	return err
}

// find returns the file of that name, or nil.
func find(o *Options, name string) *file {
	for _, f := range newNetwork(o).files() {
		if f.name == name {
			return &f
		}
	}
	return nil
}

func newNetwork(o *Options) *network {
	g := &network{
		seed: o.Seed, n: o.Persons, cities: max(2, min(1500, o.Persons/60)), tags: max(4, min(8000, o.Persons/12)),
		commentMin: o.CommentMin, commentMax: o.CommentMax, degrees: degrees(o.Persons),
	}
	r := stream(o.Seed, 0, 0)
	g.spread, g.offset = 1, r.next()%uint64(g.n)
	for s := uint64(float64(g.n)*0.618) | 1; s < uint64(g.n); s += 2 {
		if gcd(s, uint64(g.n)) == 1 {
			g.spread = s
			break
		}
	}
	return g
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (g *network) files() []file {
	same := func(f fill) func() fill { return func() fill { return f } }
	fs := []file{
		{"person.csv", "id:ID(Person){id-type:long},firstName,lastName,gender,birthday:long,creationDate:long,locationIP,browserUsed,:LABEL", g.n, 8192, false, same(g.persons)},
		{"city.csv", "id:ID(City){id-type:long},name,:LABEL", g.cities, 8192, false, same(g.cityRows)},
		{"tag.csv", "id:ID(Tag){id-type:long},name,:LABEL", g.tags, 8192, false, same(g.tagRows)},
		{"person_knows_person.csv", ":START_ID(Person),:END_ID(Person),creationDate:long,:TYPE", g.n, 512, true, func() fill { return g.newAcquaintances().knowsRows }},
		{"person_livesIn_city.csv", ":START_ID(Person),:END_ID(City),:TYPE", g.n, 16384, true, same(g.livesIn)},
		{"person_hasInterest_tag.csv", ":START_ID(Person),:END_ID(Tag),:TYPE", g.n, 8192, true, same(g.interests)},
	}
	if g.commentMax > 0 {
		step := max(1, min(8192, 1<<20/g.commentMax))
		fs = append(fs,
			file{"comment.csv", "id:ID(Comment){id-type:long},creationDate:long,content,:LABEL", g.n * commentsEach, step, false, same(g.comments)},
			file{"comment_hasCreator_person.csv", ":START_ID(Comment),:END_ID(Person),:TYPE", g.n * commentsEach, 16384, true, same(g.creators)},
			file{"person_likes_comment.csv", ":START_ID(Person),:END_ID(Comment),creationDate:long,:TYPE", g.n, 2048, true, func() fill { return g.newAcquaintances().likesRows }},
		)
	}
	return fs
}

// create writes the file to a directory.
func (f *file) create(ctx context.Context, dir string, workers int) (rows, size int64, err error) {
	out, err := os.Create(filepath.Join(dir, f.name))
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	return f.write(ctx, out, workers)
}

// write writes the file: workers fill blocks of rows, which write emits in order.
func (f *file) write(ctx context.Context, out io.Writer, workers int) (rows, size int64, err error) {
	if _, err := io.WriteString(out, f.header+"\n"); err != nil {
		return 0, 0, err
	}
	size = int64(len(f.header)) + 1
	blocks := (f.things + f.step - 1) / f.step
	workers = min(workers, blocks)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type block struct {
		data []byte
		rows int64
	}
	full, empty := make([]chan block, workers), make([]chan []byte, workers)
	for w := range workers {
		full[w], empty[w] = make(chan block, 2), make(chan []byte, 4)
		for range 3 {
			empty[w] <- nil
		}
		go func() {
			fill := f.worker()
			for b := w; b < blocks; b += workers {
				select {
				case <-ctx.Done():
					return
				case dst := <-empty[w]:
					dst = fill(dst[:0], b*f.step, min(f.things, (b+1)*f.step))
					full[w] <- block{dst, int64(bytes.Count(dst, []byte{'\n'}))}
				}
			}
		}()
	}
	for b := range blocks {
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case x := <-full[b%workers]:
			if _, err := out.Write(x.data); err != nil {
				return 0, 0, err
			}
			rows, size = rows+x.rows, size+int64(len(x.data))
			empty[b%workers] <- x.data
		}
	}
	return rows, size, nil
}
