package check

import (
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/query/fn"
)

// Procedure is the signature of a procedure.
type Procedure struct {
	Name    string // as documented
	Args    []Field
	Results []Field // none: the procedure passes its input on
}

// Field is an argument or a result of a procedure.
type Field struct {
	Name     string
	Type     fn.Kinds
	Optional bool // an argument that may be omitted
}

// procedureTypes maps the names of types in signatures to kinds.
var procedureTypes = map[string]fn.Kinds{
	"ANY": fn.Any, "BOOLEAN": fn.Boolean, "INTEGER": fn.Integer, "FLOAT": fn.Number, "NUMBER": fn.Number, "STRING": fn.String, "LIST": fn.List, "MAP": fn.Map,
	"NODE": fn.Node, "RELATIONSHIP": fn.Relationship, "PATH": fn.Path, "POINT": fn.Point, "DATE": fn.Date, "TIME": fn.Time, "ZONED TIME": fn.Time,
	"LOCALTIME": fn.LocalTime, "LOCAL TIME": fn.LocalTime, "DATETIME": fn.DateTime, "ZONED DATETIME": fn.DateTime,
	"LOCALDATETIME": fn.LocalDateTime, "LOCAL DATETIME": fn.LocalDateTime, "DURATION": fn.Duration,
}

// ParseProcedure parses a signature in openCypher's notation: name(arg :: TYPE?, …) :: (result :: TYPE?, …). A FLOAT argument
// accepts integers, and every argument accepts null. An argument with a default (= value) is optional.
func ParseProcedure(signature string) (Procedure, error) {
	name, rest, ok := strings.Cut(signature, "(")
	args, results, ok2 := strings.Cut(rest, ")")
	results = strings.TrimSpace(results)
	if !ok || !ok2 || strings.TrimSpace(name) == "" {
		return Procedure{}, fmt.Errorf("signature %q: want name(arguments) :: (results)", signature)
	}
	p := Procedure{Name: strings.TrimSpace(name)}
	var err error
	if p.Args, err = fields(args); err != nil {
		return Procedure{}, fmt.Errorf("signature %q: %w", signature, err)
	}
	results = strings.TrimSpace(strings.TrimPrefix(results, "::"))
	if results == "" || results == "VOID" {
		return p, nil
	}
	results, open := strings.CutPrefix(results, "(")
	results, closed := strings.CutSuffix(results, ")")
	if !open || !closed {
		return Procedure{}, fmt.Errorf("signature %q: results want parentheses", signature)
	}
	if p.Results, err = fields(results); err != nil {
		return Procedure{}, fmt.Errorf("signature %q: %w", signature, err)
	}
	return p, nil
}

// fields reads name :: TYPE, ….
func fields(list string) ([]Field, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var out []Field
	for part := range strings.SplitSeq(list, ",") {
		name, rest, ok := strings.Cut(part, "::")
		if !ok {
			return nil, fmt.Errorf("field %q: want name :: TYPE", strings.TrimSpace(part))
		}
		name, _, inDefault := strings.Cut(name, "=")
		written, _, afterDefault := strings.Cut(rest, "=")
		written = strings.ToUpper(strings.TrimSuffix(strings.TrimSpace(written), "?"))
		if base, _, ok := strings.Cut(written, "<"); ok {
			written = base
		}
		if strings.HasPrefix(written, "LIST") {
			written = "LIST"
		}
		t, ok := procedureTypes[written]
		if !ok {
			return nil, fmt.Errorf("field %q: unknown type", strings.TrimSpace(part))
		}
		out = append(out, Field{Name: strings.TrimSpace(name), Type: t | fn.Null, Optional: inDefault || afterDefault})
	}
	return out, nil
}
