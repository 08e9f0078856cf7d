package record

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Parquet reads a Parquet file as JSON lines: an object per row with a key per column. The key of a nested column joins the names of its
// groups with dots. Lists, also nested ones, become arrays; dates, times, NaN and infinities become strings. The text of a file is
// deterministic for the same columns, so offsets in it stay valid.
//
// It reads a file by arrow-go and checks what arrow-go leaves to its callers: that each row group has the rows that the footer says,
// and that pages match their checksums.
type Parquet struct {
	rows
	file    *file.Reader
	source  io.ReaderAt
	size    int64
	columns []parquetColumn
	group   int   // of the next rows
	row     int64 // within it
	done    int64 // rows read
	stored  atomic.Int64
	text    []byte
}

// parquetColumn converts the values of a leaf column to text.
type parquetColumn struct {
	index   int
	path    string
	key     []byte  // the key as JSON, with its colon
	lists   []int16 // the definition levels of the enclosing lists, outermost first
	defined int16   // the definition level of a value that is not null

	whole *parquetStruct // of which it is a field, or nil

	chunk      file.ColumnChunkReader // of the current row group
	defs, reps []int16
	levels, at int // read, and taken
	value      int // the next one
	read       func(file.ColumnChunkReader) (levels int64, values int, err error)
	append     func(dst []byte, i int) []byte
}

// parquetStruct is a struct that is read as one value.
type parquetStruct struct {
	typ    *structType
	key    []byte
	fields [][]byte // of the row
	n      int      // fields that the row has so far
}

const (
	// parquetLevels is the number of values of a column read at once.
	parquetLevels = 1024
	// parquetBuffer is the buffer of a column.
	parquetBuffer = 1 << 16
)

// NewParquet opens a Parquet file of size bytes. use says whether a column is used, and whether as bytes, which become base64; nil uses all columns.
func NewParquet(r io.ReaderAt, size int64, use func(name string) (used, binary bool)) (p *Parquet, err error) {
	defer caught("Parquet", &err)
	props := parquet.NewReaderProperties(nil)
	props.BufferedStreamEnabled, props.BufferSize = true, parquetBuffer
	f, err := file.NewParquetReader(io.NewSectionReader(r, 0, size), file.WithReadProps(props))
	if err != nil {
		return nil, fmt.Errorf("the Parquet file is damaged or not supported: %w", err)
	}
	p = &Parquet{file: f, source: r, size: size}
	p.rows.fill = p.fill
	var walk func(n schema.Node, path []string, lists []int16, defined int16, inList bool, whole *parquetStruct) error
	index := 0
	walk = func(n schema.Node, path []string, lists []int16, defined int16, inList bool, whole *parquetStruct) error {
		if n.RepetitionType() == parquet.Repetitions.Optional {
			defined++
		}
		repeated := n.RepetitionType() == parquet.Repetitions.Repeated
		if repeated {
			defined++
			lists = append(slices.Clone(lists), defined)
		}
		if g, ok := n.(*schema.GroupNode); ok {
			if s := wholeStruct(g, strings.Join(path, "."), use); s != nil {
				whole = s
			}
			for i := range g.NumFields() {
				name := append(slices.Clone(path), g.Field(i).Name())
				if isList(g) || repeated && inList && g.NumFields() == 1 {
					name = path // the inner groups of a list have no name of their own
				}
				if err := walk(g.Field(i), name, lists, defined, isList(g), whole); err != nil {
					return err
				}
			}
			return nil
		}
		key := strings.Join(path, ".")
		used, binary := true, false
		if use != nil && whole == nil {
			used, binary = use(key)
		}
		if used {
			c := parquetColumn{
				index: index, path: key, key: append(appendJSONText(nil, []byte(key)), ':'), lists: lists, defined: defined, whole: whole,
				defs: make([]int16, parquetLevels), reps: make([]int16, parquetLevels),
			}
			if err := c.form(n.(*schema.PrimitiveNode), binary); err != nil {
				return err
			}
			p.columns = append(p.columns, c)
		}
		index++
		return nil
	}
	root := f.MetaData().Schema.Root()
	for i := range root.NumFields() {
		if err := walk(root.Field(i), []string{root.Field(i).Name()}, nil, 0, false, nil); err != nil {
			return nil, err
		}
	}
	if len(p.columns) == 0 {
		return nil, errors.New("the Parquet file has none of the columns that the rules use")
	}
	return p, nil
}

