package propose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
)

// proposal is the proposed interpretation of an input.
type proposal struct {
	*sampled
	label    string   // of vertices
	labels   []string // as YAML, if the vertices have a neo4j-admin header
	id       int      // the key column
	edges    bool
	typ      string // of edges
	from, to proposedEnd
	why      string // the reason why nothing can be proposed
	repeats  string // which candidate keys have duplicates, or ""
	ownKey   bool   // the name of the key column says that it is one
	refs     []reference
	parallel int // rows of edges whose ends are those of an earlier row
}

// proposedEnd is an end of edges: a column and an id space.
type proposedEnd struct {
	column int
	space  string
}

// proposedSpace is an id space of the mapping.
type proposedSpace struct {
	name    string
	vertex  []*proposal // proposals that define the space
	integer bool
	known   bool // an earlier load has created the vertices
}

// proposer interprets all inputs together.
type proposer struct {
	inputs []*proposal
	names  map[string]string // labels by their normalised names
	spaces []*proposedSpace
	empty  []string // files without records
}

// PartialError names files for which nothing can be proposed.
type PartialError struct{ Files []string } // each with the reason

func (e *PartialError) Error() string { return strings.Join(e.Files, "; ") }

// Propose samples files and returns a mapping for them as commented YAML, ready to load. named returns the path of a file as the mapping
// should show it. Files that cannot be mapped appear in comments and in a *PartialError beside the mapping, which is nil if no file can
// be.
func Propose(ctx context.Context, paths []string, named func(string) string) ([]byte, error) {
	samples, empty, err := sampleFiles(ctx, paths, named)
	if err != nil {
		return nil, err
	}
	p := &proposer{names: map[string]string{}, empty: empty}
	for _, s := range samples {
		p.inputs = append(p.inputs, &proposal{sampled: s, id: -1})
	}
	for _, x := range p.inputs {
		p.nameLabels(x)
	}
	for _, x := range p.inputs {
		if x.cells != nil {
			p.fromHeader(x)
		} else if p.isEdges(x) {
			x.edges = true
		} else {
			p.vertices(x)
		}
	}
	p.refer()
	p.defineSpaces()
	for _, x := range p.inputs {
		if x.edges && x.cells == nil {
			p.joinEnds(x)
		}
	}
	p.knownSpaces()
	var left []string
	for _, x := range p.inputs {
		if x.why != "" {
			left = append(left, strings.Join(x.paths, ", ")+": "+x.why)
		}
	}
	ready := len(left) < len(p.inputs)
	for _, name := range p.empty {
		left = append(left, name+": the file has no records")
	}
	switch {
	case !ready && len(left) == 0:
		return nil, errors.New("the files have no records to propose a mapping from")
	case !ready:
		return nil, &PartialError{left}
	case len(left) > 0:
		return p.yaml(), &PartialError{left}
	}
	return p.yaml(), nil
}

// normalise makes names comparable: person_id, PersonId and Person.id become the same.
func normalise(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// words splits a name at punctuation and changes of case.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out, word = append(out, string(word)), nil
		}
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			lower = false
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		lower = !unicode.IsUpper(r)
		word = append(word, r)
	}
	end()
	return out
}

// labelName converts tag_class to TagClass.
func labelName(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		r := []rune(w)
		b.WriteString(string(unicode.ToUpper(r[0])) + string(r[1:]))
	}
	return b.String()
}

// typeName converts isPartOf to IS_PART_OF.
func typeName(name string) string { return strings.ToUpper(strings.Join(words(name), "_")) }

// dotted returns Person for a column Person.id.
func dotted(column string) string {
	if l, key, ok := strings.Cut(column, "."); ok && strings.EqualFold(key, "id") {
		return l
	}
	return ""
}

// nameLabels learns the spelling of labels. Headers of edges show it better than file names do.
func (p *proposer) nameLabels(x *proposal) {
	for _, c := range x.columns {
		if l := dotted(c.name); l != "" {
			p.names[normalise(l)] = l
		}
	}
	for _, c := range x.cells {
		if c.Group != "" {
			p.names[normalise(c.Group)] = c.Group
		}
	}
	if x.cells == nil && len(x.parts()) < 3 {
		if f := normalise(x.stem); p.names[f] == "" {
			p.names[f] = labelName(x.stem)
		}
	}
}

// labelOf returns the label that a name stands for.
func (p *proposer) labelOf(name string) string {
	if l := p.names[normalise(name)]; l != "" {
		return l
	}
	return labelName(name)
}

// parts splits the name of a file into words.
func (s *sampled) parts() []string {
	return strings.FieldsFunc(s.stem, func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == ' ' })
}

// split finds the labels around the type in a name such as person_knows_person. Known labels may have several words; an unknown label is
// one word.
func (p *proposer) split(parts []string) (from, typ, to string, known bool) {
	if len(parts) < 3 {
		return "", "", "", false
	}
	for i := len(parts) - 2; i >= 1; i-- {
		for j := i + 1; j < len(parts); j++ {
			f, t := strings.Join(parts[:i], "_"), strings.Join(parts[j:], "_")
			if p.names[normalise(f)] != "" && p.names[normalise(t)] != "" {
				return f, strings.Join(parts[i:j], "_"), t, true
			}
		}
	}
	last := len(parts) - 1
	return parts[0], strings.Join(parts[1:last], "_"), parts[last], strings.EqualFold(parts[0], parts[last])
}

