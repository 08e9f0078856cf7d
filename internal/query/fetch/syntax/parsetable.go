package syntax

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
)

// DepthColumn is the distance of a vertex from the start of a hop.
const DepthColumn = "@depth"

// ScoreColumn is the score of a row of a table with @near or @search.
const ScoreColumn = "@score"

// Table reads "Label:alias": {…}.
func (p *TreeParser) Table(n *Node, depth int) (*Table, error) {
	t := &Table{N: n, Key: n.Key}
	t.Label, _ = SplitAlias(n.Key)
	var h hopWords
	objects, arrays := 0, 0
	if raw := n.Get("@raw"); raw != nil { // the table's other keywords may bind values used only with it
		return nil, Unsupported(raw, "the word @raw is not supported")
	}
	for _, m := range n.Members {
		if p.steps.Add(1); m.Kind == JSONNull {
			continue
		}
		switch {
		case strings.HasSuffix(m.Key, "()"):
			c, err := p.function(m)
			if err != nil {
				return nil, err
			}
			t.Members = append(t.Members, c)
		case strings.HasPrefix(m.Key, "@"):
			if h.take(m.Key[1:], m) {
				continue
			}
			if err := p.Word(t, m, depth); err != nil {
				return nil, err
			}
		case m.Kind == JSONObject && !strings.HasSuffix(m.Key, "@") && !strings.HasSuffix(m.Key, "<>"):
			c, err := p.member(m, depth, false)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			if c.Kind == MemberObject {
				return nil, Illegal(m, "an object in a table must be a table or an array")
			}
			if err := p.count(c, &objects, &arrays); err != nil {
				return nil, err
			}
			t.Members = append(t.Members, c)
		default:
			c, err := p.Cond(m, depth)
			if err != nil {
				return nil, err
			}
			t.Conds = append(t.Conds, c)
		}
	}
	inOrder(t.Members)
	var err error
	if t.Hop, t.Must, err = h.make(p.Limits); err != nil {
		return nil, err
	}
	if n := t.size(); n > maxParts {
		return nil, Illegal(t.N, "has %d columns, conditions and values of lists in them, more than %d", n, maxParts)
	}
	return t, t.Finish()
}

// maxParts bounds the columns and conditions of a table, and maxWord the text of a word, whose parts binding compares with each other.
const (
	maxParts = 2_000
	maxWord  = 1 << 16
)

// size is the number of parts of a table that are bound one by one.
func (t *Table) size() int {
	n := len(t.Conds) + len(t.Columns) + len(t.Except) + len(t.Group) + len(t.Order) + len(t.Having) + len(t.Custom) + len(t.Members)
	for _, c := range t.Conds {
		if !Lifted(c.N.Key, c.N, 2) {
			n += len(c.N.Elems)
		}
	}
	return n
}

// short checks the length of a text that is read as more than a value.
func (p *TreeParser) short(m *Node) error {
	if m.Kind != JSONString {
		return nil
	}
	n := len(m.Str())
	if p.steps.Add(n / 16); n > maxWord {
		return Illegal(m, "has %d bytes, more than %d", n, maxWord)
	}
	return nil
}

// Finish checks conditions that involve several members.
func (t *Table) Finish() error {
	if t.Ranked() {
		if m := cmp.Or(t.N.Get("@order"), t.N.Get("@group")); m != nil || t.Distinct {
			return Illegal(cmp.Or(m, t.N.Get("@near"), t.N.Get("@search")),
				"the rows of @near and @search come one by one, the best first: they exclude @order, @group and DISTINCT")
		}
	}
	if m := t.N.Get("@combine"); m != nil {
		c, err := t.parseCombine(m)
		if err != nil {
			return err
		}
		t.Combine = c
	}
	for _, c := range t.Conds {
		if c.IsIt {
			if o := t.cond(c.Name); o != nil {
				return Illegal(c.N, "%s is null here and has a value as well", c.Name)
			}
		}
	}
	return nil
}

