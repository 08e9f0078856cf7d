package expr

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// containsText is x CONTAINS part for a part that is the same in all rows.
type containsText struct {
	r      *runtime.Run
	x      runtime.Evaluator
	part   *Constant
	finder finder
	out    []graph.Value
}

func (o *containsText) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := o.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	o.out = Grown(o.out, b.N)
	if o.part.Value.Kind() != graph.String {
		for _, i := range s {
			o.out[i] = graph.Value{}
		}
		return o.out, nil
	}
	if part := o.part.Value.Str(); part != o.finder.part {
		o.finder = newFinder(part)
	}
	if err := o.r.CheckLarge(ctx, o.part.Value); err != nil {
		return nil, err
	}
	for _, i := range s {
		if o.out[i] = (graph.Value{}); xs[i].Kind() != graph.String {
			continue
		}
		if err := o.r.CheckLarge(ctx, xs[i]); err != nil {
			return nil, err
		}
		o.out[i] = graph.BoolValue(o.finder.in(xs[i].Str()))
	}
	return o.out, nil
}

// finder looks for a part in texts by its rarest byte, for which there are vector instructions. The byte is a guess by the
// usual frequencies in texts, as in Rust's memchr crate.
type finder struct {
	part string
	rare int // the place of the byte
}

func newFinder(part string) finder {
	f := finder{part: part}
	for i := range len(part) {
		if frequency[part[i]] < frequency[part[f.rare]] {
			f.rare = i
		}
	}
	return f
}

// commonBytes are the bytes that are frequent in texts, the most frequent one first.
const commonBytes = " etaoinsrhldcumfpgwyb,.vk0123456789-TASCEIMPRDLxBNFOHGWjqzUVJKYQXZ\n\"'/:;()_="

var frequency = func() (f [256]uint8) {
	for b := range f {
		if b >= 0x80 {
			f[b] = 64 // in texts of other alphabets
		}
	}
	for i := range len(commonBytes) {
		f[commonBytes[i]] = uint8(len(commonBytes) - i + 64)
	}
	return f
}()

// Where the byte comes more often than every rareDistance bytes, from the fewMisses-th time on, a general search is faster.
const fewMisses, rareDistance = 16, 32

// in reports whether a text contains the part.
func (f *finder) in(text string) bool {
	if len(f.part) < 2 || len(text) < len(f.part) {
		return strings.Contains(text, f.part)
	}
	b := f.part[f.rare]
	end := len(text) - len(f.part) + f.rare + 1
	misses := 0
	for at := f.rare; at < end; {
		i := strings.IndexByte(text[at:end], b)
		if i < 0 {
			return false
		}
		from := at + i - f.rare
		if text[from:from+len(f.part)] == f.part {
			return true
		}
		at += i + 1
		if misses++; misses > fewMisses+at/rareDistance {
			return strings.Contains(text[from+1:], f.part)
		}
	}
	return false
}
