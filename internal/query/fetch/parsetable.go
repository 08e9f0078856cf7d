package fetch

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// depthColumn is the distance of a vertex from the start of a hop.
const depthColumn = "@depth"

// scoreColumn is the score of a row of a table with @near or @search.
const scoreColumn = "@score"

// table reads "Label:alias": {…}.
func (p *treeParser) table(n *node, depth int) (*table, error) {
	t := &table{n: n, key: n.key}
	t.label, _ = splitAlias(n.key)
	var h hopWords
	objects, arrays := 0, 0
	if raw := n.get("@raw"); raw != nil { // the table's other keywords may bind values used only with it
		return nil, unsupported(raw, "the word @raw is not supported")
	}
	for _, m := range n.members {
		if p.steps.Add(1); m.kind == kNull {
			continue
		}
		switch {
		case strings.HasSuffix(m.key, "()"):
			return nil, unsupported(m, "remote functions are not supported")
		case strings.HasPrefix(m.key, "@"):
			if h.take(m.key[1:], m) {
				continue
			}
			if err := p.word(t, m, depth); err != nil {
				return nil, err
			}
		case m.kind == kObject && !strings.HasSuffix(m.key, "@") && !strings.HasSuffix(m.key, "<>"):
			c, err := p.member(m, depth, false)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			if c.kind == memberObject {
				return nil, illegal(m, "an object in a table must be a table or an array")
			}
			if err := p.count(c, &objects, &arrays); err != nil {
				return nil, err
			}
			t.members = append(t.members, c)
		default:
			c, err := p.cond(m, depth)
			if err != nil {
				return nil, err
			}
			t.conds = append(t.conds, c)
		}
	}
	var err error
	if t.hop, t.must, err = h.make(p.limits); err != nil {
		return nil, err
	}
	if n := t.size(); n > maxParts {
		return nil, illegal(t.n, "has %d columns, conditions and values of lists in them, more than %d", n, maxParts)
	}
	return t, t.finish()
}

// maxParts bounds the columns and conditions of a table, and maxWord the text of a word, whose parts binding compares with each other.
const (
	maxParts = 2_000
	maxWord  = 1 << 16
)

// size is the number of parts of a table that are bound one by one.
func (t *table) size() int {
	n := len(t.conds) + len(t.columns) + len(t.except) + len(t.group) + len(t.order) + len(t.having) + len(t.custom)
	for _, c := range t.conds {
		if !lifted(c.n.key, c.n, 2) {
			n += len(c.n.elems)
		}
	}
	return n
}

// short checks the length of a text that is read as more than a value.
func (p *treeParser) short(m *node) error {
	if m.kind != kString {
		return nil
	}
	n := len(m.str())
	if p.steps.Add(n / 16); n > maxWord {
		return illegal(m, "has %d bytes, more than %d", n, maxWord)
	}
	return nil
}

// finish checks conditions that involve several members.
func (t *table) finish() error {
	if t.ranked() {
		if m := cmp.Or(t.n.get("@order"), t.n.get("@group")); m != nil || t.distinct {
			return illegal(cmp.Or(m, t.n.get("@near"), t.n.get("@search")),
				"the rows of @near and @search come one by one, the best first: they exclude @order, @group and DISTINCT")
		}
	}
	if m := t.n.get("@combine"); m != nil {
		c, err := t.parseCombine(m)
		if err != nil {
			return err
		}
		t.combine = c
	}
	for _, c := range t.conds {
		if c.isIt {
			if o := t.cond(c.name); o != nil {
				return illegal(c.n, "%s is null here and has a value as well", c.name)
			}
		}
	}
	return nil
}

