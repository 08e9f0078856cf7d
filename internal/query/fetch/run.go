package fetch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// errLimitReached ends a query whose first row is all that counts.
var errLimitReached = errors.New("enough")

// Explainer is a Runner that can describe the final form of a plan, for @explain.
type Explainer interface {
	Explain(ctx context.Context, q *plan.Query) (string, error)
}

// Reuser is a Runner whose client may have the answer.
type Reuser interface {
	// Unmodified reports whether the client has the answer of a reading request. Apart from the text of the request, the answer depends on the
	// rows of plans, of which all or some run, and on what the access rules need to know of the caller. It is called before the first plan of
	// the answer runs.
	Unmodified(ctx context.Context, plans func() []*plan.Query, caller map[string]graph.Value) (bool, error)
}

// errUnmodified ends a request whose client has the answer.
var errUnmodified = errors.New("unmodified")

// run is one run of a request.
type run struct {
	ctx    context.Context
	req    *syntax.Request
	runner Runner
	cache  *Cache
	params map[string]graph.Value
	texts  []madeText // results of hidden queries
	plans  []byte     // of arrays, for @explain
	w      writer
	items  func(item []byte) error // takes the items of the one array; nil: w takes the answer
	item   []byte                  // for it
	row    []graph.Value
	rows   int // written so far, including nested ones
	start  time.Time
	page   Pager       // or nil
	paged  *bind.Query // its array's
}

// madeText is the result of a hidden query. Its rows count each time they are written.
type madeText struct {
	text    []byte
	rows    int
	written bool
}

// Result is the outcome of a run.
type Result struct {
	// Began reports whether bytes were written before the error: the answer cannot be withdrawn.
	Began bool
	// Unmodified says that a Reuser has found that the client has the answer: nothing was written.
	Unmodified bool
	Rows       int
}

// Run runs the request and writes the answer to w in pieces of about 32 KiB. If it fails before it writes the first piece,
// Result.Began is false, and Failure builds the answer. cache may be nil. Every error is an *Error.
func Run(ctx context.Context, r *syntax.Request, runner Runner, cache *Cache, w io.Writer) (Result, error) {
	x := start(ctx, r, runner, cache, w)
	err := x.all()
	if err == nil {
		x.envelope()
		if err = x.w.flush(); err == nil {
			_, err = w.Write(x.w.buf)
			x.w.began = true
		}
	}
	res := Result{Began: x.w.began, Rows: x.rows, Unmodified: errors.Is(err, errUnmodified)}
	if err != nil && !res.Unmodified {
		return res, syntax.AsError(err)
	}
	return res, nil
}

func start(ctx context.Context, r *syntax.Request, runner Runner, cache *Cache, w io.Writer) *run {
	x := &run{ctx: ctx, req: r, runner: runner, cache: cache, start: time.Now(), params: make(map[string]graph.Value)}
	x.w = writer{w: w, run: x, buf: append(make([]byte, 0, 4<<10), '{')}
	if p, ok := runner.(Paged); ok {
		x.page = p.Page()
	}
	return x
}

func (x *run) all() (err error) {
	defer steps.Catch(&err)
	if err := x.identify(); err != nil {
		return err
	}
	if x.req.Root == nil {
		return x.write()
	}
	prog, err := x.cache.program(x.req, x.runner.Catalog(), x.page)
	if err != nil {
		return err
	}
	if n := arrays(prog.Members); x.items != nil && n != 1 {
		return &syntax.Error{Code: syntax.CodeArgument, Msg: "an answer as a table holds the items of one array, such as \"User[]\", and the request has " + decimal(n)}
	}
	if u, ok := x.runner.(Reuser); ok && !explains(prog.Members) {
		same, err := u.Unmodified(x.ctx, func() []*plan.Query { return plansOf(prog.Members, nil) }, x.params)
		if err == nil && same {
			err = errUnmodified
		}
		if err != nil {
			return err
		}
	}
	if err := x.lift(prog.Params); err != nil {
		return err
	}
	if x.page != nil {
		if err := x.paginate(prog); err != nil {
			return err
		}
	}
	return x.members(prog.Members)
}

// envelope ends the answer.
func (x *run) envelope() {
	b := x.w.buf
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	if x.plans != nil {
		b = append(append(append(b, `"@explain":{`...), x.plans...), "},"...)
	}
	b = append(x.nextPage(b), `"ok":true,"code":200,"msg":"success","time":`...)
	x.w.buf = append(appendInt(b, time.Since(x.start).Milliseconds()), '}')
}

