package runtime

import "github.com/hopgate/hopgate/internal/memory"

// Buffer collects rows and returns them in batches.
type Buffer struct {
	Acct Account
	All  Batch
	at   int
	out  Batch
}

// Reset removes the rows and sets the number of columns.
func (s *Buffer) Reset(n int) {
	s.All.Reset(n)
	s.at = 0
	s.Acct.Release()
}

// Add copies the rows of a batch from the columns at positions from.
func (s *Buffer) Add(b *Batch, from []int) error {
	return s.AddRows(b, from, AllRows(b.N))
}

// SpoolChunk is how many bytes are copied between two updates of the account within one batch, because values may be large.
const SpoolChunk = 1 << 20

// AddRows copies rows of a batch.
func (s *Buffer) AddRows(b *Batch, from []int, rows Sel) error {
	s.All.AppendRows(b, from, rows)
	s.All.N += len(rows)
	size := 0
	for _, p := range from {
		c := &b.Cols[p]
		if c.IDs != nil {
			size += 8 * len(rows)
			continue
		}
		for _, r := range rows {
			if size += memory.ValueSize(c.Vals[r]); size >= SpoolChunk {
				if err := s.Acct.Run.CheckLargeNoContext(c.Vals[r]); err != nil {
					return err
				}
				if err := s.Acct.Grow(size); err != nil {
					return err
				}
				size = 0
			}
		}
	}
	return s.Acct.Grow(size)
}

// Next returns up to n rows, or nil.
func (s *Buffer) Next(n int) *Batch {
	if s.at >= s.All.N {
		return nil
	}
	end := min(s.at+n, s.All.N)
	s.out.Slice(&s.All, s.at, end)
	s.at = end
	return &s.out
}