// Word reads a word of a table, a key that begins with @.
func (p *TreeParser) Word(t *Table, m *Node, depth int) error {
	if err := p.short(m); err != nil {
		return err
	}
	switch m.Key {
	case "@from@":
		if m.Kind == JSONString {
			if t.From = p.subs[m.Str()]; t.From == nil {
				return Illegal(m, "there is no subquery %q above", m.Str())
			}
			return nil
		}
		if m.Kind != JSONObject {
			return Illegal(m, "must be a subquery or the name of one, was %s", m.What())
		}
		sub, err := p.subquery(m, depth+1)
		t.From = sub
		return err
	case "@near":
		return t.parseNear(m)
	case "@search":
		return t.parseSearch(m)
	case "@having":
		return t.parseHaving(m, false)
	case "@having&":
		return t.parseHaving(m, true)
	case "@key":
		return t.parseKeys(m)
	case "@drop":
		return flag(m, &t.Drop)
	case "@explain":
		return flag(m, &t.Explain)
	case "@try":
		return flag(m, &t.Try)
	case "@combine", "@column", "@group", "@order", "@cast", "@json", "@null", "@role":
		if m.Kind != JSONString {
			return Illegal(m, "must be a text, was %s", m.What())
		}
	case "@database":
		if m.Kind == JSONString && !databases[m.Str()] {
			return Fail(CodeType, m, "there is no database %s", m.What())
		}
		return nil
	case "@schema", "@datasource", "@namespace", "@catalog", "@cache", "@string", "@trim":
		return nil
	case "@sample", "@latest", "@partition", "@fill", "@method", "@get", "@gets", "@head", "@heads", "@post", "@put", "@delete":
		return Unsupported(m, "the word %s is not supported", m.Key)
	default:
		if strings.HasSuffix(m.Key, "@") || m.Kind == JSONObject || m.Kind == JSONList {
			return Illegal(m, "there is no word %s", m.Key)
		}
		t.Custom = append(t.Custom, m)
		return nil
	}
	s := m.Str()
	switch m.Key {
	case "@column":
		return t.parseColumns(m, s)
	case "@group":
		return t.parseGroup(m, s)
	case "@order":
		return t.parseOrder(m, s)
	case "@cast":
		return t.parseCast(m, s)
	case "@json":
		t.JSON = make(map[string]bool)
		for _, k := range SplitList(s) {
			t.JSON[k] = true
		}
	case "@null":
		for _, k := range SplitList(s) {
			if !IsName(k) {
				return Illegal(m, "%q is no name", k)
			}
			t.Conds = append(t.Conds, &Cond{N: m, Key: k, condKey: condKey{Name: k}, IsIt: true})
		}
	case "@role":
		t.Role = m
		return checkRole(m)
	}
	return nil
}

// checkRole checks a role's name.
func checkRole(m *Node) error {
	if m.Kind != JSONString || !slices.Contains(roles, Role(m.Str())) {
		return Illegal(m, "must be one of UNKNOWN, LOGIN, CONTACT, CIRCLE, OWNER and ADMIN, was %s", m.What())
	}
	return nil
}

// databases are the database kinds that clients of the protocol may name. They have no effect here.
var databases = func() map[string]bool {
	all := make(map[string]bool)
	for name := range strings.FieldsSeq(`MYSQL POSTGRESQL SQLITE ORACLE SQLSERVER MARIADB TIDB COCKROACHDB DAMENG KINGBASE
		ELASTICSEARCH MANTICORE CLICKHOUSE HIVE PRESTO TRINO DORIS STARROCKS MILVUS INFLUXDB TDENGINE TIMESCALEDB QUESTDB IOTDB REDIS
		MONGODB CASSANDRA KAFKA SNOWFLAKE DATABEND DATABRICKS DB2 OPENGAUSS DUCKDB SURREALDB MQ`) {
		all[name] = true
	}
	return all
}()

func flag(m *Node, to *bool) error {
	if m.Kind != JSONBool {
		return Illegal(m, "must be true or false, was %s", m.What())
	}
	*to = m.Scalar.Bool()
	return nil
}

