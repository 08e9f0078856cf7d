package mcpapi

import (
	_ "embed"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hopgate/hopgate/internal/server/wire"
)

// inputFile holds the JSON schemas of the arguments of each tool.
//
//go:embed inputs.json
var inputFile []byte

// input checks the arguments of a tool.
type input struct{ *jsonschema.Resolved }

// inputs are those of all tools, by name.
var inputs = readInputs()

func readInputs() map[string]input {
	var all map[string]*jsonschema.Schema
	err := json.Unmarshal(inputFile, &all)
	out := map[string]input{}
	for name, s := range all {
		var r *jsonschema.Resolved
		if r, err = s.Resolve(nil); err != nil {
			break
		}
		out[name] = input{r}
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return out
}

// decode checks arguments and decodes them.
func (in input) decode(args json.RawMessage, into any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var value any
	if err := wire.DecodeJSON(args, false, &value); err != nil {
		return err
	}
	if err := in.Validate(value); err != nil {
		return wire.RequestError("arguments: " + err.Error())
	}
	return wire.DecodeJSON(args, true, into)
}