// wholeStruct returns the struct of Hopgate's that a group is, if the rules use it as a whole.
func wholeStruct(g *schema.GroupNode, key string, use func(name string) (used, binary bool)) *parquetStruct {
	names := make([]string, g.NumFields())
	for i := range names {
		names[i] = g.Field(i).Name()
		if _, ok := g.Field(i).(*schema.PrimitiveNode); !ok {
			return nil
		}
	}
	s := structOf(names)
	if s == nil {
		return nil
	}
	if use != nil {
		if used, _ := use(key); !used {
			return nil
		}
	}
	return &parquetStruct{typ: s, key: append(appendJSONText(nil, []byte(key)), ':'), fields: make([][]byte, len(names))}
}

// isList reports whether a group has the list annotation.
func isList(g *schema.GroupNode) bool {
	_, ok := g.LogicalType().(schema.ListLogicalType)
	return ok
}

// Stored returns the share of the file's bytes that belongs to the rows read.
func (p *Parquet) Stored() int64 { return p.stored.Load() }

// Close stops reading; it does not close the file.
func (p *Parquet) Close() error { return p.endGroup() }

// fill produces the text of the next rows. Rows before an error are whole.
func (p *Parquet) fill() (text []byte, err error) {
	p.text = p.text[:0]
	whole := 0
	defer func() { text = p.text[:whole] }()
	defer caught("Parquet", &err)
	for len(p.text) < rowsText {
		if p.group == p.file.NumRowGroups() {
			return nil, io.EOF
		}
		rows := p.file.MetaData().RowGroup(p.group).NumRows()
		if p.row == rows {
			if err := p.checkEnd(); err != nil {
				return nil, err
			}
			if err := p.endGroup(); err != nil {
				return nil, err
			}
			p.group, p.row = p.group+1, 0
			continue
		}
		if p.row == 0 {
			if err := p.beginGroup(); err != nil {
				return nil, err
			}
		}
		if err := p.appendRow(); err != nil {
			return nil, err
		}
		p.row++
		p.done++
		whole = len(p.text)
	}
	p.stored.Store(int64(float64(p.size) * float64(p.done) / float64(max(1, p.file.NumRows()))))
	return nil, nil
}

// beginGroup opens the columns of the current row group.
func (p *Parquet) beginGroup() error {
	g := p.file.RowGroup(p.group)
	for i := range p.columns {
		c := &p.columns[i]
		chunk, err := g.MetaData().ColumnChunk(c.index)
		if err == nil {
			err = p.checkChunk(chunk)
		}
		if err == nil {
			c.chunk, err = g.Column(c.index)
		}
		if err != nil {
			return p.fault(c, err)
		}
		c.levels, c.at, c.value = 0, 0, 0
	}
	return nil
}

// checkChunk refuses chunks that arrow-go does not read, and pages that differ from their checksums.
func (p *Parquet) checkChunk(c *metadata.ColumnChunkMetaData) error {
	if c.CryptoMetadata() != nil {
		return errors.New("it is encrypted, which is not supported")
	}
	switch codec := c.Compression(); codec {
	case compress.Codecs.Lz4:
		return errors.New("it is compressed with LZ4 in Hadoop's format, which is not supported; write LZ4_RAW, ZSTD or SNAPPY")
	case compress.Codecs.Lzo:
		return errors.New("it is compressed with LZO, which is not supported; write LZ4_RAW, ZSTD or SNAPPY")
	}
	from := c.DataPageOffset()
	if d := c.DictionaryPageOffset(); c.HasDictionaryPage() && d > 0 {
		from = min(from, d)
	}
	if from < 0 || c.TotalCompressedSize() < 0 || from > p.size-c.TotalCompressedSize() {
		return errors.New("its pages lie outside the file")
	}
	return checkPages(p.source, from, from+c.TotalCompressedSize(), p.size)
}