// word reads a word of a table, a key that begins with @.
func (p *treeParser) word(t *table, m *node, depth int) error {
	if err := p.short(m); err != nil {
		return err
	}
	switch m.key {
	case "@from@":
		if m.kind == kString {
			if t.from = p.subs[m.str()]; t.from == nil {
				return illegal(m, "there is no subquery %q above", m.str())
			}
			return nil
		}
		if m.kind != kObject {
			return illegal(m, "must be a subquery or the name of one, was %s", m.what())
		}
		sub, err := p.subquery(m, depth+1)
		t.from = sub
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
		return flag(m, &t.drop)
	case "@explain":
		return flag(m, &t.explain)
	case "@try":
		return flag(m, &t.try)
	case "@combine", "@column", "@group", "@order", "@cast", "@json", "@null", "@role":
		if m.kind != kString {
			return illegal(m, "must be a text, was %s", m.what())
		}
	case "@database":
		if m.kind == kString && !databases[m.str()] {
			return fail(CodeType, m, "there is no database %s", m.what())
		}
		return nil
	case "@schema", "@datasource", "@namespace", "@catalog", "@cache", "@string", "@trim":
		return nil
	case "@sample", "@latest", "@partition", "@fill", "@method", "@get", "@gets", "@head", "@heads", "@post", "@put", "@delete":
		return unsupported(m, "the word %s is not supported", m.key)
	default:
		if strings.HasSuffix(m.key, "@") || m.kind == kObject || m.kind == kList {
			return illegal(m, "there is no word %s", m.key)
		}
		t.custom = append(t.custom, m)
		return nil
	}
	s := m.str()
	switch m.key {
	case "@column":
		return t.parseColumns(m, s)
	case "@group":
		return t.parseGroup(m, s)
	case "@order":
		return t.parseOrder(m, s)
	case "@cast":
		return t.parseCast(m, s)
	case "@json":
		t.json = make(map[string]bool)
		for _, k := range splitList(s) {
			t.json[k] = true
		}
	case "@null":
		for _, k := range splitList(s) {
			if !isName(k) {
				return illegal(m, "%q is no name", k)
			}
			t.conds = append(t.conds, &cond{n: m, key: k, condKey: condKey{name: k}, isIt: true})
		}
	case "@role":
		t.role = m
		return checkRole(m)
	}
	return nil
}

