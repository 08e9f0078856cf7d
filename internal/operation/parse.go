package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PlaceError is an error at a place of a file. Line and Column count from 1, Column in bytes.
type PlaceError struct {
	File         string
	Line, Column int
	Err          error
}

// Error implements error.
func (p *PlaceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", p.File, p.Line, p.Column, p.Err)
}

// Unwrap returns the error without its place.
func (p *PlaceError) Unwrap() error { return p.Err }

// Parse returns the operations of a file, .cypher or .json, whose name is for errors, which are *PlaceError. What comes before the first line "// name:" may only be
// comments and empty lines.
func Parse(file, text string) (all []*Operation, err error) {
	p := parser{file: file}
	for line := range strings.SplitAfterSeq(text, "\n") {
		p.line++
		if err := p.take(line); err != nil {
			return nil, err
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if len(p.all) == 0 {
		return nil, p.fail(1, errors.New(`there is no operation: begin one by a line "// name: …"`))
	}
	return p.all, nil
}

type parser struct {
	file      string
	line      int
	all       []*Operation
	o         *Operation // that the lines are about, or nil
	from      int        // the line of its name
	begun     int        // the line on which its statement begins, after so many bytes
	indent    int
	statement strings.Builder
}

func (p *parser) fail(column int, err error) error { return &PlaceError{p.file, p.line, column, err} }

// header is what a comment says of an operation: "// key: value". value begins at column.
func header(line string) (key, value string, column int, ok bool) {
	rest, ok := strings.CutPrefix(line, "//")
	key, value, found := strings.Cut(rest, ":")
	key = strings.TrimSpace(key)
	if !ok || !found || !slices.Contains([]string{"name", "description", "role", "roles", "param", "id", "route"}, key) {
		return "", "", 0, false
	}
	trimmed := strings.TrimLeft(value, " \t")
	return key, strings.TrimRight(trimmed, " \t\r\n"), len(strings.TrimRight(line, "\n")) - len(strings.TrimRight(trimmed, "\n")) + 1, true
}

func (p *parser) take(line string) error {
	key, value, column, ok := header(line)
	if key == "name" {
		if err := p.end(); err != nil {
			return err
		}
		if !nameForm.MatchString(value) {
			return p.fail(column, fmt.Errorf("the name %q must have letters, digits and underscores, 64 at most, and begin with no digit", value))
		}
		if slices.ContainsFunc(p.all, func(o *Operation) bool { return o.Name == value }) {
			return p.fail(column, fmt.Errorf("the operation %s is there twice", value))
		}
		p.o, p.from = &Operation{Name: value}, p.line
		return nil
	}
	if ok && p.statement.Len() == 0 {
		if p.o == nil {
			return p.fail(1, fmt.Errorf(`%s comes before the line "// name: …"`, key))
		}
		return p.describe(key, value, column)
	}
	blank := strings.TrimSpace(line) == ""
	switch {
	case p.o == nil && !blank && !strings.HasPrefix(line, "//"):
		return p.fail(1, errors.New(`a statement begins without a line "// name: …" before it`))
	case p.o != nil && (p.statement.Len() > 0 || !blank && !strings.HasPrefix(line, "//")):
		if p.statement.Len() == 0 {
			p.begun = p.line
			p.indent = len(line) - len(strings.TrimLeft(line, " \t"))
		}
		p.statement.WriteString(line)
	}
	return nil
}

func (p *parser) describe(key, value string, column int) error {
	switch key {
	case "description":
		if p.o.Description != "" {
			p.o.Description += " "
		}
		p.o.Description += value
	case "id":
		p.o.ID = value
	case "route":
		if p.o.Route != "" || routes[value] == "" {
			return p.fail(column, fmt.Errorf("the route %q must be there once, and be %s", value, routeNames))
		}
		p.o.Route = value
	case "param":
		param, at, err := parseParam(value)
		if err != nil {
			return p.fail(column+at, err)
		}
		if slices.ContainsFunc(p.o.Params, func(q Param) bool { return q.Name == param.Name }) {
			return p.fail(column, fmt.Errorf("the parameter %s is there twice", param.Name))
		}
		p.o.Params = append(p.o.Params, param)
	default:
		for role := range strings.SplitSeq(value, ",") {
			role = strings.TrimSpace(role)
			if role == "" {
				return p.fail(column, errors.New("a role has no name"))
			}
			p.o.Roles = append(p.o.Roles, role)
		}
	}
	return nil
}

// parseParam parses "name :: TYPE [= default] [-- description]"; an error is at an offset.
func parseParam(text string) (p Param, at int, err error) {
	name, rest, ok := strings.Cut(text, "::")
	p.Name = strings.TrimSpace(name)
	if !ok {
		return p, 0, errors.New("a parameter is name :: TYPE, name :: TYPE = default, or either with -- and a description")
	}
	if !nameForm.MatchString(p.Name) {
		return p, 0, fmt.Errorf("the parameter %q must have letters, digits and underscores, 64 at most, and begin with no digit", p.Name)
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "=-"); i >= 0 {
		end = i
	}
	typ, rest := rest[:end], rest[end:]
	at = len(text) - len(rest) - len(strings.TrimLeft(typ, " \t"))
	p.Type = Type(strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(typ), " ", "")))
	if err := p.Type.check(); err != nil {
		return p, at, err
	}
	if value, has := strings.CutPrefix(rest, "="); has {
		at = len(text) - len(strings.TrimLeft(value, " \t"))
		d := json.NewDecoder(strings.NewReader(value))
		if err := d.Decode(&p.Default); err != nil {
			return p, at, fmt.Errorf("the default is not JSON: %w", err)
		}
		rest = strings.TrimLeft(value[d.InputOffset():], " \t")
	}
	description, has := strings.CutPrefix(rest, "--")
	if !has && rest != "" {
		return p, len(text) - len(rest), fmt.Errorf("%q stands where -- and a description may stand", rest)
	}
	p.Description = strings.TrimSpace(description)
	return p, at, p.complete()
}

