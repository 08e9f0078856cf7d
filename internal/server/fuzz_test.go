package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// Whatever is sent to the query endpoint, the answer is JSON and no fault of the server's.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		`{"statement": "RETURN $x", "parameters": {"x": [1, 1.5, null, "a", {"k": true}]}}`,
		`{"statement": "MATCH (n) RETURN n", "maxRows": 1, "accessMode": "READ", "timeoutMs": 10}`,
		`{"statement": "CREATE (n:A {k: 1}) RETURN n"}`, `{"statement": "UNWIND [1, 0] AS x RETURN 1 / x"}`, `[]`, `{`, ``,
	} {
		for media := range 3 {
			f.Add([]byte(s), media)
		}
	}
	h := newHTTP(newOracle(f), query.Options{Timeout: 50 * time.Millisecond, MaxRows: 1000, QueryBytes: 1 << 20}, Options{})
	f.Fuzz(func(t *testing.T, body []byte, media int) {
		r := newRequest(http.MethodPost, "/v1/query", string(body))
		r.Header.Set("Accept", []string{mediaPlain, mediaLines, mediaTyped}[max(media, -media)%3])
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for line := range strings.Lines(w.Body.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("no JSON: %q", line)
			}
		}
	})
}

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
		params, err := decodeParams(raw, typed)
		if err != nil {
			return
		}
		for name, v := range params {
			write := plainForm.append
			if typed {
				write = typedForm.append
			}
			text := write(nil, v)
			again, err := decodeParams(append(append([]byte(`{"x":`), text...), '}'), typed)
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
		b, err := proto.Marshal(toProto(v))
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
		v, err := fromProto(&p, 0)
		if err != nil {
			return
		}
		again, err := fromProto(toProto(v), 0)
		if err != nil {
			t.Fatalf("%v: %v", &p, err)
		}
		if a, b := typedForm.append(nil, v), typedForm.append(nil, again); string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

// A column that says what does not fit is an error, never a panic.
func FuzzLoadColumn(f *testing.F) {
	add := func(c *pb.LoadColumn) {
		b, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(&pb.LoadColumn{Data: &pb.LoadColumn_Integers{Integers: &pb.IntColumn{Values: []int64{1, 2}}}, Nulls: []byte{2}})
	texts := &pb.LoadColumn{Data: &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: []byte("ab"), Ends: []uint32{1, 2}}}}
	add(texts)
	add(&pb.LoadColumn{Data: &pb.LoadColumn_Lists{Lists: &pb.ListColumn{Elements: texts, Ends: []uint32{0, 2}}}, Nulls: []byte{1}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c pb.LoadColumn
		if proto.Unmarshal(b, &c) != nil {
			return
		}
		values, err := columnFromProto(&c)
		if err != nil {
			return
		}
		for _, v := range values {
			_ = plainForm.append(nil, v)
		}
	})
}

// Lists share one column of elements; what does not fit, or is nested without end, is an error.
func TestListColumn(t *testing.T) {
	texts := &pb.LoadColumn{Data: &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: []byte("abc"), Ends: []uint32{1, 1, 3}}}, Nulls: []byte{2}}
	lists := func(elements *pb.LoadColumn, ends ...uint32) *pb.LoadColumn {
		return &pb.LoadColumn{Data: &pb.LoadColumn_Lists{Lists: &pb.ListColumn{Elements: elements, Ends: ends}}}
	}
	got, err := columnFromProto(lists(lists(texts, 2, 3), 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(plainForm.append(nil, graph.ListValue(got))); s != `[[],[["a",null],["bc"]]]` {
		t.Fatal(s)
	}
	deep := texts
	for range maxParamDepth + 2 {
		deep = lists(deep, 1)
	}
	for _, c := range []*pb.LoadColumn{lists(texts, 4), lists(texts, 2, 1), lists(nil, 1), deep} {
		if _, err := columnFromProto(c); err == nil {
			t.Fatalf("%v: no error", c)
		}
	}
}