// SplitList splits at commas, and drops blanks and empty parts.
func SplitList(s string) []string {
	var parts []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// Cond reads a condition.
func (p *TreeParser) Cond(m *Node, depth int) (*Cond, error) {
	k, reason := parseCondKey(m.Key)
	if reason != "" {
		return nil, Illegal(m, "%s", reason)
	}
	c := &Cond{N: m, Key: strings.TrimSuffix(m.Key, "@"), condKey: k}
	if k.ref {
		switch m.Kind {
		case JSONString:
			if k.Op == OpExists {
				break // the name of a subquery
			}
			fallthrough
		default:
			if m.Kind != JSONString && m.Kind != JSONObject {
				return nil, Illegal(m, "must be the path of a reference or a subquery, was %s", m.What())
			}
		}
		if m.Kind == JSONString {
			if c.Path = m.Str(); c.Path == "" {
				return nil, Illegal(m, "must be the path of a reference, was empty")
			}
			return c, nil
		}
		switch k.Op {
		case OpEqual, OpGreater, OpGreaterEqual, OpLess, OpLessEqual, OpIn, OpExists, OpContains:
		default:
			return nil, Unsupported(m, "no subquery can stand here")
		}
		sub, err := p.subquery(m, depth+1)
		c.Sub = sub
		return c, err
	}
	p.steps.Add(1 + len(m.Elems))
	if c.Op == OpIn {
		if err := p.short(m); err != nil {
			return nil, err
		}
	}
	return c, CheckCond(c, m)
}

// CheckCond checks the type of a condition's value.
func CheckCond(c *Cond, m *Node) error {
	list := []*Node{m}
	if m.Kind == JSONList {
		list = m.Elems
	}
	switch c.Op {
	case OpExists:
		return Illegal(m, "must be a subquery: the key needs @ at its end")
	case OpLike, OpRegexp, OpBetween:
		for _, e := range list {
			if e.Kind != JSONString {
				return Illegal(m, "must be a text or a list of texts, was %s", m.What())
			}
			if c.Op == OpLike && e.Str() == "" {
				return Illegal(m, "must not be an empty text")
			}
			if c.Op == OpRegexp {
				if reason := checkPattern(e.Str()); reason != "" {
					return Illegal(m, "%s", reason)
				}
			}
			if c.Op == OpBetween {
				if parts := SplitList(e.Str()); len(parts) != 2 {
					return Illegal(m, `must be "from,to" or a list of such, was %s`, m.What())
				}
			}
		}
	case OpIn:
		if m.Kind == JSONString {
			return checkRange(c, m)
		}
		if m.Kind != JSONList {
			return Illegal(m, "must be a list or a text of ranges, was %s", m.What())
		}
		if c.Marked && c.Logic == LogicAnd {
			return Illegal(m, "a list takes no &")
		}
		for _, e := range list {
			if e.Kind == JSONList || e.Kind == JSONObject {
				return Illegal(m, "must be a list of texts, numbers and booleans, was %s", m.What())
			}
		}
	case OpContains:
		for _, e := range list {
			if e.Kind == JSONObject {
				v := e.Get("value")
				if path := e.Get("path"); path != nil && path.Kind != JSONString {
					return Illegal(m, "path must be a text, was %s", path.What())
				}
				if v == nil || v.Kind == JSONObject || v.Kind == JSONList {
					return Illegal(m, `an object here must be {"path": "$", "value": v}, was %s`, e.What())
				}
				continue
			}
			if e.Kind == JSONList {
				return Illegal(m, "must be a value or a list of values, was %s", m.What())
			}
		}
	default:
		if m.Kind == JSONList || m.Kind == JSONObject {
			return Illegal(m, "must be a text, a number or a boolean, was %s", m.What())
		}
	}
	return nil
}

func checkRange(c *Cond, m *Node) error {
	_, err := ParseRanges(c.Name, m.Str())
	if err == nil {
		return nil
	}
	for part := range strings.SplitSeq(m.Str(), ";") {
		if strings.Contains(part, "(") {
			continue
		}
		for r := range strings.SplitSeq(part, ",") {
			if r = strings.TrimSuffix(r, "=null"); strings.Contains(r, "--") || strings.Trim(r, "0123456789%!=<>/.+-*^") != "" {
				return Unsupported(m, "%v", err) // it might be a piece of a statement, which the protocol forbids
			}
		}
	}
	return Illegal(m, "%v", err)
}

// ParseRanges reads the tests of a {} condition: ranges split by commas, functions by semicolons.
func ParseRanges(name, s string) ([]Expr, error) {
	var tests []Expr
	for _, part := range splitTop(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if strings.Contains(part, "(") {
			e, err := parseExpr(part)
			if err != nil {
				return nil, err
			}
			tests = append(tests, e)
			continue
		}
		for _, r := range splitTop(part, ",") {
			if r = strings.TrimSpace(r); r == "" {
				continue
			}
			if strings.ContainsRune(r, ' ') && !strings.ContainsRune(r, '\'') {
				return nil, (&exprParser{s: r, pos: strings.IndexByte(r, ' ')}).fault("unexpected blank")
			}
			e, err := parseTail(name, r)
			if err != nil {
				return nil, err
			}
			if b, ok := e.(*BinaryExpr); ok && !IsComparison(b.Op) {
				return nil, (&exprParser{s: r, pos: len(r)}).fault("expected a comparison")
			}
			tests = append(tests, e)
		}
	}
	return tests, nil
}

// IsComparison reports whether an operator compares its operands.
func IsComparison(op string) bool {
	switch op {
	case "=", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

var window = regexp.MustCompile(`(?i)\)\s*OVER\s*\(`)

// parseColumns reads @column.
func (t *Table) parseColumns(m *Node, s string) error {
	t.Has = true
	if rest, ok := strings.CutPrefix(s, "DISTINCT "); ok {
		t.Distinct, s = true, rest
	}
	if window.MatchString(s) {
		return Unsupported(m, "windows are not supported")
	}
	for _, part := range splitTop(s, ";,") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(part, "!"); ok {
			if !IsName(rest) {
				return Illegal(m, "%q is no name to leave out", rest)
			}
			t.Except = append(t.Except, rest)
			continue
		}
		c := &column{}
		text := part
		if i := strings.LastIndexByte(part, ':'); i >= 0 && strings.IndexByte(part[i:], ')') < 0 && strings.IndexByte(part[i:], '\'') < 0 {
			text, c.Name = part[:i], part[i+1:]
			if !IsName(c.Name) {
				return Illegal(m, "%q is no name for a column", c.Name)
			}
		}
		if text == "*" {
			t.Columns = append(t.Columns, &column{Name: "*"})
			continue
		}
		e, err := parseExpr(text)
		if err != nil {
			return Illegal(m, "%v", err)
		}
		if _, ok := e.(*NameExpr); !ok && !strings.Contains(text, "(") {
			return Illegal(m, "%q is not a column name; put expressions in parentheses", text)
		}
		if c.Expr = e; c.Name == "" {
			c.Name, c.bare = text, true
			if n, ok := e.(*NameExpr); ok {
				c.Name, c.bare = n.Name, false
			}
		}
		t.Columns = append(t.Columns, c)
	}
	if len(t.Except) > 0 && len(t.Columns) > 0 {
		return Illegal(m, "names columns to return and columns to leave out")
	}
	return nil
}

func (t *Table) parseGroup(m *Node, s string) error {
	for _, part := range SplitList(s) {
		if !IsName(part) {
			return Illegal(m, "%q is no name to group by", part)
		}
		t.Group = append(t.Group, &NameExpr{Name: part})
	}
	return nil
}

// parseOrder reads @order: names, each with + or -, and rand().
func (t *Table) parseOrder(m *Node, s string) error {
	for _, part := range SplitList(s) {
		if part == "rand()" {
			t.Order = append(t.Order, orderKey{Expr: &CallExpr{Fn: "rand", Src: part}})
			continue
		}
		name, desc := strings.CutSuffix(part, "-")
		if !desc {
			name = strings.TrimSuffix(part, "+")
		}
		if !IsName(name) && name != DepthColumn {
			return Illegal(m, "%q is no name to order by, with + or - behind it, nor rand()", part)
		}
		t.Order = append(t.Order, orderKey{Expr: &NameExpr{Name: name}, Desc: desc})
	}
	return nil
}

func (t *Table) parseCast(m *Node, s string) error {
	t.Casts = make(map[string]string)
	for _, part := range SplitList(s) {
		key, typ, _ := strings.Cut(part, ":")
		typ = strings.ToUpper(typ)
		if key == "" || !castTypes[typ] {
			return Illegal(m, "%q is no cast such as date>:DATETIME", part)
		}
		if _, ok := t.Casts[key]; ok {
			return Illegal(m, "casts %q twice", key)
		}
		t.Casts[key] = typ
	}
	return nil
}

// castTypes are the types that @cast knows.
var castTypes = map[string]bool{
	"DATE": true, "DATETIME": true, "TIMESTAMP": true, "TIME": true, "SIGNED": true, "UNSIGNED": true, "INT": true, "INTEGER": true,
	"BIGINT": true, "DECIMAL": true, "NUMERIC": true, "DOUBLE": true, "FLOAT": true, "REAL": true, "CHAR": true, "VARCHAR": true, "TEXT": true, "JSON": true,
}

// parseKeys reads @key: "len:length(content);…", or an object of the same.
func (t *Table) parseKeys(m *Node) error {
	t.Keys = make(map[string]Expr)
	add := func(n *Node, name, text string) error {
		e, err := parseExpr(text)
		if err != nil || !IsName(name) {
			return Illegal(n, "%q is no definition such as len:length(content)", name+":"+text)
		}
		t.Keys[name] = e
		return nil
	}
	switch m.Kind {
	case JSONString:
		for _, part := range splitTop(m.Str(), ";") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			name, text, _ := strings.Cut(part, ":")
			if err := add(m, name, text); err != nil {
				return err
			}
		}
	case JSONObject:
		for _, d := range m.Members {
			if d.Kind != JSONString {
				return Illegal(d, "must be a text, was %s", d.What())
			}
			if err := add(d, d.Key, d.Str()); err != nil {
				return err
			}
		}
	default:
		return Fail(CodeType, m, "must be a text or an object, was %s", m.What())
	}
	return nil
}

// parseHaving reads @having, whose parts are joined by OR, or @having&, by AND.
func (t *Table) parseHaving(m *Node, and bool) error {
	if t.Having != nil {
		return Illegal(m, "@having and @having& exclude each other")
	}
	add := func(n *Node, key, text string) error {
		if !strings.Contains(text, "(") {
			return Illegal(n, "%q has no function: it must be like max(id)>=100, with an alias in parentheses like (maxId)>=100", text)
		}
		e, err := parseExpr(text)
		if err != nil {
			return Illegal(n, "%v", err)
		}
		t.Having = append(t.Having, &havingTest{Key: key, Expr: e})
		return nil
	}
	op := byte('|')
	if and {
		op = '&'
	}
	all := &Combination{Op: op}
	switch {
	case m.Kind == JSONString:
		for i, part := range splitTop(m.Str(), ";") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			key := "having" + string(rune('0'+i%10)) + strings.Repeat("_", i/10)
			if err := add(m, key, part); err != nil {
				return err
			}
			all.Args = append(all.Args, &Combination{Op: 'k', Key: key})
		}
	case m.Kind == JSONObject && !and:
		var combine *Node
		all.Op = '&'
		for _, h := range m.Members {
			switch {
			case h.Kind != JSONString:
				return Illegal(h, "must be a text, was %s", h.What())
			case h.Key == "@combine":
				combine = h
				continue
			case !IsName(h.Key):
				return Illegal(h, "is no name")
			}
			if err := add(h, h.Key, h.Str()); err != nil {
				return err
			}
		}
		keys := make(map[string]bool)
		for _, h := range t.Having {
			keys[h.Key] = true
		}
		used := make(map[string]bool)
		if combine != nil {
			c, err := parseCombination(combine, keys, used)
			if err != nil {
				return err
			}
			all.Args = append(all.Args, c)
		}
		for _, h := range t.Having {
			if !used[h.Key] {
				all.Args = append(all.Args, &Combination{Op: 'k', Key: h.Key})
			}
		}
	default:
		return Illegal(m, "must be a text, was %s", m.What())
	}
	if len(all.Args) > 0 {
		t.Havings = all
	}
	return nil
}

// Numeric parses a number; text that is no number is null.
func Numeric(s string) graph.Value {
	if s == "" || len(s) > 40 || !strings.ContainsAny(s[:1], "-0123456789") || strings.ContainsAny(s, " \t\r\n") || !jsontext.Value(s).IsValid() {
		return graph.Value{}
	}
	if v, ok := number(s); ok {
		return v
	}
	return graph.Value{}
}
