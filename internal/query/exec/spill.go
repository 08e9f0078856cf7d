package exec

import (
	varint "encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/hopgate/hopgate/internal/graph"
)

// Spill is the disk space for the rows of Sort, Aggregate and Distinct that there is no memory for. It is safe for
// concurrent use.
type Spill struct {
	dir   string
	limit int64
	used  atomic.Int64
	// create gives a new file that is gone once it is closed.
	create func() (spillFile, error)
}

type spillFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// NewSpill makes dir a place for at most limit bytes. What a process that has crashed left in dir is removed. If dir is
// empty, the rows lie among the system's temporary files, where none has a name.
func NewSpill(dir string, limit int64) (*Spill, error) {
	if dir != "" {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return nil, fmt.Errorf("spill directory: %w", err)
		}
	}
	s := &Spill{dir: dir, limit: limit, create: func() (spillFile, error) {
		f, err := os.CreateTemp(dir, "rows-")
		if err != nil {
			return nil, err
		}
		// Without a name it takes space for as long as it is open, however the process ends.
		if err := os.Remove(f.Name()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}}
	f, err := s.create()
	if err != nil {
		return nil, fmt.Errorf("spill directory: %w", err)
	}
	return s, f.Close()
}

// Close removes the directory.
func (s *Spill) Close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Used is the number of bytes that rows take now.
func (s *Spill) Used() int64 { return s.used.Load() }

// spilled is rows on disk: written one after the other, then read from the first on, any number of times.
//
//	file  = block…
//	block = its length in 4 bytes, row…
//	row   = number of the frame's row, cell…
type spilled struct {
	disk  *Spill
	wrote func(n int) // is called with the bytes that go to disk
	f     spillFile
	width int    // cells of a row
	buf   []byte // a block, after room for its length
	size  int64  // bytes in the file
	level int    // how often the rows were merged
}

func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return graph.BudgetError("the statement needs more memory than it may use, and the disk is full: %v", err)
	}
	return graph.InternalError("spill", err)
}

// begin starts a row.
func (s *spilled) begin(row int32) {
	if len(s.buf) == 0 {
		s.buf = append(s.buf, 0, 0, 0, 0)
	}
	s.buf = varint.AppendUvarint(s.buf, uint64(uint32(row)))
}

// end ends a row, whose cells the caller has appended to s.buf.
func (s *spilled) end() error {
	if len(s.buf) < spillBlock {
		return nil
	}
	return s.flush()
}

// flush writes the rows that are still in memory.
func (s *spilled) flush() error {
	n := len(s.buf)
	if n == 0 {
		return nil
	}
	sp := s.disk
	s.size += int64(n)
	if used := sp.used.Add(int64(n)); used > sp.limit {
		return graph.BudgetError("the statements that run need more than %d bytes on disk for what is too much for their memory", sp.limit)
	}
	s.wrote(n)
	varint.LittleEndian.PutUint32(s.buf, uint32(n-4))
	_, err := s.f.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return diskError(err)
	}
	return nil
}

// close gives the disk space back.
func (s *spilled) close() {
	if s.f != nil {
		_ = s.f.Close() // nothing in it is wanted any more
		s.disk.used.Add(-s.size)
		s.f = nil
	}
}

// spillReader gives the rows of a spilled.
type spillReader struct {
	s     *spilled
	at    int64 // in the file
	block []byte
	rest  []byte // of the block
	row   int32
	vals  []graph.Value // of the row
}

func (s *spilled) reader() *spillReader {
	s.buf = nil
	return &spillReader{s: s, vals: make([]graph.Value, s.width)}
}

// next goes to the next row, if there is one.
func (r *spillReader) next() (bool, error) {
	if len(r.rest) == 0 {
		if r.at == r.s.size {
			return false, nil
		}
		var head [4]byte
		if _, err := r.s.f.ReadAt(head[:], r.at); err != nil {
			return false, diskError(err)
		}
		n := int(varint.LittleEndian.Uint32(head[:]))
		r.block = slices.Grow(r.block[:0], n)[:n]
		r.rest = r.block
		if _, err := r.s.f.ReadAt(r.rest, r.at+4); err != nil {
			return false, diskError(err)
		}
		r.at += int64(4 + len(r.rest))
	}
	d := spillDecoder{b: r.rest}
	r.row = int32(uint32(d.uvarint()))
	for i := range r.vals {
		r.vals[i] = d.value()
	}
	if d.bad {
		return false, graph.InternalError("spill", errors.New("rows on disk are damaged"))
	}
	r.rest = d.b
	return true, nil
}

// newSpilled begins rows of a number of cells on disk; wrote is called with the bytes that are written.
func newSpilled(disk *Spill, width int, wrote func(n int)) (*spilled, error) {
	f, err := disk.create()
	if err != nil {
		return nil, diskError(err)
	}
	return &spilled{disk: disk, wrote: wrote, f: f, width: width}, nil
}
