package text

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/hopgate/hopgate/internal/loader/record"
)

// Text is an open input.
type Text struct {
	io.Reader
	closers  []func() error
	counters []func() int64
}

// Stored returns how many bytes of the stored files have been read.
func (t *Text) Stored() (n int64) {
	for _, count := range t.counters {
		n += count()
	}
	return n
}

// Close closes the files behind the text.
func (t *Text) Close() error {
	var errs []error
	for _, closeIt := range slices.Backward(t.closers) {
		errs = append(errs, closeIt())
	}
	return errors.Join(errs...)
}

// ReadAhead is about how much of a compressed file is read ahead of its text, in bytes.
const ReadAhead = 1 << 18

// What says that a text is not whole.
var (
	ErrShort  = errors.New("the content ends before its announced length")
	ErrCutOff = errors.New("the compressed data is cut off")
)

// whole replaces io.ErrUnexpectedEOF of a reader by the error that says what is cut off. Decoders on top of the reader, and callers of
// io.ReadFull, may take io.ErrUnexpectedEOF for the end of what they read.
type whole struct {
	io.Reader
	cut error
}

// Read implements io.Reader.
func (w whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = w.cut
	}
	return n, err
}

// counter counts the bytes read from storage.
type counter struct {
	io.Reader
	n atomic.Int64
}

// newCounter counts the bytes of r, which must not end before its announced length.
func newCounter(r io.Reader) *counter { return &counter{Reader: whole{r, ErrShort}} }

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// openFile opens a file at an offset of its uncompressed UTF-8 text.
func (in *Source) openFile(ctx context.Context, path string, offset int64) (_ *Text, err error) {
	if IsURL(path) {
		return in.openRemote(ctx, path, offset)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stored := newCounter(f)
	t := &Text{Reader: stored, closers: []func() error{f.Close}, counters: []func() int64{stored.n.Load}}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if in.Parquet {
		switch columnar, err := isParquet(f); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case columnar:
			return t, in.openParquet(t, f, offset)
		}
	}
	if zipped, err := t.unzip(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	} else if zipped {
		return t, in.decode(t, path, offset, nil)
	}
	return t, in.decode(t, path, offset, func(offset int64) error {
		stored.n.Store(offset)
		_, err := f.Seek(offset, io.SeekStart)
		return err
	})
}

// openParquet reads the rows of a Parquet file as text.
func (in *Source) openParquet(t *Text, f *os.File, offset int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := record.NewParquet(f, info.Size(), in.Columns)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	t.Reader, t.counters = p, []func() int64{p.Stored}
	t.closers = append(t.closers, p.Close)
	if _, err := io.CopyN(io.Discard, p, offset); err != nil {
		return fmt.Errorf("%s: go on at byte %d: %w", f.Name(), offset, err)
	}
	return nil
}

// openRemote is openFile for a URL.
func (in *Source) openRemote(ctx context.Context, name string, offset int64) (_ *Text, err error) {
	if in.Parquet {
		return nil, fmt.Errorf("%s: Parquet is read from files alone; fetch it first", Shown(name))
	}
	body, err := openURL(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	stored := newCounter(body)
	t := &Text{Reader: stored, counters: []func() int64{stored.n.Load}}
	t.closers = append(t.closers, func() error { return body.Close() })
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	return t, in.decode(t, name, offset, func(offset int64) error {
		if err := body.Close(); err != nil {
			return err
		}
		next, err := openURL(ctx, name, offset)
		if err != nil {
			return err // body stays set, because Close closes it again
		}
		body, stored.Reader = next, whole{next, ErrShort}
		stored.n.Store(offset)
		return nil
	})
}

// decode makes UTF-8 of the stored bytes that t reads, and moves to an offset of the text after its byte order mark. seek moves in the stored
// bytes.
func (in *Source) decode(t *Text, name string, offset int64, seek func(offset int64) error) error {
	stored := t.Reader
	buffered := bufio.NewReaderSize(stored, ReadAhead)
	t.Reader = buffered
	compressed, err := t.uncompress(buffered, filepath.Ext(FileName(name)))
	if err != nil {
		return fmt.Errorf("%s: %w", Shown(name), err)
	}
	if in.Encoding != nil {
		t.Reader = in.Encoding.NewDecoder().Reader(t.Reader)
	}
	mark := make([]byte, len(ByteOrderMark))
	n, err := record.Fill(t.Reader, mark)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", Shown(name), err)
	}
	if mark = mark[:n]; string(mark) == ByteOrderMark {
		mark = nil
	}
	switch {
	case in.Convert != nil:
		t.Reader = in.Convert(io.MultiReader(bytes.NewReader(mark), t.Reader))
		_, err = io.CopyN(io.Discard, t.Reader, offset)
	case offset <= int64(len(mark)):
		t.Reader = io.MultiReader(bytes.NewReader(mark[offset:]), t.Reader)
		return nil
	case !compressed && in.Encoding == nil && seek != nil:
		err = seek(offset + int64(n-len(mark)))
		buffered.Reset(stored)
	default:
		_, err = io.CopyN(io.Discard, t.Reader, offset-int64(len(mark)))
	}
	if err != nil {
		return fmt.Errorf("%s: go on at byte %d: %w", Shown(name), offset, err)
	}
	return nil
}

