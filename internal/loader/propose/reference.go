package propose

import (
	"fmt"
	"slices"
	"strings"
)

// reference is a column with keys of vertices.
type reference struct {
	column int
	to     *proposal // whose keys they are
	typ    string    // of the edges
	// found of values distinct values in the sample are keys in the sample.
	found, values int
	nulls         bool // some rows refer to nothing
	doubt         string
}

// counted says how sure a reference is.
func (r *reference) counted(x *proposal) string {
	return fmt.Sprintf("%s: %d of %d values are keys of %s", oneLine(x.columns[r.column].name), r.found, r.values, r.to.label)
}

// keyWords are words of column names that say that the values are keys.
var keyWords = []string{"id", "fk", "ref", "uuid", "guid", "key", "code", "no", "nr", "num", "number"}

// sureWords is how many of the words say it by themselves.
const sureWords = 5

// subject returns the words of a column's name without those that say that it is a key. marked reports whether one says so for sure.
func subject(column string) (name []string, marked bool) {
	name = lowerWords(column)
	all := len(name)
	for len(name) > 0 && slices.Contains(keyWords[:sureWords], name[0]) {
		name, marked = name[1:], true
	}
	for len(name) > 0 && slices.Contains(keyWords, name[len(name)-1]) {
		marked = marked || slices.Contains(keyWords[:sureWords], name[len(name)-1])
		name = name[:len(name)-1]
	}
	if len(name) < all || len(name) == 0 {
		return name, marked
	}
	if last, ok := strings.CutSuffix(name[all-1], "id"); ok && last != "" {
		name[all-1] = last // customerid
	}
	return name, false
}

func lowerWords(name string) []string { return words(strings.ToLower(strings.Join(words(name), " "))) }

// singulars returns a name, and what it may be the plural of.
func singulars(name string) []string {
	out := []string{name}
	for _, end := range [][2]string{{"ies", "y"}, {"es", ""}, {"s", ""}} {
		if s, ok := strings.CutSuffix(name, end[0]); ok && s != "" {
			out = append(out, s+end[1])
		}
	}
	return out
}

// named says how well a column's name fits the vertices of an input: 3 their name, 2 that of their key, 1 a word or a role before their
// name, or the end of it; 0 not at all.
func (x *proposal) named(column string, base []string) int {
	own := lowerWords(x.stem)
	if len(base) == 0 || len(own) == 0 {
		return 0
	}
	full, last := singulars(strings.Join(own, "")), singulars(own[len(own)-1])
	is := func(name string, among []string) bool {
		return slices.ContainsFunc(singulars(name), func(s string) bool { return slices.Contains(among, s) })
	}
	key, _ := subject(x.columns[x.id].name)
	switch {
	case is(strings.Join(base, ""), full):
		return 3
	case len(key) > 0 && normalise(column) == normalise(x.columns[x.id].name):
		return 2
	case is(strings.Join(base, ""), last):
		return 1
	}
	for i := 1; i < len(base); i++ {
		if is(strings.Join(base[i:], ""), full) {
			return 1
		}
	}
	return 0
}

// refer finds the columns of vertices that refer to others, or to the same vertices, and makes edges of inputs that only relate others.
func (p *proposer) refer() {
	var tables, targets []*proposal
	for _, x := range p.inputs {
		if x.edges || x.cells != nil {
			continue
		}
		tables = append(tables, x)
		if x.id >= 0 {
			targets = append(targets, x)
		}
	}
	for _, x := range tables {
		for i, c := range x.columns {
			if r := x.reference(i, targets); r != nil && c.name != "" {
				x.refs = append(x.refs, *r)
			}
		}
	}
	for _, x := range tables {
		if !x.join() {
			x.dropKey()
		}
	}
	for _, x := range tables {
		for i := range x.refs {
			if r := &x.refs[i]; r.to.id < 0 && r.doubt == "" {
				r.doubt = "which are no vertices with keys"
			}
		}
	}
}

// dropKey takes the key away from rows that repeat it if it is that of other vertices, as in reviews of products.
func (x *proposal) dropKey() {
	if x.id < 0 || !slices.ContainsFunc(x.sure(), func(r *reference) bool { return r.column == x.id }) {
		return
	}
	if d, m := x.columns[x.id].repeats(x.rows); d+m > 0 {
		x.why, x.id, x.refs = "no column identifies the rows: "+x.repeats, -1, nil
	}
}

