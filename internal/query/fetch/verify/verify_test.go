package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// TestRules applies rules to requests. The command rule puts one, whose method, tag and version are arguments, or prints why it cannot; drop
// drops it; list prints all; the others are methods of requests, and print what becomes of a request.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var set *definition.Set
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r := Rule{Structure: d.Input, Version: 1}
			if d.Cmd == "rule" || d.Cmd == "drop" {
				d.ScanArgs(t, "method", &r.Method)
				d.MaybeScanArgs(t, "tag", &r.Tag)
				var version int
				if d.MaybeScanArgs(t, "version", &version) {
					r.Version = int64(version)
				}
			}
			var err error
			switch d.Cmd {
			case "rule":
				var c definition.Change
				if c, err = Put(r); err == nil {
					set, _, err = set.Apply(c)
				}
				if err != nil {
					return err.Error()
				}
				return "ok"
			case "drop":
				set, _, err = set.Apply(Drop(r.Method, r.Tag, r.Version))
				require.NoError(t, err)
				return "ok"
			case "list":
				var b strings.Builder
				for _, r := range Of(set) {
					fmt.Fprintln(&b, r.Method, r.Tag, r.Version, r.Structure)
				}
				return b.String()
			}
			out, err := applyTo(set, d.Cmd, d.Input)
			if e, ok := errors.AsType[*syntax.Error](err); ok {
				return fmt.Sprintf("%d %v", e.Code, e)
			}
			require.NoError(t, err)
			if out == nil {
				return "as it is"
			}
			return string(out)
		})
	})
}

func applyTo(set *definition.Set, method, body string) ([]byte, error) {
	r, err := syntax.Parse(method, []byte(body), syntax.Limits{}, nil, nil)
	if err != nil {
		return nil, err
	}
	var out []byte
	_, lookups, err := Apply(Of(set), r, func(body []byte) (*syntax.Request, error) {
		out = body
		return r, nil
	})
	for i := range lookups {
		out = append(out, fmt.Sprintf("\nunique %t: ", lookups[i].Unique)...)
		out = append(out, lookups[i].Body("id")...)
	}
	return out, err
}

// FuzzRules puts arbitrary rules and applies them to arbitrary requests: what comes out is JSON, and what is stored reads back.
func FuzzRules(f *testing.F) {
	for _, s := range [][2]string{
		{`{"MUST": "a", "REFUSE": "!", "TYPE": {"a": "NUMBER[]"}, "INSERT": {"b": {"c": [1]}}}`, `{"tag": "T", "T": {"a": [1]}}`},
		{`{"T[]": [{"VERIFY": {"a&{}": ">0,<=10", "b~": ["x", "y"], "c!{L}": ">3", "d<>": 1, "e$": "a%"}}]}`, `{"tag": "T", "T[]": [{"a": 3, "b": "x", "c": "é", "d": [1], "e": "ab"}]}`},
		{`{"REMOVE": "x", "UPDATE": {"y": 1}, "REPLACE": {"z": null}}`, `{"tag": "T", "version": 2, "T": {"x": 1, "z": 2, "y@": "T/z"}}`},
		{`{"VERIFY": {"~": "("}}`, `{}`},
		{`[]`, `{"tag": 1}`},
		{`{"EXIST": "a", "UNIQUE": "b,id"}`, `{"tag": "T", "T": {"a": 1, "b": "x", "id{}": [1]}}`},
		{`{"a[]": [], "IF": {}}`, ``},
	} {
		f.Add(s[0], s[1], 0)
	}
	f.Fuzz(func(t *testing.T, structure, body string, method int) {
		r := Rule{Method: methods[uint(method)%uint(len(methods))], Tag: "T", Version: 1, Structure: structure}
		c, err := Put(r)
		if err != nil {
			return
		}
		set, _, err := (*definition.Set)(nil).Apply(c)
		require.NoError(t, err)
		require.Equal(t, structure, Of(set)[0].Structure)
		if out, err := applyTo(set, r.Method, body); err == nil && out != nil {
			for i, text := range strings.Split(string(out), "\nunique ") {
				if _, body, ok := strings.Cut(text, ": "); i > 0 && ok {
					text = body
				}
				if text != "" {
					require.True(t, json.Valid([]byte(text)), "%s", text)
				}
			}
		}
	})
}
