package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/propose"
	"github.com/hopgate/hopgate/internal/loader/social"
)

// propose proposes a mapping for inputs of the world.
func (w *world) propose(paths ...string) (string, error) {
	for i := range paths {
		paths[i] = filepath.Join(w.dir, paths[i])
	}
	out, err := propose.Propose(w.t.Context(), paths, func(name string) string {
		rel, err := filepath.Rel(w.dir, name)
		require.NoError(w.t, err)
		return filepath.ToSlash(rel)
	})
	return string(out), err
}

// TestPropose pins the mappings proposed for small files, and the graphs that they load.
func TestPropose(t *testing.T) {
	datadriven.RunTest(t, "testdata/propose", func(t *testing.T, d *datadriven.TestData) string {
		w := newWorld(t)
		name := ""
		text := map[string]string{}
		for line := range strings.Lines(d.Input + "\n") {
			if n, ok := strings.CutPrefix(line, "=== "); ok {
				name = strings.TrimSpace(n)
				continue
			}
			text[name] += line
		}
		for name, body := range text {
			w.file(name, body)
		}
		m, err := w.propose(".")
		var partial *propose.PartialError
		if err != nil && (m == "" || !errors.As(err, &partial)) {
			return strings.ReplaceAll(err.Error(), w.dir, "DIR") + "\n"
		}
		_, err = w.load(m, Options{MaxRejects: Budget{Rows: 9}})
		require.NoError(t, err, m)
		if partial != nil {
			m += "left out: " + partial.Error() + "\n"
		}
		return m + "\n" + w.state()
	})
}

// The mapping proposed for a generated network loads what its headers load.
func TestProposeSocial(t *testing.T) {
	w := newWorld(t)
	c, err := social.Write(t.Context(), w.dir, social.Options{Persons: 200, Seed: 1, CommentMin: 10, CommentMax: 50})
	require.NoError(t, err)
	m, err := w.propose(".")
	require.NoError(t, err)
	rep, err := w.load(m, Options{})
	require.NoError(t, err, m)
	require.Equal(t, c.Vertices, rep.Vertices)
	require.Equal(t, c.Edges, rep.Edges)
	other := newWorld(t)
	other.dir = w.dir
	_, err = other.load("", Options{})
	require.NoError(t, err)
	require.Equal(t, other.state(), w.state())
}

// The mapping proposed for LDBC's files loads as many vertices and edges as the project's own.
func TestProposeLDBC(t *testing.T) {
	dir := filepath.Join(filepath.Dir(conformance.LDBC.Need(t)), "ldbc-sf0.003")
	w := newWorld(t)
	w.dir = dir
	text, err := w.propose("static", "dynamic")
	require.NoError(t, err)
	own, err := os.ReadFile("../../bench/ldbc/mapping.yaml")
	require.NoError(t, err)
	var counts []Totals
	for _, text := range []string{text, string(own)} {
		m, err := mapping.Parse("m.yaml", []byte(text))
		require.NoError(t, err, text)
		p, err := NewPlan(t.Context(), m, dir, nil)
		require.NoError(t, err)
		rep, err := p.DryRun(t.Context(), Options{}, nil)
		require.NoError(t, err, text)
		counts = append(counts, rep.Totals)
	}
	require.Equal(t, counts[1], counts[0], text)
	conformance.LDBC.Ran(t, "proposed mappings", 1)
}