// reference returns what a column refers to, by its name and its values, or nil.
func (x *proposal) reference(i int, targets []*proposal) *reference {
	c := x.columns[i]
	base, marked := subject(c.name)
	if t, ok := c.typ(); !ok || t != "" && t != "int" {
		return nil
	}
	rank, to := 0, []*proposal(nil)
	for _, y := range targets {
		if y == x && i == x.id {
			if y.named(c.name, base) == 3 || len(base) == 0 {
				return nil // its own key
			}
			continue
		}
		switch n := y.named(c.name, base); {
		case n > rank:
			rank, to = n, []*proposal{y}
		case n == rank && n > 0:
			to = append(to, y)
		}
	}
	if rank == 0 {
		return x.referenceByValues(i, targets, marked)
	}
	best := x.refersTo(i, to[0])
	for _, y := range to[1:] {
		if r := x.refersTo(i, y); r.found > best.found {
			best = r
		}
	}
	switch {
	case best.values == 0 || !marked && best.found == 0:
		return nil
	case best.to.columns[best.to.id].isInt() != c.isInt():
		best.doubt = "but they have other types"
	case best.to.whole && best.found*2 < best.values, !marked && best.found*10 < best.values*9:
		best.doubt = "which are too few for edges"
	}
	return best
}

// sameWords begin the names of columns that refer to other rows of the same file.
var sameWords = []string{"parent", "manager", "supervisor", "superior", "boss", "reports", "mentor", "predecessor", "successor", "previous", "next"}

// referenceByValues returns what a column refers to whose name does not say it: the only vertices whose keys have all its values.
func (x *proposal) referenceByValues(i int, targets []*proposal, marked bool) *reference {
	base, _ := subject(x.columns[i].name)
	if i == x.id || len(base) == 0 {
		return nil
	}
	if x.id >= 0 && slices.Contains(sameWords, base[0]) {
		if r := x.refersTo(i, x); r.values > 0 && r.found == r.values {
			return r
		}
	}
	if !marked {
		return nil
	}
	var all []*reference
	for _, y := range targets {
		if r := x.refersTo(i, y); r.values > 1 && r.found == r.values && y.columns[y.id].isInt() == x.columns[i].isInt() {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 {
		var others []string
		for _, r := range all[1:] {
			others = append(others, r.to.label)
		}
		all[0].doubt = "and of " + strings.Join(others, ", ") + ", so it makes no edges"
	}
	return all[0]
}

// refersTo compares a column with the keys of vertices.
func (x *proposal) refersTo(i int, y *proposal) *reference {
	c := x.columns[i]
	base, _ := subject(c.name)
	r := &reference{column: i, to: y, typ: strings.ToUpper(strings.Join(base, "_"))}
	if r.typ == "" {
		r.typ = typeName(y.label)
	}
	values := c.distinct()
	r.values = len(values)
	keys := y.columns[y.id].distinct()
	for v := range values {
		if keys[v] {
			r.found++
		}
	}
	_, missing := c.repeats(x.rows)
	r.nulls = missing > 0
	return r
}

// distinct returns the values that are not null.
func (c *sampleColumn) distinct() map[string]bool {
	out := make(map[string]bool, len(c.values))
	for i, v := range c.values {
		if !c.null(i) {
			out[v] = true
		}
	}
	return out
}

func (c *sampleColumn) isInt() bool {
	t, _ := c.typ()
	return t == "int"
}

// sure returns the references that make edges.
func (x *proposal) sure() (out []*reference) {
	for i := range x.refs {
		if x.refs[i].doubt == "" {
			out = append(out, &x.refs[i])
		}
	}
	return out
}

// join makes edges of rows that have no key of their own and refer to two other vertices. It reports whether it did.
func (x *proposal) join() bool {
	refs := x.sure()
	own := x.ownKey && !slices.ContainsFunc(refs, func(r *reference) bool { return r.column == x.id })
	if len(refs) < 2 || own {
		return false
	}
	x.edges, x.why, x.repeats, x.id = true, "", "", -1
	from, to := refs[0], refs[1]
	x.typ, x.from.column, x.to.column = typeName(x.stem), from.column, to.column
	x.from.space, x.to.space = from.to.label, to.to.label
	pairs := map[[2]string]bool{}
	for i := range x.rows {
		pairs[[2]string{x.columns[from.column].values[i], x.columns[to.column].values[i]}] = true
	}
	x.parallel = x.rows - len(pairs)
	for _, r := range refs[2:] {
		r.doubt = "but edges have two ends: it stays a property"
	}
	return true
}
