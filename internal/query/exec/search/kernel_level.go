package search

import "github.com/hopgate/hopgate/internal/graph"

// level holds walks of one length for a depth-first search: the last vertex of each in ids, and parallel to it in parent the
// entry of the level above that it continues. Its own reader expands it part by part, so the memory grows only with the length
// of the walks.
type level struct {
	kernel
	given int // entries that the search has processed

	// Entries lo … hi-1 are the current part, whose vertices are the frontier. The sources before base are done. The current
	// answer still has positions k … end of the part; off edges of position k are done.
	lo, hi      int
	base        int
	k, end, off int
}

// reset empties the level.
func (l *level) reset() {
	l.begin()
	l.given, l.lo, l.hi = 0, 0, 0
	l.part(0)
}

// part starts the next part of at most most entries and returns their vertices, which the caller makes the frontier.
func (l *level) part(most int) []graph.VertexID {
	l.lo, l.hi = l.hi, min(l.hi+most, len(l.ids))
	l.base, l.k, l.end, l.off = 0, 0, 0, 0
	l.frontier.IDs = l.frontier.IDs[:0]
	if l.reader != nil {
		l.reader.Answer.Done = 0
	}
	return l.ids[l.lo:l.hi]
}

// unread returns the sources of the frontier beyond the current answer.
func (l *level) unread() []graph.VertexID { return l.frontier.IDs[l.base+l.reader.Answer.Done:] }

// answered starts a new answer, which begins with source base, the current one.
func (l *level) answered() {
	l.k, l.end, l.off = int(l.frontier.First[l.base]), int(l.frontier.First[l.base+l.reader.Answer.Done]), 0
}

// take returns the next position of the part and its next edges lo … hi-1 of the answer, at most most of them.
func (l *level) take(most int) (place int32, lo, hi int) {
	place = l.frontier.Order[l.k]
	u := int(l.frontier.Pos[place]) - l.base
	lo, hi = l.reader.Answer.Offsets[u]+l.off, l.reader.Answer.Offsets[u+1]
	if hi-lo > most {
		hi = lo + most
		l.off += most
	} else {
		l.k++
		l.off = 0
	}
	return place, lo, hi
}
