package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The beginnings of Arrow IPC.
const (
	ArrowFile   = "ARROW1"           // of a file, which also ends with it
	ArrowStream = "\xff\xff\xff\xff" // of a stream
)

// arrowFile is the length of what precedes the stream within a file.
const arrowFile = 8

// Arrow reads an Arrow IPC file or stream as JSON lines, in the form of Parquet. A file is read as the stream that it contains.
//
// It reads the messages by arrow-go and checks what arrow-go leaves to its callers: that the stream has its end marker and a file its
// footer, without which they may be cut off.
type Arrow struct {
	rows
	in      ended
	use     func(name string) (used, binary bool)
	file    bool
	batches *ipc.Reader // nil before the first row
	columns []arrowColumn
	batch   arrow.RecordBatch
	row     int // of the batch
	number  int // of the batch, from 1
	text    []byte
	largest int // see largestBatch
}

// arrowColumn makes JSON of a leaf column.
type arrowColumn struct {
	path   string
	key    []byte // the key as JSON, with its colon
	top    int    // the column of the batch that it is in
	append arrowForm
}

// arrowForm appends an element of an array.
type arrowForm func(dst []byte, a arrow.Array, i int) []byte

// largestBatch bounds the memory of a record batch, as stored and uncompressed.
const largestBatch = 1 << 31

// NewArrow reads an Arrow IPC file or stream. use is that of NewParquet. A text of JSON lines, as refused rows are kept, is read as it is.
func NewArrow(r io.Reader, use func(name string) (used, binary bool)) *Arrow {
	a := &Arrow{in: ended{r: bufio.NewReaderSize(r, 1<<16)}, use: use, largest: largestBatch}
	a.fill = a.next
	return a
}

// next produces the text of the next rows.
func (a *Arrow) next() (text []byte, err error) {
	if a.batches == nil && a.fill != nil {
		start, err := a.in.r.Peek(arrowFile)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(start) == 0 || start[0] == '{' {
			a.fill = a.asIs
			return nil, nil
		}
		if err := a.open(start); err != nil {
			return nil, err
		}
	}
	return a.lines()
}

// asIs reads text that is no Arrow.
func (a *Arrow) asIs() ([]byte, error) {
	buf := make([]byte, rowsText)
	n, err := a.in.Read(buf)
	return buf[:n], err
}

// open reads the schema.
func (a *Arrow) open(start []byte) (err error) {
	defer caught("Arrow", &err)
	stream := io.Reader(&a.in)
	switch a.file = bytes.HasPrefix(start, []byte(ArrowFile)); {
	case a.file:
		if _, err := io.CopyN(io.Discard, &a.in, arrowFile); err != nil {
			return errArrowCut
		}
		if stream, err = a.framed(); err != nil {
			return err
		}
	case bytes.HasPrefix(start, []byte("FEA1")):
		return errors.New("the file is Feather of version 1, which is not supported: write version 2, which is Arrow IPC")
	}
	memory := ipc.WithAllocator(bounded{memory.DefaultAllocator, a.largest})
	messages := &dictionariesFirst{largest: a.largest}
	messages.MessageReader = ipc.NewMessageReader(stream, memory, ipc.WithMetadataSizeLimit(int64(a.largest)), ipc.WithBodySizeLimit(int64(a.largest)))
	batches, err := ipc.NewReaderFromMessageReader(messages, memory)
	if err != nil {
		return fmt.Errorf("the file is no Arrow IPC file or stream, or damaged: %w", err)
	}
	for i, f := range batches.Schema().Fields() {
		if err := a.walk(f, []string{f.Name}, i, func(inner arrowForm) arrowForm { return inner }); err != nil {
			return err
		}
	}
	if len(a.columns) == 0 {
		return errors.New("the Arrow file has none of the columns that the rules use")
	}
	if a.batches = batches; a.file {
		messages.missing = dictionaries(batches.Schema().Fields())
	}
	return nil
}

var errArrowCut = errors.New("the Arrow file has no end marker or no footer: it is cut off")

// walk adds the leaf columns of a field. wrap makes the form of an element of the top column out of that of the field.
func (a *Arrow) walk(f arrow.Field, path []string, top int, wrap func(arrowForm) arrowForm) error {
	down := func(child arrow.Field, name []string, step func(inner arrowForm) arrowForm) error {
		return a.walk(child, name, top, func(inner arrowForm) arrowForm { return wrap(orNull(step(inner))) })
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		key := strings.Join(path, ".")
		if form := a.structForm(t, key); form != nil {
			return a.add(key, top, wrap(orNull(form)))
		}
		for k, child := range t.Fields() {
			if err := down(child, append(slices.Clone(path), child.Name), func(inner arrowForm) arrowForm {
				return func(dst []byte, a arrow.Array, i int) []byte { return inner(dst, a.(*array.Struct).Field(k), i) }
			}); err != nil {
				return err
			}
		}
		return nil
	case arrow.ListLikeType:
		return down(t.ElemField(), path, listForm)
	case *arrow.DictionaryType:
		return down(arrow.Field{Type: t.ValueType}, path, func(inner arrowForm) arrowForm {
			return func(dst []byte, a arrow.Array, i int) []byte {
				d := a.(*array.Dictionary)
				return inner(dst, d.Dictionary(), d.GetValueIndex(i))
			}
		})
	case *arrow.RunEndEncodedType:
		return down(arrow.Field{Type: t.Encoded()}, path, func(inner arrowForm) arrowForm {
			return func(dst []byte, a arrow.Array, i int) []byte {
				r := a.(*array.RunEndEncoded)
				return inner(dst, r.Values(), r.GetPhysicalIndex(i))
			}
		})
	case arrow.ExtensionType:
		storage := arrow.Field{Type: t.StorageType(), Metadata: arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName}, []string{t.ExtensionName()})}
		return down(storage, path, func(inner arrowForm) arrowForm {
			return func(dst []byte, a arrow.Array, i int) []byte {
				return inner(dst, a.(array.ExtensionArray).Storage(), i)
			}
		})
	}
	key := strings.Join(path, ".")
	used, binary := true, false
	if a.use != nil {
		used, binary = a.use(key)
	}
	if !used {
		return nil
	}
	form, err := arrowFormOf(f, binary)
	if err != nil {
		return fmt.Errorf("column %q: %w", key, err)
	}
	return a.add(key, top, wrap(orNull(form)))
}

