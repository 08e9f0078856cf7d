package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// Names of ids next to properties in JSON lines and Parquet.
const (
	exportID     = ":ID"
	exportSource = ":START_ID"
	exportTarget = ":END_ID"
)

// refuseKeys returns an error if a property has the name of an id.
func refuseKeys(f *exportFile) error {
	for _, c := range f.columns {
		if c.name == exportID || c.name == exportSource || c.name == exportTarget {
			return fmt.Errorf("the property %q has the name that the export gives to ids; use --format csv", c.name)
		}
	}
	return nil
}

// jsonExport writes one object per line. An absent property has no key.
type jsonExport struct {
	w    *bufio.Writer
	keys []string
	ids  []string
	line []byte
}

func newJSONExport(w io.Writer, f *exportFile) (exportWriter, error) {
	j := &jsonExport{w: bufio.NewWriterSize(w, exportWindow), ids: []string{exportID}}
	if f.isEdges() {
		j.ids = []string{exportSource, exportTarget}
	}
	for _, c := range f.columns {
		j.keys = append(j.keys, string(appendText(nil, c.name)))
	}
	return j, nil
}

func (j *jsonExport) write(ids []int64, props, _ []*pb.Value) error {
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
			line = appendJSON(line, v)
		}
	}
	j.line = append(line, "}\n"...)
	_, err := j.w.Write(j.line)
	return err
}

func (j *jsonExport) pending() int { return 0 }
func (j *jsonExport) flush() error { return nil }
func (j *jsonExport) close() error { return j.w.Flush() }
