package shard

import (
	"bytes"
	"encoding/binary"
)

// LoadCounts count what rows did to vertices and to edges.
type LoadCounts struct {
	Vertices, Edges RowCounts
}

// RowCounts count applied rows by what they did; one that changes or deletes several edges counts for each of them. A dangling edge that
// creates an end counts as a created vertex.
type RowCounts struct {
	Created     int `json:"created"`
	Overwritten int `json:"overwritten"` // existed, and changed
	Unchanged   int `json:"unchanged"`   // existed, and has the same labels and properties as before
	Deleted     int `json:"deleted"`
	// Repeated is how many of these rows have a vertex that an earlier row of the load had written; edges have no keys that repeat.
	Repeated int `json:"repeated,omitempty"`
}

// Applied returns the number of applied rows.
func (c *RowCounts) Applied() int { return c.Created + c.Overwritten + c.Unchanged + c.Deleted }

// Existing counts a row whose vertex or edge existed.
func (c *RowCounts) Existing(changed bool) {
	if changed {
		c.Overwritten++
	} else {
		c.Unchanged++
	}
}

// Add adds other counts.
func (c *RowCounts) Add(o RowCounts) {
	to, from := c.numbers(), o.numbers()
	for i := range to {
		*to[i] += *from[i]
	}
}

// numbers returns the counts in the order in which they are stored.
func (c *RowCounts) numbers() [5]*int {
	return [...]*int{&c.Created, &c.Overwritten, &c.Unchanged, &c.Deleted, &c.Repeated}
}

// Add adds other counts.
func (c *LoadCounts) Add(o LoadCounts) {
	c.Vertices.Add(o.Vertices)
	c.Edges.Add(o.Edges)
}

// Append appends the counts as they are stored.
func (c *LoadCounts) Append(dst []byte) []byte {
	for _, r := range []*RowCounts{&c.Vertices, &c.Edges} {
		for _, n := range r.numbers() {
			dst = binary.AppendUvarint(dst, uint64(*n))
		}
	}
	return dst
}

// Counts reads what LoadCounts.Append has written.
func (f *Fields) Counts() (c LoadCounts) {
	for _, r := range []*RowCounts{&c.Vertices, &c.Edges} {
		for _, n := range r.numbers() {
			*n = int(f.Number())
		}
	}
	return c
}

// AppendOutcome appends what came of the rows, as it is stored behind the mark of a load: the counts, then the refused rows.
func (l *Load) AppendOutcome(dst []byte) []byte {
	return AppendRejected(l.Counts.Append(dst), l.Rejected)
}

// ReadOutcome reads what AppendOutcome has written.
func ReadOutcome(b []byte) (c LoadCounts, rs []Rejected, err error) {
	f := Fields{Rest: b}
	if c = f.Counts(); f.Bad {
		return c, nil, errRejected
	}
	rs, err = ReadRejected(f.Rest)
	return c, rs, err
}

// Again sets the outcome of a skipped batch, given the number of the last applied one and what is stored of it.
func (l *Load) Again(seq uint64, stored []byte) (err error) {
	if outcome, ok := bytes.CutPrefix(stored, l.Mark); ok && l.Seq == seq && seq > 0 {
		l.Counts, l.Rejected, err = ReadOutcome(outcome)
	}
	return err
}
