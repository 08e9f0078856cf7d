package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// leastMessage is less than the length of a message with a schema, and more than the offset of the table at its beginning.
const leastMessage = 64

// framed returns the stream of a file. Polars writes its first message, the schema, without the length before it, which readers of the footer
// do not notice: the message ends where the next one begins.
func (a *Arrow) framed() (io.Reader, error) {
	start, err := a.in.r.Peek(4)
	if err != nil {
		return nil, errArrowCut
	}
	if binary.LittleEndian.Uint32(start) >= leastMessage {
		return &a.in, nil
	}
	message := []byte(ArrowStream + "\x00\x00\x00\x00")
	var word [8]byte
	for {
		if _, err := io.ReadFull(&a.in, word[:]); err != nil {
			return nil, errArrowCut
		}
		if bytes.HasPrefix(word[:], []byte(ArrowStream)) {
			break
		}
		if message = append(message, word[:]...); len(message) > a.largest {
			return nil, errors.New("the Arrow file is damaged: its schema has no end")
		}
	}
	binary.LittleEndian.PutUint32(message[4:], uint32(len(message)-len(word)))
	return io.MultiReader(bytes.NewReader(append(message, word[:]...)), &a.in), nil
}

// dictionariesFirst reads the messages of a file with its dictionaries before its record batches. A file may have them in any order, and
// Polars writes them last; arrow-go reads them in the order of a stream.
type dictionariesFirst struct {
	ipc.MessageReader
	missing int            // dictionaries that no message had yet
	held    []*ipc.Message // the record batches before them
	served  *ipc.Message   // to release
	size    int64          // of all that was held
	largest int            // bounds size
	err     error          // follows held
}

// Message implements ipc.MessageReader.
func (d *dictionariesFirst) Message() (*ipc.Message, error) {
	if d.served != nil {
		d.served.Release()
		d.served = nil
	}
	for d.missing > 0 && d.err == nil {
		m, err := d.MessageReader.Message()
		switch {
		case err != nil:
			d.err = err
		case m.Type() == ipc.MessageDictionaryBatch:
			d.missing--
			return m, nil
		default:
			if d.size += m.BodyLen(); d.size > int64(d.largest) {
				return nil, fmt.Errorf("there are more than %d bytes before the dictionaries", d.largest)
			}
			m.Retain()
			d.held = append(d.held, m)
		}
	}
	if len(d.held) > 0 {
		d.served, d.held = d.held[0], d.held[1:]
		return d.served, nil
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.MessageReader.Message()
}

// dictionaries counts those of fields.
func dictionaries(fields []arrow.Field) (n int) {
	for _, f := range fields {
		n += dictionariesOf(f.Type)
	}
	return n
}

func dictionariesOf(t arrow.DataType) int {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return 1 + dictionariesOf(t.ValueType)
	case arrow.ExtensionType:
		return dictionariesOf(t.StorageType())
	case arrow.NestedType:
		return dictionaries(t.Fields())
	}
	return 0
}