// Decode reads a stored text from its beginning as UTF-8, without a byte order mark: it recognises compression and encoding by the first
// bytes. name is its path or URL. Closing the text closes body, and so does an error.
func Decode(name string, body io.ReadCloser) (_ *Text, err error) {
	stored := newCounter(body)
	t := &Text{Reader: stored, closers: []func() error{body.Close}, counters: []func() int64{stored.n.Load}}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if err := (&Source{}).decode(t, name, 0, nil); err != nil {
		return nil, err
	}
	plain := bufio.NewReaderSize(t.Reader, HeadBytes)
	head, err := plain.Peek(HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", Shown(name), err)
	}
	e, err := EncodingOf(GuessEncoding(head))
	switch t.Reader = plain; {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", Shown(name), err)
	case e != nil:
		decoded := bufio.NewReader(e.NewDecoder().Reader(plain))
		if mark, _ := decoded.Peek(len(ByteOrderMark)); string(mark) == ByteOrderMark {
			_, _ = decoded.Discard(len(mark)) // it has been peeked
		}
		t.Reader = decoded
	}
	return t, nil
}

// compressions are the formats that uncompress reads, by their first bytes.
var compressions = []struct {
	ext, magic string
	open       func(t *Text, r io.Reader) (io.Reader, error)
}{
	{".gz", "\x1f\x8b\x08", func(_ *Text, r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{".bz2", "BZh", func(_ *Text, r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{".xz", "\xfd7zXZ\x00", func(_ *Text, r io.Reader) (io.Reader, error) {
		tail := &tail{Reader: r}
		z, err := xz.NewReader(tail)
		return &xzReader{z, tail}, err
	}},
	{".zst", "\x28\xb5\x2f\xfd", func(t *Text, r io.Reader) (io.Reader, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<31))
		if err == nil {
			t.closers = append(t.closers, func() error { z.Close(); return nil })
		}
		return z, err
	}},
}

// uncompress decompresses the text as it is read if its first bytes say that it is compressed, whatever its name. A file whose name says that it is
// compressed, and which ends within these bytes, is cut off.
func (t *Text) uncompress(r *bufio.Reader, ext string) (bool, error) {
	if start, _ := r.Peek(len(zipMagic)); string(start) == zipMagic {
		return false, errors.New("a zip archive is read from files alone; fetch it first")
	}
	for _, c := range compressions {
		start, err := r.Peek(len(c.magic))
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return false, err
		case string(start) == c.magic || c.ext == ".zst" && isSkippable(start):
			plain, err := c.open(t, r)
			t.Reader = whole{plain, ErrCutOff}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = ErrCutOff
			}
			return true, err
		case ext == c.ext && strings.HasPrefix(c.magic, string(start)):
			return false, ErrCutOff
		}
	}
	return false, nil
}

const zipMagic = "PK\x03\x04"

