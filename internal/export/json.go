package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
)

// Names of ids next to properties in JSON lines and Parquet.
const (
	idColumn     = ":ID"
	sourceColumn = ":START_ID"
	targetColumn = ":END_ID"
)

// refuseKeys returns an error if a property has the name of an id.
func refuseKeys(f *file) error {
	for _, c := range f.columns {
		if c.name == idColumn || c.name == sourceColumn || c.name == targetColumn {
			return fmt.Errorf("the property %q has the name that the export gives to ids; use --format csv", c.name)
		}
	}
	return nil
}

// jsonWriter writes one object per line. An absent property has no key.
type jsonWriter struct {
	w    *bufio.Writer
	keys []string
	ids  []string
	line []byte
}

func newJSON(w io.Writer, f *file) (writer, error) {
	j := &jsonWriter{w: bufio.NewWriterSize(w, window), ids: []string{idColumn}}
	if f.isEdges() {
		j.ids = []string{sourceColumn, targetColumn}
	}
	for _, c := range f.columns {
		j.keys = append(j.keys, string(answer.AppendText(nil, c.name)))
	}
	return j, nil
}

func (j *jsonWriter) write(ids []int64, props, _ []*pb.Value) error {
	line := append(j.line[:0], '{')
	for i, id := range ids {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(append(line, '"'), j.ids[i]...), `":`...)
		line = strconv.AppendInt(line, id, 10)
	}
	for i, v := range props {
		if v != nil {
			line = append(append(append(line, ','), j.keys[i]...), ':')
			line = answer.AppendJSON(line, v)
		}
	}
	j.line = append(line, "}\n"...)
	_, err := j.w.Write(j.line)
	return err
}

func (j *jsonWriter) pending() int { return 0 }
func (j *jsonWriter) flush() error { return nil }
func (j *jsonWriter) close() error { return j.w.Flush() }
