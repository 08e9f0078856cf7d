package httpapi

import (
	"errors"
	"net/http"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// wantsArrow reports whether to answer a fetch as Arrow or Parquet. All other accepted media types get JSON.
func wantsArrow(r *http.Request, method string) (media string, ok bool) {
	f, known := accept(r.Header["Accept"])
	return f.media, known && f.arrow && (method == "get" || method == "gets")
}

// tableRows is how many rows of a fetchTable are encoded at once.
const tableRows = 1024

// fetchTable collects the items of a fetch in columns: one for each member of an item, and one for each member of an object within an item,
// named by both names with a point between. An item without a member has null there. Any item may add a column, so the table must be
// complete before it is sent.
type fetchTable struct {
	out     *fetchWriter
	media   string
	names   []string
	at      map[string]int // column numbers by name
	columns [][]graph.Value
	rows    int
	size    int // of names and values, without their cells
	sent    int // bytes
}

func (t *fetchTable) Begin() { *t = fetchTable{out: t.out, media: t.media, at: map[string]int{}} }

func (t *fetchTable) Add(item []byte) error {
	v, err := wire.DecodeValue(item, nil)
	if err != nil {
		return graph.InternalError("fetch", err)
	}
	if v.Kind() == graph.Map {
		t.add("", v.Map())
	} else {
		t.put("value", v)
	}
	t.rows++
	return nil
}

func (t *fetchTable) Held() int { return t.size + t.rows*len(t.columns)*memory.CellSize }

func (t *fetchTable) add(prefix string, entries []graph.MapEntry) {
	for _, e := range entries {
		if e.Value.Kind() == graph.Map {
			t.add(prefix+e.Key+".", e.Value.Map())
		} else {
			t.put(prefix+e.Key, e.Value)
		}
	}
}

// put sets a cell of the current row. If a name occurs twice, the first value counts.
func (t *fetchTable) put(name string, v graph.Value) {
	i, ok := t.at[name]
	if !ok {
		i = len(t.names)
		t.at[name] = i
		t.names, t.columns = append(t.names, name), append(t.columns, nil)
		t.size += 2*len(name) + 128
	}
	if t.fill(i); len(t.columns[i]) == t.rows {
		t.columns[i] = append(t.columns[i], v)
		t.size += memory.ValueSize(v) - memory.CellSize
	}
}

// fill fills a column with nulls up to the current row.
func (t *fetchTable) fill(i int) {
	for len(t.columns[i]) < t.rows {
		t.columns[i] = append(t.columns[i], graph.Value{})
	}
}

func (t *fetchTable) Send(hold func(bytes int) error) (sent int, began bool, err error) {
	w := t.out.w
	table := arrowstream.New(t.names, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		t.out.sent = true
		return openArrow(w, t.media, http.StatusOK, schema, func() {}, func(bytes int) { t.sent += bytes }, t.out.cond)
	}, func(bytes int) error { return hold(t.Held() + bytes) })
	if err = t.encode(table); errors.Is(err, arrowstream.ErrGone) {
		err = graph.DeadlineError(err)
	}
	return t.sent, t.out.sent, err
}

func (t *fetchTable) encode(to *arrowstream.Writer) error {
	for i := range t.columns {
		t.fill(i)
	}
	b := graph.Batch{Cols: make([]graph.Column, len(t.columns))}
	for from := 0; from < t.rows; from += b.N {
		b.N = min(tableRows, t.rows-from)
		for i, c := range t.columns {
			b.Cols[i].Vals = c[from : from+b.N]
		}
		if err := to.Append(&b); err != nil {
			return err
		}
	}
	return to.Close()
}
