package graph

import "strconv"

// Similarity is a measure of how alike two vectors are. The numbers are part of the protocol between processes.
type Similarity uint8

// The similarities. Both give scores from 0 to 1.
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
