package fetch_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestArrayIsItsItems compares an array's answer with the answers for its items one by one, children included.
func TestArrayIsItsItems(t *testing.T) {
	for _, batch := range []int{1, 3, 0} {
		w := newWorld(t, 3)
		w.batch = batch
		w.load(small)
		for label, inside := range map[string]string{
			"User": `"User": {"@column": "id,name;degree(>KNOWS):n"%s}, "Moment[]": {"count": 2, "Moment": {"userId@": "[]/User/id", "@order": "id-"}},
				"User:f[]": {"hop": ">KNOWS", "depth": "1..2", "KNOWS": {"@column": "since"}, "User:f": {"@column": "id,@depth"}}`,
			"Comment": `"Comment": {"@column": "id,momentId,userId"%s}, "Moment": {"id@": "/Comment/momentId"}, "User": {"id@": "/Moment/userId"},
				"Comment:c[]": {"query": 2, "count": 1, "Comment:c": {"momentId@": "[]/Moment/id", "@order": "id-"}}`,
		} {
			all := items(t, w.fetch("get", fmt.Sprintf(`{"[]": {"count": 0, %s}}`, fmt.Sprintf(inside, `, "@order": "id+"`))))
			if len(all) < 5 {
				t.Fatal("too few items to compare: ", len(all))
			}
			for _, item := range all {
				var row map[string]struct{ ID int }
				if err := json.Unmarshal(item, &row); err != nil {
					var rows map[string]json.RawMessage
					if err := json.Unmarshal(item, &rows); err != nil {
						t.Fatal(err)
					}
					row = map[string]struct{ ID int }{}
					var main struct{ ID int }
					if err := json.Unmarshal(rows[label], &main); err != nil {
						t.Fatal(err)
					}
					row[label] = main
				}
				one := items(t, w.fetch("get", fmt.Sprintf(`{"[]": {%s}}`, fmt.Sprintf(inside, fmt.Sprintf(`, "id": %d`, row[label].ID)))))
				if len(one) != 1 || string(one[0]) != string(item) {
					t.Errorf("batch %d: %s\nin the array %s\nby itself    %s", batch, label, item, one)
				}
			}
		}
	}
}

func items(t *testing.T, answer string) []json.RawMessage {
	t.Helper()
	var a struct {
		Items []json.RawMessage `json:"[]"`
		Msg   string
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || a.Msg != "success" {
		t.Fatalf("%v %s", err, answer)
	}
	return a.Items
}

// Requests that differ only in values have one plan, unless the values decide how to bind them.
func TestPlansAreShared(t *testing.T) {
	for _, c := range []struct {
		a, b string
		one  bool
	}{
		{`{"User": {"id": 1}}`, `{"User": {"id": 2}}`, true},
		{`{"User": {"name": "a"}}`, `{"User": {"name": "b"}}`, true},
		{`{"User": {"name": "a"}}`, `{"User": {"name": 1}}`, false},
		{`{"User[]": {"count": 2, "User": {"id>": 1}}}`, `{"User[]": {"count": 3, "User": {"id>": 2}}}`, true},
		{`{"User[]": {"count": 0, "User": {}}}`, `{"User[]": {"count": 3, "User": {}}}`, false},
		{`{"User[]": {"User": {"id{}": [1]}}}`, `{"User[]": {"User": {"id{}": [1, 2]}}}`, true},
		{`{"User[]": {"User": {"id{}": [1]}}}`, `{"User[]": {"User": {"id{}": []}}}`, false},
		{`{"User[]": {"User": {"@order": "id+"}}}`, `{"User[]": {"User": {"@order": "id-"}}}`, false},
		{`{"version": 1, "User": {"id": 1}}`, `{"version": 2, "User": {"id": 1}}`, true},
		{`{"format": true, "User": {"id": 1}}`, `{"format": false, "User": {"id": 1}}`, false},
	} {
		w := newWorld(t, 1)
		w.load(small)
		w.fetch("get", c.a)
		n := len(w.plans)
		w.fetch("get", c.b)
		if one := len(w.plans) == n; n == 0 || one != c.one {
			t.Errorf("%d plans for %s, %d with %s", n, c.a, len(w.plans), c.b)
		}
	}
}
