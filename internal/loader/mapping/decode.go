package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder collects the errors of a mapping file.
type decoder struct {
	file string
	errs []error
}

// node is a value of the file with its path, for messages.
type node struct {
	d    *decoder
	y    *yaml.Node
	path string
}

func (n node) place() place { return place{n.d.file, n.y.Line, n.y.Column, n.path} }

func (n node) errorf(format string, args ...any) {
	n.d.errs = append(n.d.errs, n.place().errorf(format, args...))
}

// resolved follows an alias.
func (n node) resolved() node {
	for n.y.Kind == yaml.AliasNode {
		n.y = n.y.Alias
	}
	return n
}

func (n node) isNull() bool { return n.y.Kind == yaml.ScalarNode && n.y.Tag == "!!null" }

// what describes the kind of a value.
func (n node) what() string {
	switch n.y.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.isNull() {
		return "nothing"
	}
	return fmt.Sprintf("%q", n.y.Value)
}

// fields calls the function of each key of a mapping; unknown keys are errors.
func (n node) fields(known map[string]func(node)) {
	if n.isNull() {
		return
	}
	if n.y.Kind != yaml.MappingNode {
		n.errorf("must be a mapping, is %s", n.what())
		return
	}
	n.entries(func(key string, at, v node) {
		f := known[key]
		if f == nil {
			names := make([]string, 0, len(known))
			for k := range known {
				names = append(names, k)
			}
			sort.Strings(names)
			at.errorf("unknown key; known are %s", strings.Join(names, ", "))
			return
		}
		f(v)
	})
}

// entries calls f for each entry of a mapping; at is the position of its key.
func (n node) entries(f func(key string, at, v node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		k := n.y.Content[i]
		path := k.Value
		if n.path != "" {
			path = n.path + "." + k.Value
		}
		at := node{n.d, k, path}
		if k.Kind != yaml.ScalarNode {
			at.errorf("a key must be a word")
			continue
		}
		if seen[k.Value] {
			at.errorf("the key occurs twice")
			continue
		}
		seen[k.Value] = true
		f(k.Value, at, node{n.d, n.y.Content[i+1], path}.resolved())
	}
}

// items returns the items of a list, or the value itself as the only item.
func (n node) items() []node {
	if n.y.Kind != yaml.SequenceNode {
		if n.isNull() {
			return nil
		}
		return []node{n}
	}
	out := make([]node, len(n.y.Content))
	for i, y := range n.y.Content {
		out[i] = node{n.d, y, fmt.Sprintf("%s[%d]", n.path, i)}.resolved()
	}
	return out
}

// list returns the items of a value that must be a list.
func (n node) list() []node {
	if n.y.Kind != yaml.SequenceNode {
		if !n.isNull() {
			n.errorf("must be a list, is %s", n.what())
		}
		return nil
	}
	return n.items()
}

// text returns a scalar verbatim.
func (n node) text() string {
	if n.y.Kind != yaml.ScalarNode || n.isNull() {
		n.errorf("must be a text, is %s", n.what())
		return ""
	}
	return n.y.Value
}

// str returns a non-empty string.
func (n node) str() string {
	if n.y.Kind != yaml.ScalarNode || n.y.Tag != "!!str" {
		n.errorf("must be a string, is %s", n.what())
		return ""
	}
	if n.y.Value == "" {
		n.errorf("must not be empty")
	}
	return n.y.Value
}

// count returns a non-negative integer.
func (n node) count() int {
	var i int
	if n.y.Kind != yaml.ScalarNode || n.y.Tag != "!!int" || n.y.Decode(&i) != nil || i < 0 {
		n.errorf("must be a whole number, is %s", n.what())
		return 0
	}
	return i
}

// truth returns a boolean.
func (n node) truth() bool {
	var b bool
	if n.y.Kind != yaml.ScalarNode || n.y.Tag != "!!bool" || n.y.Decode(&b) != nil {
		n.errorf("must be true or false, is %s", n.what())
	}
	return b
}

// word returns the value of one of the given words.
func word[T any](n node, words map[string]T) T {
	var none T
	if n.y.Kind == yaml.ScalarNode {
		if v, ok := words[n.y.Value]; ok {
			return v
		}
	}
	names := make([]string, 0, len(words))
	for k := range words {
		if k == strings.ToUpper(k) || k == strings.ToLower(k) {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	n.errorf("must be one of %s, is %s", strings.Join(names, ", "), n.what())
	return none
}

// decodeDocument parses the YAML of a file.
func decodeDocument(file string, text []byte) (node, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return node{}, &Error{place{file: file}, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(&more); err == nil {
		return node{}, &Error{place{file: file, line: more.Line}, "a mapping file must have only one document; a second one begins here"}
	} else if !errors.Is(err, io.EOF) {
		return node{}, &Error{place{file: file}, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if len(doc.Content) == 0 {
		return node{}, &Error{place{file: file}, "the file is empty"}
	}
	d := &decoder{file: file}
	return node{d, doc.Content[0], ""}.resolved(), nil
}

func (d *decoder) err() error { return errors.Join(d.errs...) }
