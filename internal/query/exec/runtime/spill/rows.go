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

// Space is the disk space for rows of Sort, Aggregate and Distinct that do not fit into memory. It is safe for concurrent use.
type Space struct {
	dir   string
	Limit int64
	used  atomic.Int64
	// Create creates a file that disappears when it is closed.
	Create func() (File, error)
}

// File is a file of rows.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Open uses dir for at most limit bytes. It removes the files of a crashed process. If dir is empty, rows go to unlinked files in
// the system's temporary directory.
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
		// An unlinked file takes space only while it is open, however the process ends.
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

// Used is the number of bytes that rows take on disk.
func (s *Space) Used() int64 { return s.used.Load() }

// blockBytes is the size of a block, the unit of reads and writes.
const blockBytes = 32 << 10

// Rows is a file of rows: written one after another, then read from the first, any number of times.
//
//	file  = block…
//	block = its length in 4 bytes, row…
//	row   = number of the frame's row, cell…
type Rows struct {
	disk  *Space
	wrote func(n int) // called with the number of bytes written
	f     File
	width int    // cells in a row
	Buf   []byte // a block, after four bytes for its length
	size  int64  // bytes in the file
	Level int    // number of merges
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

// End ends a row whose cells the caller has appended to s.Buf.
func (s *Rows) End() error {
	if len(s.Buf) < blockBytes {
		return nil
	}
	return s.Flush()
}

// Flush writes the rows in the buffer.
func (s *Rows) Flush() error {
	n := len(s.Buf)
	if n == 0 {
		return nil
	}
	sp := s.disk
	s.size += int64(n)
	if used := sp.used.Add(int64(n)); used > sp.Limit {
		return graph.BudgetError("the rows that running statements spill exceed %d bytes on disk", sp.Limit)
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

// Close releases the disk space.
func (s *Rows) Close() {
	if s.f != nil {
		_ = s.f.Close() // its contents are discarded
		s.disk.used.Add(-s.size)
		s.f = nil
	}
}

// Reader reads the rows of a Rows.
type Reader struct {
	Rows  *Rows
	at    int64 // offset in the file
	block []byte
	rest  []byte // rest of the block
	Row   int32
	Cells []graph.Value // of the row
}

// Reader reads the rows from the first. No more rows may be written.
func (s *Rows) Reader() *Reader {
	s.Buf = nil
	return &Reader{Rows: s, Cells: make([]graph.Value, s.width)}
}

// Next advances to the next row, if there is one.
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

// New creates rows with that many cells on disk; wrote is called with the number of bytes written.
func New(disk *Space, width int, wrote func(n int)) (*Rows, error) {
	f, err := disk.Create()
	if err != nil {
		return nil, diskError(err)
	}
	return &Rows{disk: disk, wrote: wrote, f: f, width: width}, nil
}
