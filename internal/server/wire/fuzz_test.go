package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Parameters that are read are written as they were, plain and typed.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{"a": 1, "b": [1.0, -0.0, 1e300], "c": {"k": null, "l": "\u00e9"}}`, `{"a": {"a": {"a": {}}}}`, `{"a": 9223372036854775807}`,
		`{"t": {"$type": "Integer", "_value": "1"}, "d": {"$type": "Date", "_value": "2020-01-01"}}`,
		`{"t": {"$type": "List", "_value": [{"$type": "Duration", "_value": "P1D"}]}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, typed bool) {
		params, err := DecodeParams(raw, typed, nil)
		if err != nil {
			return
		}
		for name, v := range params {
			write := notation.PlainJSON.Append
			if typed {
				write = notation.TypedJSON.Append
			}
			text := write(nil, v)
			again, err := DecodeParams(append(append([]byte(`{"x":`), text...), '}'), typed, nil)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, text, err)
			}
			if s := write(nil, again["x"]); string(s) != string(text) {
				t.Fatalf("%s: %s became %s", name, text, s)
			}
		}
	})
}

// Values of the gRPC API that are read are written as they were.
func FuzzValue(f *testing.F) {
	for _, v := range []graph.Value{
		{},
		graph.IntValue(1), graph.FloatValue(1.5), graph.StringValue("x"), graph.BoolValue(true),
		graph.ListValue([]graph.Value{graph.IntValue(1), {}}), graph.MapValue([]graph.MapEntry{{Key: "k", Value: graph.DateValue(7)}}),
	} {
		b, err := proto.Marshal(ToProto(v))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p pb.Value
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		v, err := FromProto(&p, 0, nil)
		if err != nil {
			return
		}
		again, err := FromProto(ToProto(v), 0, nil)
		if err != nil {
			t.Fatalf("%v: %v", &p, err)
		}
		if a, b := notation.TypedJSON.Append(nil, v), notation.TypedJSON.Append(nil, again); string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}