// Failure returns the answer of a request that failed: the request with the error added.
func Failure(body []byte, err error, took time.Duration) []byte {
	e := syntax.AsError(err)
	b := []byte{'{'}
	if e.Unread {
		body = nil
	}
	if doc, err := syntax.ParseJSON(body, nil, nil); err == nil {
		for _, m := range doc.Root.Members {
			switch m.Key {
			case "ok", "code", "msg", "time":
				continue
			}
			b = append(append(notation.AppendJSONString(b, m.Key), ':'), m.Raw...)
			b = append(b, ',')
		}
	}
	b = append(b, `"ok":false,"code":`...)
	b = appendInt(b, int64(e.Code))
	b = append(b, `,"msg":`...)
	b = notation.AppendJSONString(b, e.Error())
	b = append(b, `,"time":`...)
	return append(appendInt(b, took.Milliseconds()), '}')
}

// members runs and writes the members of an object.
func (x *run) members(members []*bind.Output) error {
	for _, m := range members {
		for _, q := range m.Before {
			if err := x.prepare(q); err != nil {
				return err
			}
		}
		if err := x.member(m); err != nil {
			return err
		}
		if err := x.w.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (x *run) member(m *bind.Output) error {
	w := &x.w
	switch m.Kind {
	case bind.OutText:
		w.key(m.Lit)
		w.buf = append(w.buf, x.req.Doc.Nodes[m.Ord].Raw...)
	case bind.OutSlot:
		if v := x.params[m.Slot]; !v.IsNull() {
			w.key(m.Lit)
			if m.Page != nil {
				w.buf = x.appendInfo(w.buf, m.Page, v)
			} else {
				w.buf = notation.BareJSON.Append(w.buf, v)
			}
		}
	case bind.OutEmpty:
		w.key(m.Lit)
		w.buf = append(w.buf, "{}"...)
	case bind.OutObject:
		w.begin(m.Lit)
		if err := x.members(m.Members); err != nil {
			return err
		}
		w.end()
	case bind.OutTable:
		return x.query(m.Query, func(row []graph.Value) error {
			w.key(m.Lit)
			w.buf = append(w.fields(append(w.buf, '{'), m.Fields, row), '}')
			return x.explain(m)
		})
	case bind.OutHead:
		return x.query(m.Query, func(row []graph.Value) error {
			w.key(m.Lit)
			w.buf = append(w.buf, `{"ok":true,"code":200,"msg":"success","count":`...)
			w.buf = append(notation.BareJSON.Append(w.buf, row[m.Fields[0].Col]), '}')
			return nil
		})
	case bind.OutArray:
		return x.array(m)
	case bind.OutHidden:
		if m.Query != nil {
			return x.query(m.Query, nil)
		}
	}
	return nil
}

// explain adds the plan of a table to its object, which was written last.
func (x *run) explain(m *bind.Output) error {
	if !m.Explain {
		return nil
	}
	lines, err := x.plan(m.Query)
	if lines == nil || err != nil {
		return err
	}
	b := x.w.buf[:len(x.w.buf)-1]
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, `"@explain":`...), lines...)
	x.w.buf = append(b, '}')
	return nil
}

// plan is the plan of a query as JSON, {"list": [a line, …]}; nil where the Runner cannot show it.
func (x *run) plan(q *bind.Query) ([]byte, error) {
	e, ok := x.runner.(Explainer)
	if !ok {
		return nil, nil
	}
	text, err := e.Explain(x.ctx, q.Q)
	if err != nil {
		return nil, err
	}
	b := []byte(`{"list":[`)
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			b = append(b, ',')
		}
		b = notation.AppendJSONString(b, line)
	}
	return append(b, "]}"...), nil
}

// array runs and writes an array.
func (x *run) array(m *bind.Output) error {
	w := &x.w
	if m.Page != nil {
		total := x.params[m.Page.Slot]
		if m.Page.Total != nil && !total.IsNull() {
			w.key(m.Page.Total)
			w.buf = notation.BareJSON.Append(w.buf, total)
			w.key(m.Page.Info)
			w.buf = x.appendInfo(w.buf, m.Page, total)
		}
	}
	if m.Query == nil {
		return nil
	}
	if x.items != nil {
		return x.query(m.Query, func(row []graph.Value) error {
			if x.item = w.element(append(x.item[:0], '['), m.Elem, row); len(x.item) == 1 {
				return nil
			}
			return x.items(x.item[1:])
		})
	}
	began := false
	err := x.query(m.Query, func(row []graph.Value) error {
		if !began {
			if m.Elem.None(row) {
				return nil
			}
			began = true
			w.key(m.Lit)
			w.buf = append(w.buf, '[')
		}
		w.buf = w.element(w.buf, m.Elem, row)
		return w.spill()
	})
	if began {
		w.buf = append(w.buf, ']')
	}
	if err != nil || !m.Explain {
		return err
	}
	lines, err := x.plan(m.Query)
	if lines != nil { // the plans of arrays are at the end of the answer
		if x.plans != nil {
			x.plans = append(x.plans, ',')
		}
		x.plans = append(append(x.plans, m.Lit...), lines...)
	}
	return err
}

