package diagnose

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
	"time"

	"github.com/google/pprof/profile"

	"github.com/hopgate/hopgate/internal/flame"
)

//go:embed flame.html
var flameHTML string

var flameTemplate = template.Must(template.New("flame").Parse(flameHTML))

// flamePage returns a self-contained page. base, the profile to compare with, may be nil.
func flamePage(p, base *profile.Profile, kind string) ([]byte, error) {
	over, statements := flame.NoLabels, flame.HasStatements(p) || flame.HasStatements(base)
	if statements {
		over = flame.StatementLabels
	}
	tree, err := json.Marshal(flame.Tree(p, base, over))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = flameTemplate.Execute(&b, map[string]any{
		"Kind": kind, "Unit": p.SampleType[flame.SampleIndex(p)].Unit, "Tree": template.JS(tree), //nolint:gosec // json.Marshal has made it, which escapes <, > and &.
		"Diff": base != nil, "Statements": statements, "When": time.Unix(0, p.TimeNanos).UTC().Format(time.RFC3339),
	})
	return b.Bytes(), err
}

// printTop lists the functions with the largest values or, if base is not nil, those whose shares differ most from it.
func printTop(w io.Writer, p, base *profile.Profile, n int) error {
	self, total, before := map[string]int64{}, map[string]int64{}, map[string]int64{}
	var walk func(f *flame.Frame, on map[string]bool)
	walk = func(f *flame.Frame, on map[string]bool) {
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
	root := flame.Tree(p, base, flame.NoLabels)
	sum, baseSum := float64(max(1, root.Value)), float64(max(1, root.Base))
	change := func(name string) float64 { return 100 * (float64(self[name])/sum - float64(before[name])/baseSum) }
	for _, c := range root.Children {
		walk(c, map[string]bool{})
	}
	names := make([]string, 0, len(self))
	for name := range self {
		names = append(names, name)
	}
	unit := p.SampleType[flame.SampleIndex(p)].Unit
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
