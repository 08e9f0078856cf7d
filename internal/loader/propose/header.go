package propose

import (
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// fromHeader derives a proposal from a neo4j-admin import header.
func (p *proposer) fromHeader(x *proposal) {
	from, to := -1, -1
	for i, c := range x.cells {
		switch strings.ToUpper(c.Type) {
		case "ID":
			if x.id >= 0 {
				x.why = "only loads by the header support keys of several columns"
				return
			}
			x.id = i
		case "START_ID":
			from = i
		case "END_ID":
			to = i
		}
		if c.Options["array"] != "" {
			x.why = "only loads by the header support lists as JSON"
			return
		}
	}
	if x.id >= 0 && from < 0 && to < 0 {
		x.label = p.labelOf(x.stem)
		if x.labels, x.why = x.headerLabels(); x.why != "" {
			return
		}
		s := p.space(x.spaceOf(x.id))
		s.vertex = append(s.vertex, x)
		s.integer = s.integer && isIntegerID(x.cells[x.id])
		return
	}
	if from < 0 || to < 0 || x.id >= 0 {
		x.why = "the header has neither an :ID column alone nor :START_ID and :END_ID columns"
		return
	}
	x.edges = true
	_, typ, _, _ := p.split(x.parts())
	if x.typ = typeName(typ); x.typ == "" {
		x.typ = typeName(x.stem)
	}
	x.from, x.to = proposedEnd{from, x.spaceOf(from)}, proposedEnd{to, x.spaceOf(to)}
}

// spaceOf returns the id space of a cell, inventing a name if it has none, because a mapping needs one.
func (x *proposal) spaceOf(i int) string {
	if g := x.cells[i].Group; g != "" {
		return g
	}
	return "ids"
}

// isIntegerID reports whether a header declares integer ids.
func isIntegerID(c mapping.HeaderCell) bool {
	t, ok := mapping.ParseType(c.Options["id-type"])
	return ok && t.Kind == graph.Int
}

// headerLabels returns the labels of vertices with a header: those of its :LABEL columns, or one from the file's name.
func (x *proposal) headerLabels() (labels []string, why string) {
	if l := x.cells[x.id].Options["label"]; l != "" {
		labels = append(labels, quote(l))
	}
	for i, c := range x.cells {
		if !strings.EqualFold(c.Type, "LABEL") {
			continue
		}
		for _, v := range x.columns[i].values {
			if strings.Contains(v, listMark) {
				return nil, "only loads by the header support several labels in a cell"
			}
		}
		labels = append(labels, fmt.Sprintf("{column: %d}", i))
	}
	if len(labels) == 0 {
		labels = []string{quote(x.label)}
	}
	return labels, ""
}
