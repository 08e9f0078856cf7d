package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// decodeJSON decodes an object that a request consists of. With strict, its members must all be known.
func decodeJSON(data []byte, strict bool, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if strict {
		dec.DisallowUnknownFields()
	}
	err := dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more follows after the object")
		}
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		line, column := place(data, int(syntax.Offset)-1)
		return requestError(fmt.Sprintf("the request is not JSON: line %d, column %d: %v", line, column, err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return requestError("the request is not JSON: it ends too early")
	case errors.As(err, &typ) && typ.Field == "":
		return requestError("the request: must be an object, was " + article(typ.Value))
	case errors.As(err, &typ):
		return requestError(fmt.Sprintf("%s: must be %s, was %s", strings.TrimPrefix(typ.Field, "typedBody."), jsonName(typ), article(typ.Value)))
	}
	return requestError("the request: " + strings.TrimPrefix(err.Error(), "json: "))
}

// place gives the line and the column, in characters from 1, of a byte.
func place(data []byte, at int) (line, column int) {
	before := data[:max(0, min(at, len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}

func article(kind string) string {
	if strings.HasPrefix(kind, "number ") {
		return kind
	}
	if strings.ContainsRune("aeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// jsonName names the type that a member must have.
func jsonName(e *json.UnmarshalTypeError) string {
	switch e.Type.String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "int64", "int":
		return "a whole number"
	case "uint64":
		return "a whole number from 0"
	case "uint32":
		return "a whole number from 0 to 4294967295"
	}
	return "a list or an object"
}
