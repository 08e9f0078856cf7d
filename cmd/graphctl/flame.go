package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

//go:embed flame.html
var flameHTML string

var flameTemplate = template.Must(template.New("flame").Parse(flameHTML))

// frame is one box of a flame graph: a function, by the way it was called.
type frame struct {
	Name     string   `json:"n"`
	Value    int64    `json:"v"` // with all that it calls
	Self     int64    `json:"s"`
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
	slices.SortFunc(f.Children, func(a, b *frame) int { return cmp.Compare(b.Value, a.Value) })
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

// flameTree folds the stacks of a profile into a tree.
func flameTree(p *profile.Profile) *frame {
	root := &frame{Name: "all"}
	at := sampleIndex(p)
	for _, s := range p.Sample {
		v := s.Value[at]
		f := root
		f.Value += v
		for i := len(s.Location) - 1; i >= 0; i-- {
			for j := len(s.Location[i].Line) - 1; j >= 0; j-- {
				name := "?"
				if fn := s.Location[i].Line[j].Function; fn != nil {
					name = fn.Name
				}
				f = f.child(name)
				f.Value += v
			}
		}
		f.Self += v
	}
	root.sort()
	return root
}

// flamePage writes a page that needs nothing but itself.
func flamePage(p *profile.Profile, kind string) ([]byte, error) {
	tree, err := json.Marshal(flameTree(p))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = flameTemplate.Execute(&b, map[string]any{
		"Kind": kind, "Unit": p.SampleType[sampleIndex(p)].Unit, "Tree": template.JS(tree),
		"When": time.Unix(0, p.TimeNanos).UTC().Format(time.RFC3339),
	})
	return b.Bytes(), err
}

// printTop lists the functions in which most was found.
func printTop(w io.Writer, p *profile.Profile, n int) error {
	self, total, sum := map[string]int64{}, map[string]int64{}, int64(0)
	var walk func(f *frame, on map[string]bool)
	walk = func(f *frame, on map[string]bool) {
		self[f.Name] += f.Self
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
	root := flameTree(p)
	sum = max(1, root.Value)
	for _, c := range root.Children {
		walk(c, map[string]bool{})
	}
	names := make([]string, 0, len(self))
	for name := range self {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(self[b], self[a]), cmp.Compare(a, b)) })
	if _, err := fmt.Fprintf(w, "%8s %8s  function (%s)\n", "self", "total", p.SampleType[sampleIndex(p)].Unit); err != nil {
		return err
	}
	for _, name := range names[:min(n, len(names))] {
		fmt.Fprintf(w, "%7.1f%% %7.1f%%  %s\n", 100*float64(self[name])/float64(sum), 100*float64(total[name])/float64(sum), name)
	}
	return nil
}
