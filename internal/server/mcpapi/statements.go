package mcpapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// statementArgs are the arguments of read-cypher and write-cypher.
type statementArgs struct {
	Query     string          `json:"query"`
	Params    json.RawMessage `json:"params"`
	MaxTokens int             `json:"maxTokens"`
	Cursor    string          `json:"cursor"`
}

// readCypher runs a statement that reads.
func (s *session) readCypher(in statementArgs) (string, error) {
	tokens, err := s.budget(in.MaxTokens)
	if err != nil {
		return "", err
	}
	of := s.fingerprint(in.Query, in.Params)
	skip, err := readCursor(in.Cursor, of)
	if err != nil {
		return "", err
	}
	req, err := s.request(in.Query, in.Params)
	if err != nil {
		return "", err
	}
	req.ReadOnly = true
	res, err := s.h.e.Query(s.ctx, req)
	if err != nil {
		return "", err
	}
	defer res.Close()
	p, err := s.read(res, skip, tokens, of)
	if err != nil {
		return "", err
	}
	notes := notifications(res)
	if p.more && !ordered(in.Query) {
		notes = append(notes, "the statement has no ORDER BY, so that pages may overlap; sort by a key to page through all rows")
	}
	return p.text(notes...), nil
}

// writeCypher runs a statement that may write.
func (s *session) writeCypher(in statementArgs) (string, error) {
	tokens, err := s.budget(in.MaxTokens)
	if err != nil {
		return "", err
	}
	if in.Cursor != "" {
		return "", wire.RequestError("cursor: a statement that writes cannot be continued, since it would run again")
	}
	req, err := s.request(in.Query, in.Params)
	if err != nil {
		return "", err
	}
	res, err := s.h.e.Query(s.ctx, req)
	if err != nil {
		return "", err
	}
	defer res.Close()
	p, err := s.read(res, 0, tokens, [8]byte{})
	if err != nil {
		return "", err
	}
	text := p.text(notifications(res)...)
	if p.more {
		return text, nil
	}
	return withCounters(text, res), nil
}

// explain returns the plan of a statement.
func (s *session) explain(in struct {
	Query  string          `json:"query"`
	Params json.RawMessage `json:"params"`
},
) (string, error) {
	req, err := s.request("EXPLAIN "+in.Query, in.Params)
	if err != nil {
		return "", err
	}
	res, err := s.h.e.Query(s.ctx, req)
	if err != nil {
		return "", err
	}
	defer res.Close()
	if _, err := res.Next(); err != nil {
		return "", err
	}
	sum := res.Summary()
	if sum.Plan == nil {
		return "", wire.RequestError("query: it has no plan; leave out EXPLAIN and PROFILE")
	}
	var b strings.Builder
	writePlan(&b, sum.Plan, "")
	for _, n := range notifications(res) {
		b.WriteString("note: " + n + "\n")
	}
	return b.String(), nil
}

// writePlan writes an operator and its inputs, indented.
func writePlan(b *strings.Builder, n *explain.Node, indent string) {
	b.WriteString(indent + strings.TrimSpace(n.Operator+" "+n.Args))
	if n.Estimate >= 0 {
		fmt.Fprintf(b, " (about %.0f rows)", n.Estimate)
	}
	b.WriteByte('\n')
	for _, c := range n.Children {
		writePlan(b, c, indent+"  ")
	}
}

// request returns the request of a statement.
func (s *session) request(statement string, params json.RawMessage) (query.Request, error) {
	if strings.TrimSpace(statement) == "" {
		return query.Request{}, wire.RequestError("query: must be a statement")
	}
	if err := wire.CheckStatement(statement); err != nil {
		return query.Request{}, err
	}
	values, err := wire.DecodeParams(params, false, s.h.e.Charge(s.ctx))
	return query.Request{Statement: statement, Graph: s.graph, Params: values}, err
}

// budget returns the tokens of an answer; 0 means those of the session.
func (s *session) budget(tokens int) (int, error) {
	if tokens == 0 {
		return s.tokens, nil
	}
	if tokens < leastTokens || tokens > mostTokens {
		return 0, wire.RequestError(fmt.Sprintf("maxTokens: must be from %d to %d, was %d", leastTokens, mostTokens, tokens))
	}
	return tokens, nil
}

// notifications returns the likely mistakes of a statement.
func notifications(res *query.Result) (notes []string) {
	for _, n := range res.Summary().Notifications {
		notes = append(notes, n.Description)
	}
	return notes
}

// ordered reports whether a statement seems to sort its rows.
func ordered(statement string) bool {
	return strings.Contains(strings.ToUpper(strings.Join(strings.Fields(statement), " ")), "ORDER BY")
}
