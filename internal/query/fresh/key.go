package fresh

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

const hashSize = sha256.Size

// Key identifies an answer: requests with the same Key have the same one.
type Key [hashSize]byte

// Request is everything, apart from the graph's data, on which the answer to a read depends.
type Request struct {
	Graph  string
	Text   string // of the statement, or what identifies a typed request
	Params map[string]graph.Value
	// Scope is the same for callers whom access rules restrict in the same way, "" for those whom they do not restrict.
	Scope string
	// Catalog is the version of the graph's schema and definitions.
	Catalog uint64
	// Notices is how many notifications the answer has: they tell of names that the graph does not have yet.
	Notices int
	Limits  [4]int64 // of rows, visits and bytes
}

// Key returns the key of the answer of an optimized plan to a request, as of a version of what it reads. For a Union, there is no plan.
func (r *Reads) Key(q *plan.Query, req *Request, v shard.Version) Key {
	if q != nil {
		r.planned(q)
	}
	buf := make([]byte, 0, 512)
	buf = append(buf, r.form[:]...)
	for _, s := range [...]string{req.Graph, req.Text, req.Scope} {
		buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...)
	}
	for _, n := range [...]uint64{req.Catalog, uint64(req.Notices), v.Opened, v.Commit} {
		buf = binary.BigEndian.AppendUint64(buf, n)
	}
	for _, n := range req.Limits {
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	}
	names := make([]string, 0, len(req.Params))
	for name := range req.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		buf = append(binary.AppendUvarint(buf, uint64(len(name))), name...)
		at := len(buf)
		buf = notation.Append(append(buf, 0, 0, 0, 0, 0, 0, 0, 0), req.Params[name])
		binary.BigEndian.PutUint64(buf[at:], uint64(len(buf)-at))
	}
	return sha256.Sum256(buf)
}

// planned notes the form of the optimized plan.
func (r *Reads) planned(q *plan.Query) {
	r.once.Do(func() { r.form = sha256.Sum256([]byte(plan.Format(q))) })
}

// Union returns what an answer depends on that is made from those of several optimized plans, or some of them; nil if one of all is nil.
func Union(all []*Reads, plans []*plan.Query) *Reads {
	u, h := &Reads{}, sha256.New()
	for i, r := range all {
		if r == nil {
			return nil
		}
		r.planned(plans[i])
		h.Write(r.form[:])
		u.Labels, u.Types, u.Props = append(u.Labels, r.Labels...), append(u.Types, r.Types...), append(u.Props, r.Props...)
		u.Any |= r.Any
	}
	u.Labels, u.Types, u.Props = sorted(u.Labels), sorted(u.Types), sorted(u.Props)
	h.Sum(u.form[:0])
	return u
}

// tagBytes is how much of a hash a tag has.
const tagBytes = 18

// Tag returns the strong entity tag (RFC 9110, section 8.8.3) of the answer in a format, with its quotes.
func (k Key) Tag(format string) string {
	h := sha256.New()
	h.Write(k[:])
	h.Write([]byte(format))
	var sum [hashSize]byte
	return `"` + base64.RawURLEncoding.EncodeToString(h.Sum(sum[:0])[:tagBytes]) + `"`
}

// Matches reports whether a list of entity tags, as in If-None-Match, has a tag. The comparison is the weak one that the header asks for. "*"
// matches nothing: a client that has no answer of its own wants this one.
func Matches(list, tag string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(part), "W/") == tag {
			return true
		}
	}
	return false
}

var seed = maphash.MakeSeed()

// Likeness is a number that is the same for identical requests, and hardly ever for others. It is cheap, and looks at simple parameters only.
func Likeness(graphName, text string, params map[string]graph.Value) uint64 {
	n := maphash.String(seed, text) ^ uint64(len(graphName))
	for name, v := range params {
		h := maphash.String(seed, name)
		switch v.Kind() {
		case graph.Int:
			h = (h ^ uint64(v.Int())) * 0x9e3779b97f4a7c15
		case graph.String:
			h = (h + maphash.String(seed, v.Str())) * 0x9e3779b97f4a7c15
		}
		n += h ^ h>>32 // in whatever order
	}
	return n
}
