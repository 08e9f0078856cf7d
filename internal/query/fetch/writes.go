package fetch

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// written is the outcome of one member of a writing request.
type written struct {
	key  string
	list bool
	ids  []graph.Value
	n    int
}

// write runs post, put or delete: the members in order, in the transaction of the Runner.
func (x *run) write() error {
	b := bind.New(x.req, x.runner.Catalog())
	done := make(map[string]*written)
	for _, m := range x.req.Doc.Root.Members {
		var w *syntax.Write
		for _, o := range x.req.Writes {
			if o.N == m {
				w = o
			}
		}
		if w == nil {
			x.echo(m)
			continue
		}
		r, err := x.writeOne(b, w, done)
		if err != nil {
			return err
		}
		done[r.key] = r
		x.report(r, b.Key(strings.SplitN(r.key, ":", 2)[0]))
	}
	return nil
}

// echo returns a plain member of the root.
func (x *run) echo(m *syntax.Node) {
	if m.Kind == syntax.JSONNull || syntax.RootWords[m.Key] || strings.HasPrefix(m.Key, "@") || strings.HasSuffix(m.Key, "@") {
		return
	}
	x.w.key(append(notation.AppendJSONString(nil, m.Key), ':'))
	x.w.buf = append(x.w.buf, m.Raw...)
}

// report writes the outcome of a member.
func (x *run) report(r *written, key string) {
	x.w.key(append(notation.AppendJSONString(nil, r.key), ':'))
	d := append(x.w.buf, `{"ok":true,"code":200,"msg":"success","count":`...)
	d = appendInt(d, int64(r.n))
	switch {
	case r.ids == nil:
	case r.list:
		d = append(notation.AppendJSONString(append(d, ','), key+"[]"), ':')
		d = notation.BareJSON.Append(d, graph.ListValue(r.ids))
	default:
		d = append(notation.AppendJSONString(append(d, ','), key), ':')
		d = notation.BareJSON.Append(d, r.ids[0])
	}
	x.w.buf = append(d, '}')
}

