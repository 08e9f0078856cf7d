package changelog

import (
	"crypto/sha256"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Names are the names of a graph's catalog, by their numbers from 1 on, and its label sets from graph.NoLabels+1 on. Records of commits refer
// to them.
type Names struct {
	Labels, Types, Props []string
	Sets                 [][]graph.LabelID
}

// NamesOf returns the names of a catalog.
func NamesOf(c graph.Catalog) Names {
	n := Names{Labels: c.AllLabels(), Types: c.AllTypes(), Props: c.AllProps()}
	for set := graph.NoLabels + 1; len(c.Labels(set)) > 0; set++ {
		n.Sets = append(n.Sets, slices.Clone(c.Labels(set)))
	}
	return n
}

// GraphID returns 8 bytes that tell the graph with a secret from others, and tell nothing of the secret.
func GraphID(key [32]byte) []byte {
	sum := sha256.Sum256(append([]byte("graph of a commit log\x00"), key[:]...))
	return sum[:8]
}