// add adds a column.
func (a *Arrow) add(key string, top int, form arrowForm) error {
	if slices.ContainsFunc(a.columns, func(c arrowColumn) bool { return c.path == key }) {
		return fmt.Errorf("column %q: the file has two columns of that name", key)
	}
	a.columns = append(a.columns, arrowColumn{path: key, key: append(appendJSONText(nil, []byte(key)), ':'), top: top, append: form})
	return nil
}

// structForm returns how the values of a struct type of Hopgate's, if it is one that the rules use as a whole, become JSON, or nil.
func (a *Arrow) structForm(t *arrow.StructType, key string) arrowForm {
	names := make([]string, t.NumFields())
	forms := make([]arrowForm, t.NumFields())
	for i, child := range t.Fields() {
		form, err := arrowFormOf(child, false)
		if err != nil {
			return nil
		}
		names[i], forms[i] = child.Name, orNull(form)
	}
	s := structOf(names)
	if s == nil {
		return nil
	}
	if a.use != nil {
		if used, _ := a.use(key); !used {
			return nil
		}
	}
	fields := make([][]byte, len(forms))
	return func(dst []byte, a arrow.Array, i int) []byte {
		for k, form := range forms {
			fields[k] = form(fields[k][:0], a.(*array.Struct).Field(k), i)
		}
		return s.append(dst, fields)
	}
}

// orNull appends null for elements that are null.
func orNull(form arrowForm) arrowForm {
	return func(dst []byte, a arrow.Array, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return form(dst, a, i)
	}
}

// listForm appends lists whose elements have a form.
func listForm(inner arrowForm) arrowForm {
	return func(dst []byte, a arrow.Array, i int) []byte {
		l := a.(array.ListLike)
		from, to := l.ValueOffsets(i)
		if from < 0 || to < from || to > int64(l.ListValues().Len()) {
			panic(fmt.Sprintf("a list from %d to %d of %d elements", from, to, l.ListValues().Len()))
		}
		dst = append(dst, '[')
		for k := from; k < to; k++ {
			if k > from {
				dst = append(dst, ',')
			}
			dst = inner(dst, l.ListValues(), int(k))
		}
		return append(dst, ']')
	}
}

// lines appends rows until there is text enough, and returns those that are whole.
func (a *Arrow) lines() (text []byte, err error) {
	a.text = a.text[:0]
	whole := 0
	defer func() {
		if text = a.text[:whole]; err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("record batch %d: %w", a.number, err)
		}
	}()
	defer caught("Arrow", &err)
	for len(a.text) < rowsText {
		if a.batch == nil || a.row == int(a.batch.NumRows()) {
			if err := a.nextBatch(); err != nil {
				return nil, err
			}
			continue
		}
		a.appendRow()
		whole = len(a.text)
	}
	return nil, nil
}

func (a *Arrow) appendRow() {
	a.text = append(a.text, '{')
	for i := range a.columns {
		c := &a.columns[i]
		if i > 0 {
			a.text = append(a.text, ',')
		}
		a.text = c.append(append(a.text, c.key...), a.batch.Column(c.top), a.row)
	}
	a.text = append(a.text, '}', '\n')
	a.row++
}

// nextBatch reads a batch, or the end of the file.
func (a *Arrow) nextBatch() error {
	a.number++
	a.row = 0
	batch, err := a.batches.Read()
	if err == nil {
		a.batch = batch
		return nil
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF) && a.in.atEnd:
		return errArrowCut
	case !errors.Is(err, io.EOF):
		return err
	case !a.file:
		return io.EOF
	}
	if _, err := io.Copy(io.Discard, &a.in); err != nil {
		return err
	}
	if string(a.in.last[:]) != ArrowFile {
		return errArrowCut
	}
	return io.EOF
}

// ended knows whether a reader has reached its end, and the last bytes read.
type ended struct {
	r     *bufio.Reader
	atEnd bool
	last  [len(ArrowFile)]byte
}

// Read implements io.Reader.
func (e *ended) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	e.atEnd = e.atEnd || errors.Is(err, io.EOF)
	if n >= len(e.last) {
		copy(e.last[:], b[n-len(e.last):n])
	} else {
		copy(e.last[:], e.last[n:])
		copy(e.last[len(e.last)-n:], b[:n])
	}
	return n, err
}

// bounded refuses, by a panic that the reader turns into an error, to allocate more for a buffer than a batch may have.
type bounded struct {
	memory.Allocator
	most int
}

// Allocate implements memory.Allocator.
func (b bounded) Allocate(size int) []byte { return b.Allocator.Allocate(b.checked(size)) }

// Reallocate implements memory.Allocator.
func (b bounded) Reallocate(size int, old []byte) []byte {
	return b.Allocator.Reallocate(b.checked(size), old)
}

func (b bounded) checked(size int) int {
	if size < 0 || size > b.most+64 { // the library pads
		panic(fmt.Sprintf("a buffer of %d bytes: a record batch has at most %d", size, b.most))
	}
	return size
}