// writeOne runs one member.
func (x *run) writeOne(b *bind.Binder, w *syntax.Write, done map[string]*written) (*written, error) {
	r := &written{key: strings.TrimSuffix(w.Key, "[]"), list: w.List}
	label, _ := syntax.SplitAlias(r.key)
	if err := known(x.req, b.Cat, w, label); err != nil {
		return nil, err
	}
	if isEdgeObject(w.Objs[0]) {
		for _, o := range w.Objs {
			n, err := x.writeEdge(b, label, o, done)
			if err != nil {
				return nil, err
			}
			r.n += n
		}
		return r, nil
	}
	if x.req.Method == "post" {
		return r, x.post(b, label, w, r, done)
	}
	for _, o := range w.Objs {
		if err := x.change(b, label, o, r, done, w.List); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// isEdgeObject reports whether an object is an edge, which has its ends.
func isEdgeObject(o *syntax.Node) bool {
	from, to := o.Get("from"), o.Get("to")
	return from != nil && to != nil && from.Kind == syntax.JSONObject && to.Kind == syntax.JSONObject
}

// properties builds a map from an object's members, except those in skip.
func (x *run) properties(o *syntax.Node, done map[string]*written, skip func(*syntax.Node) bool) ([]graph.MapEntry, error) {
	var props []graph.MapEntry
	for _, m := range o.Members {
		if m.Kind == syntax.JSONNull || strings.HasPrefix(m.Key, "@") || skip(m) {
			continue
		}
		key := m.Key
		var v graph.Value
		var err error
		if ref, ok := strings.CutSuffix(m.Key, "@"); ok {
			key = ref
			if v, err = reference(m, done); err != nil {
				return nil, err
			}
		} else if v, err = stored(m); err != nil {
			return nil, err
		}
		if !syntax.IsName(key) {
			return nil, syntax.Illegal(m, "is not a property name")
		}
		props = append(props, graph.MapEntry{Key: key, Value: v})
	}
	return props, nil
}

// reference returns the key that an earlier member wrote: "Moment/id".
func reference(m *syntax.Node, done map[string]*written) (graph.Value, error) {
	if m.Kind != syntax.JSONString {
		return graph.Value{}, syntax.Illegal(m, "must be the path of a reference, was %s", m.What())
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(m.Str(), "/"), "/")
	r := done[key]
	if r == nil || len(r.ids) != 1 {
		return graph.Value{}, syntax.Illegal(m, "refers to nothing that was written before")
	}
	return r.ids[0], nil
}

// stored converts the value of a property.
func stored(n *syntax.Node) (graph.Value, error) {
	switch n.Kind {
	case syntax.JSONObject:
		return graph.Value{}, syntax.Fail(syntax.CodeType, n, "a property holds a text, a number, a boolean or a list of them, not an object")
	case syntax.JSONList:
		list := make([]graph.Value, len(n.Elems))
		for i, e := range n.Elems {
			if e.Kind == syntax.JSONObject || e.Kind == syntax.JSONList || e.Kind == syntax.JSONNull {
				return graph.Value{}, syntax.Fail(syntax.CodeType, n, "a list holds texts, numbers or booleans, not %s", syntax.KindNames[e.Kind])
			}
			list[i] = e.Scalar
		}
		return graph.ListValue(list), nil
	}
	return n.Scalar, nil
}

// post creates vertices.
func (x *run) post(b *bind.Binder, label string, w *syntax.Write, r *written, done map[string]*written) error {
	key := b.Key(label)
	rows := make([]graph.Value, len(w.Objs))
	for i, o := range w.Objs {
		props, err := x.properties(o, done, func(*syntax.Node) bool { return false })
		if err != nil {
			return err
		}
		right, err := x.req.Rights.Check(o, roleOf(o), false, label)
		if err != nil {
			return err
		}
		if props, err = x.own(o, &right, props); err != nil {
			return err
		}
		var id graph.Value
		for _, p := range props {
			if p.Key == key {
				id = p.Value
			}
		}
		if id.IsNull() {
			id = graph.IntValue(newID())
			props = append([]graph.MapEntry{{Key: key, Value: id}}, props...)
		}
		for _, other := range r.ids {
			if fn.Equal(id, other) == fn.True {
				return syntax.Fail(syntax.CodeConflict, o, "the %s %s stands twice in the list", key, notation.BareJSON.Append(nil, id))
			}
		}
		r.ids = append(r.ids, id)
		rows[i] = graph.MapValue(props)
	}
	there, err := x.count(x.cache.findPlan(label, key), graph.ListValue(r.ids))
	if err != nil {
		return err
	}
	if there > 0 {
		return syntax.Fail(syntax.CodeConflict, w.N, "a %s with this %s already exists", label, key)
	}
	r.n, err = x.count(x.cache.createPlan(label), graph.ListValue(rows))
	return err
}

// lastID is the newest key that was made up.
var lastID atomic.Int64

// newID returns a new key: the milliseconds since 1970, or one more than the last.
func newID() int64 {
	for {
		last := lastID.Load()
		id := max(time.Now().UnixMilli(), last+1)
		if lastID.CompareAndSwap(last, id) {
			return id
		}
	}
}

// count runs a plan over rows and counts the rows that it returns.
func (x *run) count(q *plan.Query, rows graph.Value) (int, error) {
	n := 0
	err := x.runner.Run(x.ctx, q, map[string]graph.Value{"rows": rows}, func(b *graph.Batch) error {
		n += b.N
		return nil
	})
	return n, err
}

// delta is "key+" or "key-".
type delta struct {
	n     *syntax.Node
	key   string
	minus bool
	v     graph.Value
}

// change updates or deletes the vertices that an object's conditions find.
func (x *run) change(b *bind.Binder, label string, o *syntax.Node, r *written, done map[string]*written, one bool) error {
	key := b.Key(label)
	isPut := x.req.Method == "put"
	t := &syntax.Table{N: o, Key: label, Label: label}
	p := syntax.TreeParser{Limits: &x.req.Limits}
	var deltas []delta
	set := func(m *syntax.Node) bool { return false }
	if isPut {
		set = func(m *syntax.Node) bool {
			return m.Key != key && syntax.IsName(m.Key)
		}
	}
	keyed, nulls := false, []string(nil)
	for _, m := range o.Members {
		switch {
		case m.Kind == syntax.JSONNull || set(m):
		case m.Key == "@null" && isPut && m.Kind == syntax.JSONString:
			if nulls = syntax.SplitList(m.Str()); slices.Contains(nulls, key) {
				return syntax.Illegal(m, "%q says which to write, so it cannot become null", key)
			}
		case m.Key == "@near", m.Key == "@search":
			return syntax.Unsupported(m, "%s belongs to requests that read", m.Key)
		case m.Key == "@from@", m.Key == "@group", m.Key == "@having", m.Key == "@having&":
			return syntax.Illegal(m, "%s belongs to requests that read", m.Key)
		case strings.HasPrefix(m.Key, "@"):
			if err := p.Word(t, m, 1); err != nil {
				return err
			}
		case isPut && isDelta(m.Key):
			v, err := stored(m)
			if err != nil {
				return err
			}
			deltas = append(deltas, delta{n: m, key: m.Key[:len(m.Key)-1], minus: strings.HasSuffix(m.Key, "-"), v: v})
		default:
			c, err := p.Cond(m, 1)
			if err != nil {
				return err
			}
			if c.Sub != nil || c.Path != "" {
				return syntax.Unsupported(m, "references and subqueries find nothing to write")
			}
			keyed = keyed || c.Name == key && !c.Marked && c.Length == 0 && (c.Op == syntax.OpEqual || c.Op == syntax.OpIn && m.Kind == syntax.JSONList)
			t.Conds = append(t.Conds, c)
		}
	}
	if !keyed {
		return syntax.Illegal(o, "needs %q or a list %q, to say which to write", key, key+"{}")
	}
	if err := t.Finish(); err != nil {
		return err
	}
	if err := t.KeepsKey(key); err != nil {
		return err
	}
	props, err := x.properties(o, done, func(m *syntax.Node) bool { return !set(m) })
	if err != nil {
		return err
	}
	for _, name := range nulls {
		props = append(props, graph.MapEntry{Key: name})
	}
	if isPut && len(props) == 0 && len(deltas) == 0 {
		return syntax.Illegal(o, "changes nothing")
	}
	right, err := x.req.Rights.Check(o, t.Role, false, label)
	if err != nil {
		return err
	}
	for _, d := range deltas {
		if _, err := x.own(o, &right, []graph.MapEntry{{Key: d.key}}); err != nil {
			return err
		}
	}
	if props, err = x.own(o, &right, props); err != nil {
		return err
	}
	rows, err := x.matched(b, t, key, props, deltas)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return syntax.Fail(syntax.CodeCondition, o, "there is no %s that satisfies the conditions", label)
	}
	if one && len(rows) != 1 {
		return syntax.Fail(syntax.CodeCondition, o, "an object of a list must be about one %s, was about %s", label, decimal(len(rows)))
	}
	for _, row := range rows {
		r.ids = append(r.ids, row.List()[0])
	}
	r.list = r.list || o.Get(key) == nil
	q := x.cache.removePlan(label, key)
	if isPut {
		q = x.cache.updatePlan(label, key)
	}
	n, err := x.count(q, graph.ListValue(rows))
	r.n += n
	return err
}

func isDelta(key string) bool {
	return len(key) > 1 && (key[len(key)-1] == '+' || key[len(key)-1] == '-') && syntax.IsName(key[:len(key)-1])
}

// find is the query of the vertices that an object of a writing request is about.
type find struct {
	query   *bind.Query
	params  []bind.Param // of the object's members, counted from its first
	cols    []int        // of the properties that are added to
	never   bool
	props   int
	indexes uint64
}

// matched finds the vertices of a table and builds a row [key, {property: new value}] of each.
func (x *run) matched(b *bind.Binder, t *syntax.Table, key string, props []graph.MapEntry, deltas []delta) ([]graph.Value, error) {
	base := t.N.Members[0].Ord
	shape := string(shapeOf([]byte(x.req.Method+" "+x.req.Rights.Key()+string(x.req.Rights.Role)+" "+t.Label+" "), t.N, "", 1))
	f, err := x.cache.find(shape, b.Cat, func() (*find, error) { return x.find(t, key, deltas, base) })
	if err != nil {
		return nil, err
	}
	for _, p := range f.params {
		if x.params[p.Name], err = valueOf(&p, x.req.Doc.Nodes[base:]); err != nil {
			return nil, err
		}
	}
	if f.never {
		return nil, nil
	}
	var rows []graph.Value
	err = x.query(f.query, func(row []graph.Value) error {
		changes := append([]graph.MapEntry(nil), props...)
		for i, d := range deltas {
			v, err := d.apply(row[f.cols[i]])
			if err != nil {
				return err
			}
			changes = append(changes, graph.MapEntry{Key: d.key, Value: v})
		}
		rows = append(rows, graph.ListValue([]graph.Value{row[0].Clone(), graph.MapValue(changes)}))
		return nil
	})
	return rows, err
}

func (x *run) find(t *syntax.Table, key string, deltas []delta, base int) (*find, error) {
	b := bind.New(x.req, x.runner.Catalog())
	lv := b.Open()
	s, err := b.Rows(lv, nil, t, bind.NewScope(nil, nil))
	if err != nil {
		return nil, err
	}
	v := &plan.ColRef{Col: s.Parts[0].Src.Vertex}
	lv.Outs.Add(&plan.Prop{X: v, Key: key}, key)
	f := &find{query: lv.Query, never: s.Never, props: len(b.Cat.AllProps()), indexes: b.Cat.Version()}
	for _, d := range deltas {
		f.cols = append(f.cols, lv.Outs.Add(&plan.Prop{X: v, Key: d.key}, d.key))
	}
	b.Close(lv, s.Node)
	for _, p := range b.Params {
		p.Ord -= base
		f.params = append(f.params, p)
	}
	return f, nil
}

// apply returns the new value of a property.
func (d *delta) apply(old graph.Value) (graph.Value, error) {
	if old.Kind() == graph.List || old.IsNull() && d.v.Kind() == graph.List {
		return d.list(old)
	}
	bad := syntax.Fail(syntax.CodeType, d.n, "cannot add %s to or take it from this property", d.n.What())
	switch {
	case d.v.IsNumber() && (old.IsNumber() || old.IsNull()):
		if old.IsNull() {
			old = graph.IntValue(0)
		}
		f := fn.Add
		if d.minus {
			f = fn.Sub
		}
		v, err := f(old, d.v)
		if err != nil {
			return v, syntax.Fail(syntax.CodeRange, d.n, "the sum is out of range")
		}
		return v, nil
	case d.v.Kind() == graph.String && (old.Kind() == graph.String || old.IsNull()):
		text := ""
		if !old.IsNull() {
			text = old.Str()
		}
		if d.minus {
			return graph.StringValue(strings.ReplaceAll(text, d.v.Str(), "")), nil
		}
		return graph.StringValue(text + d.v.Str()), nil
	}
	return graph.Value{}, bad
}

// list adds elements to a list or takes them from it.
func (d *delta) list(old graph.Value) (graph.Value, error) {
	elems := []graph.Value{d.v}
	if d.v.Kind() == graph.List {
		elems = d.v.List()
	}
	var list []graph.Value
	if !old.IsNull() {
		list = append(list, old.Clone().List()...)
	}
	for _, e := range elems {
		at := -1
		for i, have := range list {
			if fn.Equal(have, e) == fn.True {
				at = i
			}
		}
		switch {
		case d.minus && at < 0:
			return graph.Value{}, syntax.Fail(syntax.CodeNull, d.n, "%s is not in the list", notation.BareJSON.Append(nil, e))
		case d.minus:
			list = append(list[:at], list[at+1:]...)
		case at >= 0:
			return graph.Value{}, syntax.Fail(syntax.CodeConflict, d.n, "%s is in the list already", notation.BareJSON.Append(nil, e))
		default:
			list = append(list, e)
		}
	}
	return graph.ListValue(list), nil
}

// writeEdge creates, updates or deletes edges between two vertices and returns their number.
func (x *run) writeEdge(b *bind.Binder, typ string, o *syntax.Node, done map[string]*written) (int, error) {
	var ends [2]graph.Value
	var labels [2]string
	for i, name := range [2]string{"from", "to"} {
		n := o.Get(name)
		if n == nil || n.Kind != syntax.JSONObject || len(n.Members) != 1 || !syntax.IsTableKey(n.Members[0].Key) {
			return 0, syntax.Illegal(o, `needs the ends of the edge: "from": {"Label": key}, "to": {"Label": key}`)
		}
		m := n.Members[0]
		if m.Kind != syntax.JSONNumber && m.Kind != syntax.JSONString {
			return 0, syntax.Illegal(m, "must be a key, was %s", m.What())
		}
		if _, ok := b.Cat.Label(m.Key); !ok {
			return 0, syntax.NotFound(m, "there is no label %q", m.Key)
		}
		labels[i], ends[i] = m.Key, m.Scalar
		there, err := x.count(x.cache.findPlan(m.Key, b.Key(m.Key)), graph.ListValue([]graph.Value{m.Scalar}))
		if err != nil {
			return 0, err
		}
		if there == 0 {
			return 0, syntax.Fail(syntax.CodeCondition, m, "there is no %s %s", m.Key, m.What())
		}
	}
	isEnd := func(m *syntax.Node) bool { return m.Key == "from" || m.Key == "to" }
	props, err := x.properties(o, done, isEnd)
	if err != nil {
		return 0, err
	}
	right, err := x.req.Rights.Check(o, roleOf(o), true, typ)
	if err != nil {
		return 0, err
	}
	owned := append([]graph.MapEntry{{Key: "from", Value: ends[0]}, {Key: "to", Value: ends[1]}}, props...)
	if _, err := x.own(o, &right, owned); err != nil {
		return 0, err
	}
	e := edgeNames{typ: typ, from: labels[0], to: labels[1], fromKey: b.Key(labels[0]), toKey: b.Key(labels[1])}
	row := graph.ListValue([]graph.Value{ends[0], ends[1], graph.MapValue(props)})
	switch {
	case x.req.Method == "put" && len(props) == 0:
		return 0, syntax.Illegal(o, "changes nothing")
	case x.req.Method == "delete" && len(props) > 0:
		return 0, syntax.Illegal(o, "the ends alone say which edges to delete, not %q", props[0].Key)
	}
	n, err := x.count(e.plan(x.cache, x.req.Method), graph.ListValue([]graph.Value{row}))
	if err == nil && n == 0 {
		err = syntax.Fail(syntax.CodeCondition, o, "there is no %s between these ends", typ)
	}
	return n, err
}