// unzip has t read the only file in f if f is a zip archive.
func (t *Text) unzip(f *os.File) (bool, error) {
	var magic [len(zipMagic)]byte
	if n, err := f.ReadAt(magic[:], 0); string(magic[:n]) != zipMagic {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	stored := &counterAt{ReaderAt: f}
	z, err := zip.NewReader(stored, info.Size())
	if err != nil {
		return false, fmt.Errorf("the zip archive is damaged: %w", err)
	}
	var found []*zip.File
	for _, e := range z.File {
		switch {
		case e.Name == "[Content_Types].xml" || e.Name == "mimetype":
			return false, errExcel
		case !e.FileInfo().IsDir() && !strings.HasPrefix(e.Name, "__MACOSX/"):
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return false, fmt.Errorf("the zip archive holds %d files, not one: unpack it", len(found))
	}
	r, err := found[0].Open()
	if err != nil {
		return false, fmt.Errorf("the zip archive is damaged: %w", err)
	}
	t.Reader, t.counters = whole{r, ErrCutOff}, []func() int64{stored.n.Load}
	t.closers = append(t.closers, r.Close)
	return true, nil
}

// counterAt counts the bytes read from storage.
type counterAt struct {
	io.ReaderAt
	n atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (c *counterAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

// Use has the text converted from now on.
func (in *Source) Use(convert func(io.Reader) io.Reader) {
	in.Convert = convert
	if in.Pipe != nil {
		in.Pipe.text.Reader = convert(in.Pipe.text.Reader)
	}
}

// UseArrow has the columns of an Arrow IPC file or stream read from now on.
func (in *Source) UseArrow() {
	in.Encoding = nil
	in.Use(func(r io.Reader) io.Reader { return record.NewArrow(r, in.Columns) })
}

// xzReader reads xz. The decoder takes the end of the data for the end of the stream even where the stream's index and footer are missing.
type xzReader struct {
	io.Reader
	tail *tail
}

// Read implements io.Reader.
func (r *xzReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) && string(r.tail.last[:]) != "YZ" {
		err = ErrCutOff
	}
	return n, err
}

// tail remembers the last two bytes read before padding with zeros.
type tail struct {
	io.Reader
	last [2]byte
}

// Read implements io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if read := bytes.TrimRight(p[:n], "\x00"); len(read) > 0 {
		t.last[0], t.last[1] = t.last[1], read[len(read)-1]
		if len(read) > 1 {
			t.last[0] = read[len(read)-2]
		}
	}
	return n, err
}

// isSkippable reports whether the first bytes are those of a skippable frame of zstd, with which some writers begin.
func isSkippable(start []byte) bool {
	return len(start) == 4 && start[0]>>4 == 5 && string(start[1:]) == "\x2a\x4d\x18"
}

// isParquet reports whether f is a Parquet file. If not, it holds refused rows of one, which are JSON lines.
func isParquet(f *os.File) (bool, error) {
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return false, err
	case n == 0 || magic[0] == '{':
		return false, nil
	case string(magic[:n]) == "PARE":
		return false, errors.New("the file is an encrypted Parquet file, which is not supported")
	case string(magic[:n]) != "PAR1":
		return false, errors.New("the file is not a Parquet file")
	}
	return true, nil
}

// ByteOrderMark is the mark with which some UTF-8 texts begin.
const ByteOrderMark = "\ufeff"

// Open opens the text at an offset and reads until ctx ends. Each part begins where the previous one ends.
func (in *Source) Open(ctx context.Context, offset int64) (*Text, error) {
	if in.Pipe != nil {
		return in.Pipe.open(ctx, offset)
	}
	if len(in.Paths) == 1 {
		return in.openFile(ctx, in.Paths[0], offset)
	}
	t := &Text{}
	var rs []io.Reader
	for _, p := range in.Paths {
		part, err := in.openFile(ctx, p, 0)
		if err != nil {
			_ = t.Close()
			return nil, err
		}
		last := &lastByte{Reader: part.Reader}
		rs = append(rs, last, &lineEnd{last: last, end: in.Dialect.End()})
		t.closers = append(t.closers, part.Close)
		t.counters = append(t.counters, part.counters...)
	}
	t.Reader = io.MultiReader(rs...)
	if _, err := io.CopyN(io.Discard, t.Reader, offset); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("%s: go on at byte %d: %w", in.Name, offset, err)
	}
	return t, nil
}

// lastByte remembers the last byte read.
type lastByte struct {
	io.Reader
	last byte
}

func (r *lastByte) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.last = p[n-1]
	}
	return n, err
}

// lineEnd supplies a line end if the part before it does not end with one.
type lineEnd struct {
	last *lastByte
	end  byte
	done bool
}

func (r *lineEnd) Read(p []byte) (int, error) {
	if r.done || len(p) == 0 {
		return 0, io.EOF
	}
	r.done = true
	if r.last.last == r.end || r.last.last == 0 {
		return 0, io.EOF
	}
	p[0] = r.end
	return 1, nil
}