// prepare runs a query whose rows are written elsewhere.
func (x *run) prepare(q *bind.Query) error {
	h := q.Hidden
	if h == nil {
		return x.query(q, nil)
	}
	for len(x.texts) <= h.Slot {
		x.texts = append(x.texts, madeText{})
	}
	var text []byte
	before := x.rows
	err := x.query(q, func(row []graph.Value) error {
		if h.Elem == nil {
			text = append(x.w.fields([]byte{'{'}, h.Fields, row), '}')
			return nil
		}
		if text == nil {
			text = []byte{'['}
		}
		text = x.w.element(text, h.Elem, row)
		return nil
	})
	if h.Elem != nil && len(text) == 1 {
		text = nil
	} else if h.Elem != nil && text != nil {
		text = append(text, ']')
	}
	x.texts[h.Slot] = madeText{text: text, rows: x.rows - before}
	return err
}

// query runs a query, builds the parameters that depend on it, and passes each row to write, which may be nil.
func (x *run) query(q *bind.Query, write func(row []graph.Value) error) error {
	for _, t := range q.Takes {
		switch t.Kind {
		case bind.TakeExists:
			x.params[t.Slot] = graph.BoolValue(false)
		case bind.TakeList:
			x.params[t.Slot] = graph.ListValue(nil)
		default:
			x.params[t.Slot] = graph.Value{}
		}
	}
	if q.Never {
		return nil
	}
	for _, slot := range q.Needs {
		if v := x.params[slot]; v.IsNull() {
			return nil
		}
	}
	takers := make([]taker, len(q.Takes))
	for i := range takers {
		takers[i].take = &q.Takes[i]
	}
	n := 0
	limit := x.req.Limits.Rows
	err := x.runner.Run(x.ctx, q.Q, x.params, func(b *graph.Batch) error {
		if q == x.paged && x.page != nil {
			var err error
			if b, err = x.page.Take(q.Q.Names, b); b == nil {
				return err
			}
		}
		if cap(x.row) < len(b.Cols) {
			x.row = make([]graph.Value, len(b.Cols))
		}
		row := x.row[:len(b.Cols)]
		for i := range b.N {
			for c := range b.Cols {
				row[c] = b.Cols[c].Value(i)
			}
			for t := range takers {
				if err := takers[t].row(n, row); err != nil {
					return err
				}
			}
			n++
			if x.rows++; x.rows > limit {
				return &syntax.Error{Code: syntax.CodeBudget, Msg: "the answer has more rows than the " + decimal(limit) + " of fetch-rows"}
			}
			if write != nil {
				if err := write(row); err != nil {
					return err
				}
			}
			if q.First {
				return errLimitReached
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errLimitReached) {
		return err
	}
	for i := range takers {
		takers[i].end(x.params)
	}
	return nil
}

func decimal(i int) string { return string(appendInt(nil, int64(i))) }

// taker collects rows into a parameter.
type taker struct {
	take   *bind.Take
	v      graph.Value
	list   []graph.Value
	seen   bool
	isNull bool
}

func (t *taker) row(n int, row []graph.Value) error {
	v := row[t.take.Col]
	switch t.take.Kind {
	case bind.TakeFirst:
		if n == 0 {
			t.v = v
		}
	case bind.TakeRow:
		if n == t.take.Row {
			t.v = v
		}
	case bind.TakeList:
		if !v.IsNull() {
			t.list = append(t.list, v)
		}
	case bind.TakeSingle:
		if n == 1 {
			return &syntax.Error{Code: syntax.CodeArgument, Path: t.take.Path, Msg: "the subquery gives more than one row"}
		}
		t.v = v
	case bind.TakeExists:
		t.seen = true
	case bind.TakeLeast, bind.TakeMost:
		switch {
		case v.IsNull():
			t.isNull = true
		case !t.seen:
			t.v, t.seen = v, true
		default:
			if c, ok := fn.Compare(v, t.v); ok && (c < 0) == (t.take.Kind == bind.TakeLeast) {
				t.v = v
			}
		}
	}
	return nil
}

func (t *taker) end(params map[string]graph.Value) {
	switch t.take.Kind {
	case bind.TakeList:
		params[t.take.Slot] = graph.ListValue(t.list)
	case bind.TakeExists:
		params[t.take.Slot] = graph.BoolValue(t.seen)
	default:
		if t.take.Strict && t.isNull {
			t.v = graph.Value{}
		}
		params[t.take.Slot] = t.v
	}
}

// appendInfo writes the "info" object of an array.
func (x *run) appendInfo(dst []byte, pg *bind.Paging, v graph.Value) []byte {
	if v.Kind() != graph.Int {
		return dst
	}
	total, count, page := v.Int(), pg.Count, int64(0)
	if pg.CountOrd >= 0 {
		count, _ = syntax.WholeNumber(x.req.Doc.Nodes[pg.CountOrd])
	}
	if pg.PageOrd >= 0 {
		page, _ = syntax.WholeNumber(x.req.Doc.Nodes[pg.PageOrd])
	}
	if count == 0 {
		count = max(total, 1)
	}
	last := max((total-1)/count, 0)
	number := func(key string, i int64) {
		dst = appendInt(append(dst, key...), i)
	}
	flag := func(key string, b bool) {
		dst = append(dst, key...)
		if b {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	}
	number(`{"total":`, total)
	number(`,"count":`, count)
	number(`,"page":`, page)
	number(`,"max":`, last)
	flag(`,"more":`, page < last)
	flag(`,"first":`, page == 0)
	flag(`,"last":`, page == last)
	return append(dst, '}')
}

// lift builds the parameters of the request's values.
func (x *run) lift(params []bind.Param) error {
	for _, p := range params {
		v, err := valueOf(&p, x.req.Doc.Nodes)
		if err != nil {
			return err
		}
		x.params[p.Name] = v
	}
	return nil
}

func valueOf(p *bind.Param, nodes []*syntax.Node) (graph.Value, error) {
	n := nodes[p.Ord]
	if p.Elem >= 0 {
		n = n.Elems[p.Elem]
	}
	switch p.Kind {
	case bind.ParamNumber:
		if n.Kind == syntax.JSONString {
			return syntax.Numeric(n.Str()), nil
		}
	case bind.ParamInt:
		if n.Scalar.Bool() {
			return graph.IntValue(1), nil
		}
		return graph.IntValue(0), nil
	case bind.ParamID:
		return keyValue(n.Scalar), nil
	case bind.ParamIDNum:
		return keyValue(syntax.Numeric(n.Str())), nil
	case bind.ParamList, bind.ParamIDList:
		return listValue(n, p.Kind == bind.ParamIDList), nil
	case bind.ParamLike:
		return graph.StringValue(likePattern(n.Str(), p)), nil
	case bind.ParamSkip:
		page, _ := syntax.WholeNumber(n)
		count := p.Count
		if p.Ord2 >= 0 {
			count, _ = syntax.WholeNumber(nodes[p.Ord2])
		}
		if page > 0 && count > (1<<62)/page {
			return graph.Value{}, syntax.Fail(syntax.CodeRange, n, "page times count is out of range")
		}
		return graph.IntValue(page * count), nil
	}
	return n.Scalar, nil
}

// keyValue returns null for a value that cannot be an id.
func keyValue(v graph.Value) graph.Value {
	if v.IsNumber() && v.Number() <= 0 || v.Kind() == graph.String && strings.TrimSpace(v.Str()) == "" {
		return graph.Value{}
	}
	return v
}

// listValue builds a list. For a string that means a number, it contains the number too.
func listValue(n *syntax.Node, key bool) graph.Value {
	elems := n.Elems
	if n.Kind != syntax.JSONList {
		elems = []*syntax.Node{n}
	}
	list := make([]graph.Value, 0, len(elems))
	for _, e := range elems {
		if e.Kind == syntax.JSONList || e.Kind == syntax.JSONObject {
			continue
		}
		v := e.Scalar
		if key {
			if v = keyValue(v); v.IsNull() {
				continue
			}
		}
		list = append(list, v)
		if v.Kind() == graph.String {
			if num := syntax.Numeric(v.Str()); !num.IsNull() && (!key || num.Number() > 0) {
				list = append(list, num)
			}
		}
	}
	return graph.ListValue(list)
}

// likePattern returns the pattern of a LIKE condition, in which \ quotes.
func likePattern(s string, p *bind.Param) string {
	if !p.Quote {
		return s
	}
	var b strings.Builder
	if p.Left != 0 {
		b.WriteByte(p.Left)
	}
	for i := range len(s) {
		switch s[i] {
		case '%', '_', '\\':
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	if p.Right != 0 {
		b.WriteByte(p.Right)
	}
	return b.String()
}

// Runner runs the plans of one request over one transaction.
type Runner interface {
	// Catalog knows the names of the graph.
	Catalog() graph.Catalog
	// Run prepares and runs a plan and passes its rows, the columns q.Out, to sink, which must not retain the batch. Vertices, edges
	// and paths in them have their records. All requests of one shape pass the same q, so its prepared form can be cached by its
	// address; q does not change after its first run. A sink may end the run early with an error such as errEnough: Run returns the
	// sink's error unchanged.
	Run(ctx context.Context, q *plan.Query, params map[string]graph.Value, sink func(*graph.Batch) error) error
}