// checkRole checks a role's name.
func checkRole(m *node) error {
	if m.kind != kString || !slices.Contains(roles, role(m.str())) {
		return illegal(m, "must be one of UNKNOWN, LOGIN, CONTACT, CIRCLE, OWNER and ADMIN, was %s", m.what())
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

func flag(m *node, to *bool) error {
	if m.kind != kBool {
		return illegal(m, "must be true or false, was %s", m.what())
	}
	*to = m.scalar.Bool()
	return nil
}

// splitList splits at commas, and drops blanks and empty parts.
func splitList(s string) []string {
	var parts []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// cond reads a condition.
func (p *treeParser) cond(m *node, depth int) (*cond, error) {
	k, reason := parseCondKey(m.key)
	if reason != "" {
		return nil, illegal(m, "%s", reason)
	}
	c := &cond{n: m, key: strings.TrimSuffix(m.key, "@"), condKey: k}
	if k.ref {
		switch m.kind {
		case kString:
			if k.op == opExists {
				break // the name of a subquery
			}
			fallthrough
		default:
			if m.kind != kString && m.kind != kObject {
				return nil, illegal(m, "must be the path of a reference or a subquery, was %s", m.what())
			}
		}
		if m.kind == kString {
			if c.path = m.str(); c.path == "" {
				return nil, illegal(m, "must be the path of a reference, was empty")
			}
			return c, nil
		}
		switch k.op {
		case opEqual, opGreater, opGreaterEqual, opLess, opLessEqual, opIn, opExists, opContains:
		default:
			return nil, unsupported(m, "no subquery can stand here")
		}
		sub, err := p.subquery(m, depth+1)
		c.sub = sub
		return c, err
	}
	p.steps.Add(1 + len(m.elems))
	if c.op == opIn {
		if err := p.short(m); err != nil {
			return nil, err
		}
	}
	return c, checkCond(c, m)
}

// checkCond checks the type of a condition's value.
func checkCond(c *cond, m *node) error {
	list := []*node{m}
	if m.kind == kList {
		list = m.elems
	}
	switch c.op {
	case opExists:
		return illegal(m, "must be a subquery: the key needs @ at its end")
	case opLike, opRegexp, opBetween:
		for _, e := range list {
			if e.kind != kString {
				return illegal(m, "must be a text or a list of texts, was %s", m.what())
			}
			if c.op == opLike && e.str() == "" {
				return illegal(m, "must not be an empty text")
			}
			if c.op == opRegexp {
				if reason := checkPattern(e.str()); reason != "" {
					return illegal(m, "%s", reason)
				}
			}
			if c.op == opBetween {
				if parts := splitList(e.str()); len(parts) != 2 {
					return illegal(m, `must be "from,to" or a list of such, was %s`, m.what())
				}
			}
		}
	case opIn:
		if m.kind == kString {
			return checkRange(c, m)
		}
		if m.kind != kList {
			return illegal(m, "must be a list or a text of ranges, was %s", m.what())
		}
		if c.marked && c.logic == logicAnd {
			return illegal(m, "a list takes no &")
		}
		for _, e := range list {
			if e.kind == kList || e.kind == kObject {
				return illegal(m, "must be a list of texts, numbers and booleans, was %s", m.what())
			}
		}
	case opContains:
		for _, e := range list {
			if e.kind == kObject {
				v := e.get("value")
				if path := e.get("path"); path != nil && path.kind != kString {
					return illegal(m, "path must be a text, was %s", path.what())
				}
				if v == nil || v.kind == kObject || v.kind == kList {
					return illegal(m, `an object here must be {"path": "$", "value": v}, was %s`, e.what())
				}
				continue
			}
			if e.kind == kList {
				return illegal(m, "must be a value or a list of values, was %s", m.what())
			}
		}
	default:
		if m.kind == kList || m.kind == kObject {
			return illegal(m, "must be a text, a number or a boolean, was %s", m.what())
		}
	}
	return nil
}

func checkRange(c *cond, m *node) error {
	_, err := parseRanges(c.name, m.str())
	if err == nil {
		return nil
	}
	for part := range strings.SplitSeq(m.str(), ";") {
		if strings.Contains(part, "(") {
			continue
		}
		for r := range strings.SplitSeq(part, ",") {
			if r = strings.TrimSuffix(r, "=null"); strings.Contains(r, "--") || strings.Trim(r, "0123456789%!=<>/.+-*^") != "" {
				return unsupported(m, "%v", err) // it might be a piece of a statement, which the protocol forbids
			}
		}
	}
	return illegal(m, "%v", err)
}

// parseRanges reads the tests of a {} condition: ranges split by commas, functions by semicolons.
func parseRanges(name, s string) ([]expr, error) {
	var tests []expr
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
			if b, ok := e.(*binaryExpr); ok && !isComparison(b.op) {
				return nil, (&exprParser{s: r, pos: len(r)}).fault("expected a comparison")
			}
			tests = append(tests, e)
		}
	}
	return tests, nil
}

func isComparison(op string) bool {
	switch op {
	case "=", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

var window = regexp.MustCompile(`(?i)\)\s*OVER\s*\(`)

// parseColumns reads @column.
func (t *table) parseColumns(m *node, s string) error {
	t.has = true
	if rest, ok := strings.CutPrefix(s, "DISTINCT "); ok {
		t.distinct, s = true, rest
	}
	if window.MatchString(s) {
		return unsupported(m, "windows are not supported")
	}
	for _, part := range splitTop(s, ";,") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(part, "!"); ok {
			if !isName(rest) {
				return illegal(m, "%q is no name to leave out", rest)
			}
			t.except = append(t.except, rest)
			continue
		}
		c := &column{}
		text := part
		if i := strings.LastIndexByte(part, ':'); i >= 0 && strings.IndexByte(part[i:], ')') < 0 && strings.IndexByte(part[i:], '\'') < 0 {
			text, c.name = part[:i], part[i+1:]
			if !isName(c.name) {
				return illegal(m, "%q is no name for a column", c.name)
			}
		}
		if text == "*" {
			t.columns = append(t.columns, &column{name: "*"})
			continue
		}
		e, err := parseExpr(text)
		if err != nil {
			return illegal(m, "%v", err)
		}
		if _, ok := e.(*nameExpr); !ok && !strings.Contains(text, "(") {
			return illegal(m, "%q is not a column name; put expressions in parentheses", text)
		}
		if c.expr = e; c.name == "" {
			c.name, c.bare = text, true
			if n, ok := e.(*nameExpr); ok {
				c.name, c.bare = n.name, false
			}
		}
		t.columns = append(t.columns, c)
	}
	if len(t.except) > 0 && len(t.columns) > 0 {
		return illegal(m, "names columns to return and columns to leave out")
	}
	return nil
}

func (t *table) parseGroup(m *node, s string) error {
	for _, part := range splitList(s) {
		if !isName(part) {
			return illegal(m, "%q is no name to group by", part)
		}
		t.group = append(t.group, &nameExpr{name: part})
	}
	return nil
}

// parseOrder reads @order: names, each with + or -, and rand().
func (t *table) parseOrder(m *node, s string) error {
	for _, part := range splitList(s) {
		if part == "rand()" {
			t.order = append(t.order, orderKey{expr: &callExpr{fn: "rand", src: part}})
			continue
		}
		name, desc := strings.CutSuffix(part, "-")
		if !desc {
			name = strings.TrimSuffix(part, "+")
		}
		if !isName(name) && name != depthColumn {
			return illegal(m, "%q is no name to order by, with + or - behind it, nor rand()", part)
		}
		t.order = append(t.order, orderKey{expr: &nameExpr{name: name}, desc: desc})
	}
	return nil
}

func (t *table) parseCast(m *node, s string) error {
	t.casts = make(map[string]string)
	for _, part := range splitList(s) {
		key, typ, _ := strings.Cut(part, ":")
		typ = strings.ToUpper(typ)
		if key == "" || !castTypes[typ] {
			return illegal(m, "%q is no cast such as date>:DATETIME", part)
		}
		if _, ok := t.casts[key]; ok {
			return illegal(m, "casts %q twice", key)
		}
		t.casts[key] = typ
	}
	return nil
}

// castTypes are the types that @cast knows.
var castTypes = map[string]bool{
	"DATE": true, "DATETIME": true, "TIMESTAMP": true, "TIME": true, "SIGNED": true, "UNSIGNED": true, "INT": true, "INTEGER": true,
	"BIGINT": true, "DECIMAL": true, "NUMERIC": true, "DOUBLE": true, "FLOAT": true, "REAL": true, "CHAR": true, "VARCHAR": true, "TEXT": true, "JSON": true,
}

// parseKeys reads @key: "len:length(content);…", or an object of the same.
func (t *table) parseKeys(m *node) error {
	t.keys = make(map[string]expr)
	add := func(n *node, name, text string) error {
		e, err := parseExpr(text)
		if err != nil || !isName(name) {
			return illegal(n, "%q is no definition such as len:length(content)", name+":"+text)
		}
		t.keys[name] = e
		return nil
	}
	switch m.kind {
	case kString:
		for _, part := range splitTop(m.str(), ";") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			name, text, _ := strings.Cut(part, ":")
			if err := add(m, name, text); err != nil {
				return err
			}
		}
	case kObject:
		for _, d := range m.members {
			if d.kind != kString {
				return illegal(d, "must be a text, was %s", d.what())
			}
			if err := add(d, d.key, d.str()); err != nil {
				return err
			}
		}
	default:
		return fail(CodeType, m, "must be a text or an object, was %s", m.what())
	}
	return nil
}

// parseHaving reads @having, whose parts are joined by OR, or @having&, by AND.
func (t *table) parseHaving(m *node, and bool) error {
	if t.having != nil {
		return illegal(m, "@having and @having& exclude each other")
	}
	add := func(n *node, key, text string) error {
		if !strings.Contains(text, "(") {
			return illegal(n, "%q has no function: it must be like max(id)>=100, with an alias in parentheses like (maxId)>=100", text)
		}
		e, err := parseExpr(text)
		if err != nil {
			return illegal(n, "%v", err)
		}
		t.having = append(t.having, &havingTest{key: key, expr: e})
		return nil
	}
	op := byte('|')
	if and {
		op = '&'
	}
	all := &combination{op: op}
	switch {
	case m.kind == kString:
		for i, part := range splitTop(m.str(), ";") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			key := "having" + string(rune('0'+i%10)) + strings.Repeat("_", i/10)
			if err := add(m, key, part); err != nil {
				return err
			}
			all.args = append(all.args, &combination{op: 'k', key: key})
		}
	case m.kind == kObject && !and:
		var combine *node
		all.op = '&'
		for _, h := range m.members {
			switch {
			case h.kind != kString:
				return illegal(h, "must be a text, was %s", h.what())
			case h.key == "@combine":
				combine = h
				continue
			case !isName(h.key):
				return illegal(h, "is no name")
			}
			if err := add(h, h.key, h.str()); err != nil {
				return err
			}
		}
		keys := make(map[string]bool)
		for _, h := range t.having {
			keys[h.key] = true
		}
		used := make(map[string]bool)
		if combine != nil {
			c, err := parseCombination(combine, keys, used)
			if err != nil {
				return err
			}
			all.args = append(all.args, c)
		}
		for _, h := range t.having {
			if !used[h.key] {
				all.args = append(all.args, &combination{op: 'k', key: h.key})
			}
		}
	default:
		return illegal(m, "must be a text, was %s", m.what())
	}
	if len(all.args) > 0 {
		t.havings = all
	}
	return nil
}

// numeric parses a number; text that is no number is null.
func numeric(s string) graph.Value {
	if s == "" || len(s) > 40 || !strings.ContainsAny(s[:1], "-0123456789") {
		return graph.Value{}
	}
	p := parser{body: []byte(s), doc: nil}
	v, err := p.number()
	if err != nil || p.pos != len(s) {
		return graph.Value{}
	}
	return v
}
