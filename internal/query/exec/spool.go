package exec

// spool holds rows and gives them again in batches.
type spool struct {
	acct account
	all  batch
	at   int
	out  batch
}

// reset forgets the rows; the spool gets n columns.
func (s *spool) reset(n int) {
	s.all.reset(n)
	s.at = 0
	s.acct.release()
}

// add copies the rows of a batch whose columns stand at from.
func (s *spool) add(b *batch, from []int) error {
	return s.addRows(b, from, allRows(b.N))
}

// spoolChunk is how many bytes are held before they are accounted, though the batch is not at its end: a value may be large.
const spoolChunk = 1 << 20

// addRows copies some rows of a batch.
func (s *spool) addRows(b *batch, from []int, rows sel) error {
	s.all.appendRows(b, from, rows)
	s.all.N += len(rows)
	size := 0
	for _, p := range from {
		c := &b.Cols[p]
		if c.IDs != nil {
			size += 8 * len(rows)
			continue
		}
		for _, r := range rows {
			if size += valueSize(c.Vals[r]); size >= spoolChunk {
				if err := s.acct.r.askRun(c.Vals[r]); err != nil {
					return err
				}
				if err := s.acct.grow(size); err != nil {
					return err
				}
				size = 0
			}
		}
	}
	return s.acct.grow(size)
}

// next gives up to n rows, or nil.
func (s *spool) next(n int) *batch {
	if s.at >= s.all.N {
		return nil
	}
	end := min(s.at+n, s.all.N)
	s.out.slice(&s.all, s.at, end)
	s.at = end
	return &s.out
}