// endGroup closes the columns of the current row group.
func (p *Parquet) endGroup() error {
	var errs []error
	for i := range p.columns {
		c := &p.columns[i]
		if c.chunk != nil {
			errs = append(errs, c.chunk.Close())
		}
		c.chunk = nil
	}
	return errors.Join(errs...)
}

// checkEnd checks that no column of a row group has more rows than the footer says.
func (p *Parquet) checkEnd() error {
	for i := range p.columns {
		c := &p.columns[i]
		if c.chunk == nil {
			continue // the group has no rows
		}
		more, err := c.more()
		if err == nil && more {
			err = fmt.Errorf("it has more rows than the %d that the footer says", p.row)
		}
		if err != nil {
			return p.fault(c, err)
		}
	}
	return nil
}

// fault names the column and the row group of an error.
func (p *Parquet) fault(c *parquetColumn, err error) error {
	return fmt.Errorf("column %q of row group %d: %w", c.path, p.group, err)
}

// more reports whether the column has another value or null, and reads if necessary.
func (c *parquetColumn) more() (bool, error) {
	if c.at < c.levels {
		return true, nil
	}
	n, _, err := c.read(c.chunk)
	if err == nil && n == 0 {
		err = c.chunk.Err()
	}
	c.levels, c.at, c.value = int(n), 0, 0
	return n > 0, err
}

// appendRow appends a row.
func (p *Parquet) appendRow() error {
	p.text = append(p.text, '{')
	for i := range p.columns {
		c := &p.columns[i]
		if i > 0 && (c.whole == nil || c.whole.n == 0) {
			p.text = append(p.text, ',')
		}
		var err error
		if s := c.whole; s == nil {
			p.text, err = p.cell(append(p.text, c.key...), c)
		} else if s.fields[s.n], err = p.cell(s.fields[s.n][:0], c); err == nil {
			p.text = s.take(p.text)
		}
		if err != nil {
			return p.fault(c, err)
		}
	}
	p.text = append(p.text, '}', '\n')
	return nil
}

// take counts a field of a row, and appends the struct once the row has all.
func (s *parquetStruct) take(dst []byte) []byte {
	if s.n++; s.n < len(s.fields) {
		return dst
	}
	s.n = 0
	return s.typ.append(append(dst, s.key...), s.fields)
}

// cell appends the value of a column.
func (p *Parquet) cell(dst []byte, c *parquetColumn) ([]byte, error) {
	more, err := c.more()
	switch {
	case err != nil:
		return dst, err
	case !more:
		return dst, fmt.Errorf("it ends after %d rows of the %d that the footer says", p.row, p.file.MetaData().RowGroup(p.group).NumRows())
	case len(c.lists) == 0:
		return c.single(dst), nil
	case c.reps[c.at] != 0:
		return dst, errors.New("it begins within a list")
	}
	return c.list(dst)
}

// single appends the value of a column without lists.
func (c *parquetColumn) single(dst []byte) []byte {
	defined := c.defined == 0 || c.defs[c.at] == c.defined
	c.at++
	if !defined {
		return append(dst, "null"...)
	}
	c.value++
	return c.append(dst, c.value-1)
}

// list appends the values of a row of a column within lists.
func (c *parquetColumn) list(dst []byte) ([]byte, error) {
	open := 0
next:
	for first := true; ; first = false {
		if !first {
			more, err := c.more()
			if err != nil {
				return dst, err
			}
			if !more || c.reps[c.at] == 0 {
				break
			}
		}
		rep, def := int(c.reps[c.at]), c.defs[c.at]
		c.at++
		if !first {
			if rep > open {
				return dst, errors.New("it has a value in a list that has not begun")
			}
			for ; open > rep; open-- {
				dst = append(dst, ']')
			}
			dst = append(dst, ',')
		}
		for k := rep; k < len(c.lists); k++ {
			switch {
			case def < c.lists[k]-1:
				dst = append(dst, "null"...)
				continue next
			case def < c.lists[k]:
				dst = append(dst, "[]"...)
				continue next
			}
			dst = append(dst, '[')
			open = k + 1
		}
		if def < c.defined {
			dst = append(dst, "null"...)
			continue
		}
		c.value++
		dst = c.append(dst, c.value-1)
	}
	for ; open > 0; open-- {
		dst = append(dst, ']')
	}
	return dst, nil
}