// endNames are common names of the columns of edge ends, with or without id.
var endNames = [][2]string{
	{"from", "to"},
	{"source", "target"},
	{"src", "dst"},
	{"src", "dest"},
	{"source", "destination"},
	{"start", "end"},
	{"subject", "object"},
	{"head", "tail"},
	{"id1", "id2"},
}

// ends finds two columns with the names of edge ends.
func (x *proposal) ends() (from, to int, ok bool) {
	for _, names := range endNames {
		from, to = -1, -1
		for i, c := range x.columns {
			name := normalise(c.name)
			if name == "start" || name == "end" {
				continue // these are times
			}
			for _, suffix := range []string{"", "id", "vertex", "vertexid", "node", "nodeid"} {
				if name == names[0]+suffix && from < 0 {
					from = i
				}
				if name == names[1]+suffix && to < 0 {
					to = i
				}
			}
		}
		if from >= 0 && to >= 0 {
			return from, to, true
		}
	}
	return 0, 0, false
}

// isEdges recognises edges by two columns Person.id, by columns named like edge ends, or by a file name such as person_knows_person.
func (p *proposer) isEdges(x *proposal) bool {
	f, typ, t, known := p.split(x.parts())
	if x.typ = typeName(typ); x.typ == "" {
		x.typ = typeName(x.stem)
	}
	var at []int
	for i, c := range x.columns {
		if dotted(c.name) != "" {
			at = append(at, i)
		}
	}
	switch from, to, ok := x.ends(); {
	case len(at) == 2:
		x.from = proposedEnd{at[0], p.labelOf(dotted(x.columns[at[0]].name))}
		x.to = proposedEnd{at[1], p.labelOf(dotted(x.columns[at[1]].name))}
		return true
	case ok:
		x.from.column, x.to.column = from, to
	case known && len(x.columns) >= 2:
		x.from.column, x.to.column = 0, 1
		if i := x.columnOf(f + "id"); i >= 0 {
			x.from.column = i
		}
		for i, c := range x.columns {
			if name := normalise(c.name); i != x.from.column && (name == normalise(t)+"id" || name == normalise(t)) {
				x.to.column = i
				break
			}
		}
		if x.from.column == x.to.column {
			x.from.column, x.to.column = 0, 1
		}
	default:
		return false
	}
	if f != "" {
		x.from.space, x.to.space = p.labelOf(f), p.labelOf(t)
	}
	return true
}

// columnOf finds a column by its normalised name, or returns -1.
func (x *proposal) columnOf(name string) int {
	return slices.IndexFunc(x.columns, func(c *sampleColumn) bool { return normalise(c.name) == normalise(name) })
}

// space returns an id space, creating it if needed.
func (p *proposer) space(name string) *proposedSpace {
	for _, s := range p.spaces {
		if normalise(s.name) == normalise(name) {
			return s
		}
	}
	s := &proposedSpace{name: name, integer: true}
	p.spaces = append(p.spaces, s)
	return s
}

// defineSpaces assigns id spaces to vertices. The keys of a space are integers if all its vertices have integer keys.
func (p *proposer) defineSpaces() {
	for _, x := range p.inputs {
		if x.edges || x.why != "" || x.cells != nil {
			continue
		}
		s := p.space(x.label)
		s.vertex = append(s.vertex, x)
		if t, _ := x.columns[x.id].typ(); t != "int" {
			s.integer = false
		}
	}
}

// joinEnds gives an edge end without a known label the id space that contains most of its keys.
func (p *proposer) joinEnds(x *proposal) {
	for _, end := range []*proposedEnd{&x.from, &x.to} {
		if end.space != "" {
			if i := slices.IndexFunc(p.spaces, func(s *proposedSpace) bool { return normalise(s.name) == normalise(end.space) }); i >= 0 {
				end.space = p.spaces[i].name
				continue
			}
		}
		most := 0
		guessed := ""
		for _, s := range p.spaces {
			keys := map[string]bool{}
			for _, v := range s.vertex {
				if v.cells != nil {
					continue
				}
				for _, k := range v.columns[v.id].values {
					keys[k] = true
				}
			}
			hits := 0
			for _, k := range x.columns[end.column].values {
				if keys[k] {
					hits++
				}
			}
			if hits > most {
				most, guessed = hits, s.name
			}
		}
		switch {
		case end.space != "":
		case guessed != "":
			end.space = guessed
		case len(p.spaces) > 0:
			end.space = p.spaces[0].name
		default:
			end.space = "Vertex"
		}
	}
}

// knownSpaces declares the spaces that no input defines as spaces of vertices loaded earlier.
func (p *proposer) knownSpaces() {
	for _, x := range p.inputs {
		if !x.edges || x.why != "" {
			continue
		}
		for _, end := range []proposedEnd{x.from, x.to} {
			s := p.space(end.space)
			if len(s.vertex) > 0 {
				continue
			}
			s.known = true
			if t := x.columns[end.column]; x.cells != nil {
				s.integer = s.integer && isIntegerID(x.cells[end.column])
			} else if name, _ := t.typ(); name != "int" {
				s.integer = false
			}
		}
	}
}
