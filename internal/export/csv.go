package export

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
)

// idSpace is the id space of all vertices in an export.
const idSpace = "export"

// csvWriter writes CSV with neo4j-admin headers. An absent property is an empty field; a string is quoted.
type csvWriter struct {
	w     *bufio.Writer
	f     *file
	line  []byte
	fixed string // the labels or the type
}

// window is the size of a file's buffer in bytes.
const window = 16 << 10

func newCSV(w io.Writer, f *file) (writer, error) {
	c := &csvWriter{w: bufio.NewWriterSize(w, window), f: f}
	head := []string{":ID(" + idSpace + "){id-type:long}"}
	c.fixed = strings.Join(f.shape.labels, ";")
	if f.isEdges() {
		head = []string{":START_ID(" + idSpace + ")", ":END_ID(" + idSpace + ")", ":TYPE"}
		c.fixed = f.shape.typ
	} else if len(f.shape.labels) > 0 {
		head = append(head, ":LABEL")
	}
	for _, col := range f.columns {
		cell := col.name + ":" + col.typ.String()
		if col.tricky {
			cell += "{array:json}"
		}
		head = append(head, cell)
	}
	for i, h := range head {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		if strings.ContainsAny(h, "\",\n\r\t|;") {
			c.line = appendQuoted(c.line, h)
		} else {
			c.line = append(c.line, h...)
		}
	}
	_, err := c.w.Write(append(c.line, '\n'))
	return c, err
}

// refuseCSV returns an error if headers cannot represent the file.
func refuseCSV(f *file) error {
	for _, l := range f.shape.labels {
		if strings.Contains(l, ";") || strings.TrimSpace(l) != l {
			return fmt.Errorf("the label %q cannot stand in a :LABEL column; use --format jsonl", l)
		}
	}
	if strings.TrimSpace(f.shape.typ) != f.shape.typ {
		return fmt.Errorf("the edge type %q cannot stand in a :TYPE column; use --format jsonl", f.shape.typ)
	}
	for _, c := range f.columns {
		if strings.TrimSpace(c.name) != c.name {
			return fmt.Errorf("the property %q cannot stand in a header; use --format jsonl", c.name)
		}
	}
	return nil
}

func (c *csvWriter) write(ids []int64, props, _ []*pb.Value) error {
	line := c.line[:0]
	for i, id := range ids {
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendInt(line, id, 10)
	}
	if c.fixed != "" {
		line = appendQuoted(append(line, ','), c.fixed)
	}
	for i, v := range props {
		line = append(line, ',')
		if v == nil {
			continue
		}
		switch l := v.GetList(); {
		case c.f.columns[i].tricky:
			line = appendQuoted(line, string(answer.AppendJSON(nil, v)))
		case l != nil:
			var text []byte
			for k, e := range l.GetValues() {
				if k > 0 {
					text = append(text, ';')
				}
				text = appendPlain(text, e)
			}
			line = appendQuoted(line, string(text))
		case c.f.columns[i].typ == typeString:
			line = appendQuoted(line, v.GetString_())
		default:
			line = appendPlain(line, v)
		}
	}
	c.line = append(line, '\n')
	_, err := c.w.Write(c.line)
	return err
}

func (c *csvWriter) pending() int { return 0 }
func (c *csvWriter) flush() error { return nil }
func (c *csvWriter) close() error { return c.w.Flush() }

// appendQuoted appends a quoted field.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return append(append(dst, s...), '"')
		}
		dst = append(append(dst, s[:i+1]...), '"')
		s = s[i+1:]
	}
}

// appendPlain appends a scalar in the form that load reads.
func appendPlain(dst []byte, v *pb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *pb.Value_Integer:
		return strconv.AppendInt(dst, k.Integer, 10)
	case *pb.Value_Float:
		return strconv.AppendFloat(dst, k.Float, 'g', -1, 64)
	case *pb.Value_Boolean:
		return strconv.AppendBool(dst, k.Boolean)
	case *pb.Value_String_:
		return append(dst, k.String_...)
	case *pb.Value_Temporal:
		return append(dst, k.Temporal.GetText()...)
	case *pb.Value_Point:
		return append(dst, answer.PointText(k.Point)...)
	case *pb.Value_Vector:
		at := len(dst)
		dst = answer.VectorOf(k.Vector).AppendJSON(dst)
		for i, c := range dst[at:] {
			if c == ',' {
				dst[at+i] = ';'
			}
		}
		return append(dst[:at], dst[at+1:len(dst)-1]...)
	case *pb.Value_Bytes:
		return base64.StdEncoding.AppendEncode(dst, k.Bytes)
	}
	return dst
}
