package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeJSON decodes the JSON object of a request. With strict, unknown members are errors.
func DecodeJSON(data []byte, strict bool, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if strict {
		dec.DisallowUnknownFields()
	}
	err := dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("trailing data after the object")
		}
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil:
		return textError(data)
	case errors.As(err, &syntax):
		line, column := place(data, int(syntax.Offset)-1)
		return RequestError(fmt.Sprintf("the request is not JSON: line %d, column %d: %v", line, column, err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return RequestError("the request is not JSON: it ends too early")
	case errors.As(err, &typ) && typ.Field == "":
		return RequestError("the request: must be an object, was " + article(typ.Value))
	case errors.As(err, &typ):
		return RequestError(fmt.Sprintf("%s: must be %s, was %s", strings.TrimPrefix(typ.Field, "typedBody."), jsonName(typ), article(typ.Value)))
	}
	return RequestError("the request: " + strings.TrimPrefix(err.Error(), "json: "))
}

// textError finds bytes in valid JSON that are not text, which the decoder would replace by U+FFFD.
func textError(data []byte) error {
	var at int
	what := "half a surrogate pair"
	if !utf8.Valid(data) {
		for at = 0; ; {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		what = "invalid UTF-8"
	} else if at = halfSurrogate(data); at < 0 {
		return nil
	}
	line, column := place(data, at)
	return RequestError(fmt.Sprintf("the request is not JSON: line %d, column %d: %s", line, column, what))
}

// halfSurrogate finds a JSON escape from \ud800 to \udfff without its other half, or returns -1.
func halfSurrogate(data []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\\')
		if i < 0 {
			return -1
		}
		at += i
		high, ok := codeUnit(data[at:])
		if !ok {
			at += 2
			continue
		}
		if !utf16.IsSurrogate(high) {
			at += escapeSize
			continue
		}
		low, ok := codeUnit(data[at+escapeSize:])
		if !ok || utf16.DecodeRune(high, low) == utf8.RuneError {
			return at
		}
		at += 2 * escapeSize
	}
}

// escapeSize is the length of \u1234.
const escapeSize = 6

// codeUnit decodes \u1234.
func codeUnit(data []byte) (rune, bool) {
	if len(data) < escapeSize || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:escapeSize]), 16, 16)
	return rune(n), err == nil
}

// place returns the line and the column (in characters, from 1) of a byte.
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
