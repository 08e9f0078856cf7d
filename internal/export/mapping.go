package export

import (
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/cli"
)

// The parts of a mapping file that an export writes.
type (
	mappingFile struct {
		Version int            `yaml:"version"`
		Inputs  []mappingInput `yaml:"inputs"`
	}
	mappingInput struct {
		Path     string            `yaml:"path"`
		Format   string            `yaml:"format"`
		Vertices []mappingVertices `yaml:"vertices,omitempty"`
		Edges    []mappingEdges    `yaml:"edges,omitempty"`
	}
	mappingVertices struct {
		Labels     []string                `yaml:"labels,flow"`
		ID         string                  `yaml:"id"`
		IDSpace    string                  `yaml:"idSpace"`
		IDType     string                  `yaml:"idType"`
		Where      map[string][]string     `yaml:"where,omitempty"`
		Properties map[string]mappingValue `yaml:"properties"`
	}
	mappingEdges struct {
		Type       string                  `yaml:"type"`
		Action     string                  `yaml:"action"`
		From       mappingEnd              `yaml:"from,flow"`
		To         mappingEnd              `yaml:"to,flow"`
		Where      map[string][]string     `yaml:"where,omitempty"`
		Properties map[string]mappingValue `yaml:"properties"`
	}
	mappingEnd struct {
		Column  string `yaml:"column"`
		IDSpace string `yaml:"idSpace"`
	}
	mappingValue struct {
		Type string `yaml:"type"`
	}
)

// writeMapping writes a mapping for all files.
func (e *exporter) writeMapping() error {
	m := mappingFile{Version: 1}
	for _, f := range e.files {
		m.Inputs = append(m.Inputs, f.input(e.format.ext, func(c column) string { return c.typ.String() }))
	}
	if e.format.file != "" {
		m.Inputs = e.graphInputs()
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.dir, cli.MappingName), text, 0o666)
}

// input is the mapping of a file.
func (f *file) input(format string, typeOf func(c column) string) mappingInput {
	in := mappingInput{Path: f.name, Format: format}
	props := map[string]mappingValue{}
	for _, c := range f.columns {
		props[c.name] = mappingValue{typeOf(c)}
	}
	if f.isEdges() {
		in.Edges = []mappingEdges{{
			Type: f.shape.typ, Action: "insert", From: mappingEnd{sourceColumn, idSpace}, To: mappingEnd{targetColumn, idSpace}, Properties: props,
		}}
	} else {
		in.Vertices = []mappingVertices{{Labels: append([]string{}, f.shape.labels...), ID: idColumn, IDSpace: idSpace, IDType: "long", Properties: props}}
	}
	return in
}
