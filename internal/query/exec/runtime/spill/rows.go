package spill

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

// Space is the disk space for the rows of Sort, Aggregate and Distinct that there is no memory for. It is safe for
// concurrent use.
type Space struct {
	dir   string
	Limit int64
	used  atomic.Int64
	// Create gives a new file that is gone once it is closed.
	Create func() (File, error)
}

// File is a file of rows.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Open makes dir a place for at most limit bytes. What a process that has crashed left in dir is removed. If dir is
// empty, the rows lie among the system's temporary files, where none has a name.
func Open(dir string, limit int64) (*Space, error) {
	if dir != "" {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return nil, fmt.Errorf("spill directory: %w", err)
		}
	}
	s := &Space{dir: dir, Limit: limit, Create: func() (File, error) {
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
	f, err := s.Create()
	if err != nil {
		return nil, fmt.Errorf("spill directory: %w", err)
	}
	return s, f.Close()
}

// Close removes the directory.
func (s *Space) Close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Used is the number of bytes that rows take now.
func (s *Space) Used() int64 { return s.used.Load() }

// blockBytes is how many bytes of rows are written and read at a time.
const blockBytes = 32 << 10

// Rows is rows on disk: written one after the other, then read from the first on, any number of times.
//
//	file  = block…
//	block = its length in 4 bytes, row…
//	row   = number of the frame's row, cell…
type Rows struct {
	disk  *Space
	wrote func(n int) // is called with the bytes that go to disk
	f     File
	width int    // cells of a row
	Buf   []byte // a block, after room for its length
	size  int64  // bytes in the file
	Level int    // how often the rows were merged
}

func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return graph.BudgetError("the statement needs more memory than it may use, and the disk is full: %v", err)
	}
	return graph.InternalError("spill", err)
}

// Begin starts a row.
func (s *Rows) Begin(row int32) {
	if len(s.Buf) == 0 {
		s.Buf = append(s.Buf, 0, 0, 0, 0)
	}
	s.Buf = varint.AppendUvarint(s.Buf, uint64(uint32(row)))
}

// End ends a row, whose cells the caller has appended to s.buf.
func (s *Rows) End() error {
	if len(s.Buf) < blockBytes {
		return nil
	}
	return s.Flush()
}

// Flush writes the rows that are still in memory.
func (s *Rows) Flush() error {
	n := len(s.Buf)
	if n == 0 {
		return nil
	}
	sp := s.disk
	s.size += int64(n)
	if used := sp.used.Add(int64(n)); used > sp.Limit {
		return graph.BudgetError("the statements that run need more than %d bytes on disk for what is too much for their memory", sp.Limit)
	}
	s.wrote(n)
	varint.LittleEndian.PutUint32(s.Buf, uint32(n-4))
	_, err := s.f.Write(s.Buf)
	s.Buf = s.Buf[:0]
	if err != nil {
		return diskError(err)
	}
	return nil
}

// Close gives the disk space back.
func (s *Rows) Close() {
	if s.f != nil {
		_ = s.f.Close() // nothing in it is wanted any more
		s.disk.used.Add(-s.size)
		s.f = nil
	}
}

// Reader gives the rows of a spilled.
type Reader struct {
	Rows  *Rows
	at    int64 // in the file
	block []byte
	rest  []byte // of the block
	Row   int32
	Cells []graph.Value // of the row
}

// Reader reads the rows from the first on. No more rows may be written.
func (s *Rows) Reader() *Reader {
	s.Buf = nil
	return &Reader{Rows: s, Cells: make([]graph.Value, s.width)}
}

// Next goes to the next row, if there is one.
func (r *Reader) Next() (bool, error) {
	if len(r.rest) == 0 {
		if r.at == r.Rows.size {
			return false, nil
		}
		var head [4]byte
		if _, err := r.Rows.f.ReadAt(head[:], r.at); err != nil {
			return false, diskError(err)
		}
		n := int(varint.LittleEndian.Uint32(head[:]))
		r.block = slices.Grow(r.block[:0], n)[:n]
		r.rest = r.block
		if _, err := r.Rows.f.ReadAt(r.rest, r.at+4); err != nil {
			return false, diskError(err)
		}
		r.at += int64(4 + len(r.rest))
	}
	d := decoder{b: r.rest}
	r.Row = int32(uint32(d.uvarint()))
	for i := range r.Cells {
		r.Cells[i] = d.value()
	}
	if d.bad {
		return false, graph.InternalError("spill", errors.New("rows on disk are damaged"))
	}
	r.rest = d.b
	return true, nil
}

// New begins rows of a number of cells on disk; wrote is called with the bytes that are written.
func New(disk *Space, width int, wrote func(n int)) (*Rows, error) {
	f, err := disk.Create()
	if err != nil {
		return nil, diskError(err)
	}
	return &Rows{disk: disk, wrote: wrote, f: f, width: width}, nil
}
