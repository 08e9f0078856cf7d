package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

//go:embed flame.html
var flameHTML string

var flameTemplate = template.Must(template.New("flame").Parse(flameHTML))

// frame is one box of a flame graph: a statement, an operator, or a function by the way it was called.
type frame struct {
	Name     string   `json:"n"`
	Value    int64    `json:"v"` // with all that it calls
	Self     int64    `json:"s"`
	Base     int64    `json:"b,omitempty"` // Value in the profile that is compared with
	BaseSelf int64    `json:"t,omitempty"`
	Children []*frame `json:"c,omitempty"`
	byName   map[string]*frame
}

func (f *frame) child(name string) *frame {
	if c := f.byName[name]; c != nil {
		return c
	}
	c := &frame{Name: name}
	if f.byName == nil {
		f.byName = map[string]*frame{}
	}
	f.byName[name] = c
	f.Children = append(f.Children, c)
	return c
}

func (f *frame) sort() {
	slices.SortFunc(f.Children, func(a, b *frame) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Base, a.Base), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range f.Children {
		c.sort()
	}
}

// sampleIndex is the value of a profile that is drawn: what is in use for a heap, else the last, which is time.
func sampleIndex(p *profile.Profile) int {
	for i, t := range p.SampleType {
		if t.Type == "inuse_space" {
			return i
		}
	}
	return len(p.SampleType) - 1
}

// flameTree folds the stacks of a profile, and of one to compare with, which may be nil, into a tree. over gives the frames
// above the stack of a sample, from the root.
func flameTree(p, base *profile.Profile, over func(*profile.Sample) []string) *frame {
	root := &frame{Name: "all"}
	root.add(p, over, func(f *frame) (value, self *int64) { return &f.Value, &f.Self })
	if base != nil {
		root.add(base, over, func(f *frame) (value, self *int64) { return &f.Base, &f.BaseSelf })
	}
	root.sort()
	return root
}

// noLabels leaves stacks as they are.
func noLabels(*profile.Sample) []string { return nil }

// statementLabels gives the statement and the operator that a sample was taken in. A statement is its text and its fingerprint,
// as top, trace and slowlog show it.
func statementLabels(s *profile.Sample) []string {
	label := func(name string) string { return strings.Join(s.Label[name], " ") }
	statement, text, operator := label("statement"), label("text"), label("operator")
	switch {
	case statement == "":
		return []string{"outside of statements"}
	case text != "": // profiles of older servers have none
		statement = text + "  [" + statement + "]"
	}
	if operator == "" {
		operator = "outside of operators"
	}
	return []string{statement, operator}
}

// hasStatements reports whether samples of a profile, which may be nil, are labelled with statements.
func hasStatements(p *profile.Profile) bool {
	return p != nil && slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return len(s.Label["statement"]) > 0 })
}

// add adds the stacks of a profile to a tree, to the figures that of gives.
func (f *frame) add(p *profile.Profile, over func(*profile.Sample) []string, of func(*frame) (value, self *int64)) {
	at := sampleIndex(p)
	for _, s := range p.Sample {
		v, at := s.Value[at], f
		value, self := of(at)
		*value += v
		for _, name := range over(s) {
			at = at.child(name)
			value, self = of(at)
			*value += v
		}
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				name := "?"
				if fn := line.Function; fn != nil {
					name = fn.Name
				}
				at = at.child(name)
				value, self = of(at)
				*value += v
			}
		}
		*self += v
	}
}

// flamePage writes a page that needs nothing but itself. base, to compare with, may be nil.
func flamePage(p, base *profile.Profile, kind string) ([]byte, error) {
	over, statements := noLabels, hasStatements(p) || hasStatements(base)
	if statements {
		over = statementLabels
	}
	tree, err := json.Marshal(flameTree(p, base, over))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = flameTemplate.Execute(&b, map[string]any{
		"Kind": kind, "Unit": p.SampleType[sampleIndex(p)].Unit, "Tree": template.JS(tree), //nolint:gosec // json.Marshal has made it, which escapes <, > and &.
		"Diff": base != nil, "Statements": statements, "When": time.Unix(0, p.TimeNanos).UTC().Format(time.RFC3339),
	})
	return b.Bytes(), err
}

// printTop lists the functions in which most was found, or whose shares differ most from those in base, if that is not nil.
func printTop(w io.Writer, p, base *profile.Profile, n int) error {
	self, total, before := map[string]int64{}, map[string]int64{}, map[string]int64{}
	var walk func(f *frame, on map[string]bool)
	walk = func(f *frame, on map[string]bool) {
		self[f.Name] += f.Self
		before[f.Name] += f.BaseSelf
		first := !on[f.Name]
		if first {
			total[f.Name] += f.Value
			on[f.Name] = true
		}
		for _, c := range f.Children {
			walk(c, on)
		}
		if first {
			delete(on, f.Name)
		}
	}
	root := flameTree(p, base, noLabels)
	sum, baseSum := float64(max(1, root.Value)), float64(max(1, root.Base))
	change := func(name string) float64 { return 100 * (float64(self[name])/sum - float64(before[name])/baseSum) }
	for _, c := range root.Children {
		walk(c, map[string]bool{})
	}
	names := make([]string, 0, len(self))
	for name := range self {
		names = append(names, name)
	}
	unit := p.SampleType[sampleIndex(p)].Unit
	if base != nil {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(math.Abs(change(b)), math.Abs(change(a))), cmp.Compare(a, b))
		})
		if _, err := fmt.Fprintf(w, "%8s %8s %8s  function (%s)\n", "before", "self", "change", unit); err != nil {
			return err
		}
		for _, name := range names[:min(n, len(names))] {
			fmt.Fprintf(w, "%7.1f%% %7.1f%% %+7.1f%%  %s\n", 100*float64(before[name])/baseSum, 100*float64(self[name])/sum, change(name), name)
		}
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(self[b], self[a]), cmp.Compare(a, b)) })
	if _, err := fmt.Fprintf(w, "%8s %8s  function (%s)\n", "self", "total", unit); err != nil {
		return err
	}
	for _, name := range names[:min(n, len(names))] {
		fmt.Fprintf(w, "%7.1f%% %7.1f%%  %s\n", 100*float64(self[name])/sum, 100*float64(total[name])/sum, name)
	}
	return nil
}
