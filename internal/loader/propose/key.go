package propose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/size"
)

// vertices finds the label and the key of vertices, and records which candidate keys have duplicates.
func (p *proposer) vertices(x *proposal) {
	x.label = p.labelOf(x.stem)
	if x.label == "" {
		x.label = "Thing"
	}
	candidates := x.candidates()
	x.id = x.key(candidates)
	x.repeats = x.repeated(candidates)
	x.ownKey = slices.ContainsFunc(candidates, func(c candidate) bool {
		return c.column == x.id && c.unique() && (c.named || c.suffix || c.other)
	})
	if x.id < 0 {
		x.why = "no column identifies the rows"
		if x.repeats != "" {
			x.why += ": " + x.repeats
		}
	}
}

// candidate is a column that may be the key.
type candidate struct {
	column              int
	duplicates, missing int
	named               bool // the column has exactly the name of a key
	suffix              bool // the last word of the name is id
	other               bool // the name is that of another kind of key
}

func (c *candidate) unique() bool { return c.duplicates+c.missing == 0 }

// mostly reports whether at most one row in n repeats a key or lacks one.
func (c *candidate) mostly(rows, n int) bool { return (c.duplicates+c.missing)*n <= rows }

// candidates returns columns with the name of a key, better names first, and then columns whose values are unique.
func (x *proposal) candidates() []candidate {
	var out []candidate
	add := func(i int, c candidate) {
		if i < 0 || slices.ContainsFunc(out, func(o candidate) bool { return o.column == i }) {
			return
		}
		c.column = i
		c.duplicates, c.missing = x.columns[i].repeats(x.rows)
		out = append(out, c)
	}
	names := []string{"id"}
	for _, one := range append(singulars(normalise(x.stem)), normalise(x.label)) {
		names = append(names, one+"id", one+"key", one+"no", one+"number", one+"code", "id"+one)
	}
	for _, name := range append(names, "uuid", "guid", "uid") {
		add(x.columnOf(name), candidate{named: true})
	}
	for _, name := range []string{"key", "code", x.stem} {
		add(x.columnOf(name), candidate{other: true})
	}
	for i, c := range x.columns {
		if w := words(c.name); len(w) > 0 && (strings.EqualFold(w[len(w)-1], "id") || strings.EqualFold(w[len(w)-1], "uuid")) {
			add(i, candidate{suffix: true})
		}
	}
	for i, c := range x.columns {
		if d, m := c.repeats(x.rows); d+m > 0 {
			continue
		}
		if t, ok := c.typ(); ok && (t == "" || t == "int") || strings.HasSuffix(normalise(c.name), "id") {
			add(i, candidate{})
		}
	}
	return out
}

// key chooses the key column. A good name outweighs a few duplicates, because edges refer to vertices by it: rows with the same key
// describe one vertex. Other columns that end in id usually refer to something else, unless they come first.
func (x *proposal) key(candidates []candidate) int {
	for _, fits := range []func(c *candidate) bool{
		func(c *candidate) bool { return c.named && c.unique() },
		func(c *candidate) bool { return c.named && c.mostly(x.rows, 2) },
		func(c *candidate) bool { return c.suffix && c.column == 0 && c.mostly(x.rows, 2) },
		func(c *candidate) bool { return c.other && c.unique() },
		func(c *candidate) bool { return c.suffix && c.unique() },
		func(c *candidate) bool { return c.suffix && c.mostly(x.rows, 10) },
		func(c *candidate) bool { return c.unique() },
	} {
		if i := slices.IndexFunc(candidates, func(c candidate) bool { return fits(&c) }); i >= 0 {
			return candidates[i].column
		}
	}
	return -1
}

// repeated describes the duplicates of each candidate key, or returns "" if none has any.
func (x *proposal) repeated(candidates []candidate) string {
	var parts []string
	any := false
	for i := range candidates {
		c := &candidates[i]
		any = any || !c.unique()
		text := fmt.Sprintf("%s has %s", oneLine(x.columns[c.column].name), size.Count(c.duplicates, "duplicate"))
		if c.missing > 0 {
			text += " and is missing in " + size.Count(c.missing, "row")
		}
		parts = append(parts, text)
	}
	if !any {
		return ""
	}
	return strings.Join(parts, ", ")
}