// end ends the operation that the lines are about.
func (p *parser) end() error {
	if p.o == nil {
		return nil
	}
	p.o.Statement = strings.TrimSuffix(strings.TrimSpace(p.statement.String()), ";")
	p.statement.Reset()
	if err := p.o.complete(); err != nil {
		wrapped := fmt.Errorf("the operation %s: %w", p.o.Name, err)
		if e, ok := errors.AsType[*bodyError](err); ok {
			before := strings.Repeat(" ", p.indent) + p.o.Statement[:e.at]
			return &PlaceError{p.file, p.begun + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), wrapped}
		}
		return &PlaceError{p.file, p.from, 1, wrapped}
	}
	p.all = append(p.all, p.o)
	p.o = nil
	return nil
}

// manifest is a list of operations as tools of GraphQL clients write them: Apollo's has a format and a list, WunderGraph Cosmo's an object by
// hash, as Relay's, whose object is the whole file.
type manifest struct {
	Format     string          `json:"format"`
	Version    json.RawMessage `json:"version"`
	Operations json.RawMessage `json:"operations"`
}

const apolloFormat = "apollo-persisted-query-manifest"

// Manifest returns the operations of a manifest: Apollo's {"format": …, "version": 1, "operations": [{"id", "name", "type", "body"}]}, or
// Cosmo's {"version": …, "operations": {id: body}}. A body is a statement, or an operation as in a file; one without a name is called op_ and
// the first 12 characters of its hash. Errors are *PlaceError.
func Manifest(file string, data []byte) ([]*Operation, error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, jsonPlace(file, data, err)
	}
	fail := func(err error) error { return &PlaceError{file, 1, 1, err} }
	if len(m.Operations) == 0 {
		return nil, fail(errors.New(`there is no "operations"`))
	}
	var list []entry
	if m.Operations[0] == '{' {
		var byID map[string]string
		if err := json.Unmarshal(m.Operations, &byID); err != nil {
			return nil, fail(fmt.Errorf("operations: %w", err))
		}
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			list = append(list, entry{ID: id, Body: byID[id]})
		}
	} else {
		if m.Format != apolloFormat || string(m.Version) != "1" {
			return nil, fail(fmt.Errorf("the format is %q of version %s, not %s of version 1", m.Format, m.Version, apolloFormat))
		}
		if err := json.Unmarshal(m.Operations, &list); err != nil {
			return nil, fail(fmt.Errorf("operations: %w", err))
		}
	}
	var all []*Operation
	for i, e := range list {
		o, err := e.operation()
		if err == nil && slices.ContainsFunc(all, func(p *Operation) bool { return p.Name == o.Name }) {
			err = fmt.Errorf("the operation %s is there twice", o.Name)
		}
		if err != nil {
			return nil, fail(fmt.Errorf("operations[%d] (id %q): %w", i, e.ID, err))
		}
		all = append(all, o)
	}
	return all, nil
}

// entry is an operation of a manifest.
type entry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"` // query or mutation
	Body string `json:"body"`
}

func (e *entry) operation() (*Operation, error) {
	if e.Type != "" && e.Type != "query" && e.Type != "mutation" {
		return nil, fmt.Errorf("the type %q is neither query nor mutation", e.Type)
	}
	text := e.Body
	if key, _, _, _ := header(text); key != "name" {
		name := e.Name
		if name == "" {
			o := Operation{Name: "op", Statement: e.Body}
			if err := o.complete(); err != nil {
				return nil, err
			}
			name = "op_" + o.Hash[:12]
		}
		text = "// name: " + name + "\n" + text
	}
	all, err := Parse("body", text)
	if err != nil {
		return nil, err
	}
	o := all[0]
	if len(all) > 1 || e.Name != "" && o.Name != e.Name {
		return nil, fmt.Errorf("the body is not of one operation %s", e.Name)
	}
	o.ID = e.ID
	return o, o.complete()
}

// jsonPlace gives an error of encoding/json its place.
func jsonPlace(file string, data []byte, err error) error {
	offset := int64(0)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return &PlaceError{file, bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n'), err}
}
