package graph

import (
	"slices"
	"strconv"
	"strings"
)

// Similarity is a measure of how alike two vectors are. The numbers are part of the protocol between processes.
type Similarity uint8

// The similarities. Scores are between 0 and 1.
const (
	// Cosine is (1 + cos α) / 2 of the angle between the vectors.
	Cosine Similarity = iota
	// Euclidean is 1 / (1 + d²) of their distance.
	Euclidean
)

var similarities = [...]string{Cosine: "cosine", Euclidean: "euclidean"}

// String returns the name in Cypher's functions and index options.
func (s Similarity) String() string {
	if int(s) < len(similarities) {
		return similarities[s]
	}
	return "similarity " + strconv.Itoa(int(s))
}

// ParseSimilarity finds a similarity by its name in any case.
func ParseSimilarity(name string) (Similarity, bool) {
	s := slices.IndexFunc(similarities[:], func(known string) bool { return strings.EqualFold(known, name) })
	return Similarity(max(s, 0)), s >= 0
}

// VectorOptions are the settings of a vector index.
type VectorOptions struct {
	Dimensions int // of the vectors in the index, or 0 for vectors of any dimension
	Similarity Similarity
	// Quantized, M and EfConstruction are vector.quantization.enabled, vector.hnsw.m and vector.hnsw.ef_construction; they matter to HNSW alone.
	Quantized         bool
	M, EfConstruction int
	// HNSW means that M or EfConstruction was asked for: searches may use a graph, and miss some vectors.
	HNSW bool
}

// DefaultVectorOptions are those of Neo4j.
var DefaultVectorOptions = VectorOptions{Quantized: true, M: 16, EfConstruction: 100}

// MaxDimensions is the most that a vector in an index has.
const MaxDimensions = 4096
