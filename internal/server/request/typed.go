package request

import (
	"encoding/json"
	"strconv"
	"time"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/traverse"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// typedBody is the common part of the bodies of typed requests.
type typedBody struct {
	Graph      string          `json:"graph"`
	At         string          `json:"at"`
	Parameters json.RawMessage `json:"parameters"`
	Budget     struct {
		MaxVisits uint64 `json:"maxVisits"`
		MaxCost   uint64 `json:"maxCost"`
		MaxRows   uint64 `json:"maxRows"`
		MaxBytes  uint64 `json:"maxBytes"`
		TimeoutMs int64  `json:"timeoutMs"`
		Partial   bool   `json:"partial"`
	} `json:"budget"`
}

func (b *typedBody) common() *typedBody { return b }

// typedRequest is the body of a typed request.
type typedRequest interface {
	common() *typedBody
	// typed counts the memory of the values in it.
	typed(charge *memory.Charge) (query.Typed, error)
}

// selectorBody selects vertices.
type selectorBody struct {
	Label      string            `json:"label"`
	Property   string            `json:"property"`
	Value      json.RawMessage   `json:"value"`
	Values     []json.RawMessage `json:"values"`
	Statement  string            `json:"statement"`
	ElementIDs []string          `json:"elementIds"`
}

// hopBody is one hop.
type hopBody struct {
	Edges          []string `json:"edges"`
	Direction      string   `json:"direction"`
	Where          string   `json:"where"`
	SkipSupernodes uint64   `json:"skipSupernodes"`
	MaxDegree      uint64   `json:"maxDegree"`
	Sample         uint64   `json:"sample"`
	Limit          uint64   `json:"limit"`
}

// traverseBody is the body of POST /v1/traverse. The members of a hop apply to all hops, or PerHop has one entry for each.
type traverseBody struct {
	typedBody
	From           selectorBody    `json:"from"`
	Edges          []string        `json:"edges"`
	Direction      string          `json:"direction"`
	Where          string          `json:"where"`
	SkipSupernodes uint64          `json:"skipSupernodes"`
	MaxDegree      uint64          `json:"maxDegree"`
	Sample         uint64          `json:"sample"`
	HopLimit       uint64          `json:"hopLimit"`
	PerHop         []hopBody       `json:"perHop"`
	Hops           json.RawMessage `json:"hops"`
	Mode           string          `json:"mode"`
	Return         string          `json:"return"`
	Distinct       bool            `json:"distinct"`
	ByHop          bool            `json:"byHop"`
	Limit          uint64          `json:"limit"`
	Seed           int64           `json:"seed"`
	Rank           *struct {
		Property   string    `json:"property"`
		Similarity string    `json:"similarity"`
		Vector     []float64 `json:"vector"`
	} `json:"rank"`
}

// pathBody is the body of POST /v1/path.
type pathBody struct {
	typedBody
	From      selectorBody `json:"from"`
	To        selectorBody `json:"to"`
	Edges     []string     `json:"edges"`
	Direction string       `json:"direction"`
	Where     string       `json:"where"`
	MaxHops   uint32       `json:"maxHops"`
	All       bool         `json:"all"`
	K         uint32       `json:"k"`
	Weight    string       `json:"weight"`
}

// subgraphBody is the body of POST /v1/subgraph.
type subgraphBody struct {
	typedBody
	From      selectorBody `json:"from"`
	Edges     []string     `json:"edges"`
	Direction string       `json:"direction"`
	Where     string       `json:"where"`
	PerHop    []hopBody    `json:"perHop"`
	Hops      *uint32      `json:"hops"`
}

// verticesBody is the body of POST /v1/vertices.
type verticesBody struct {
	typedBody
	From       selectorBody `json:"from"`
	Properties []string     `json:"properties"`
}

// edgesBody is the body of POST /v1/edges.
type edgesBody struct {
	typedBody
	From       *selectorBody `json:"from"`
	To         *selectorBody `json:"to"`
	Edges      []string      `json:"edges"`
	Direction  string        `json:"direction"`
	Where      string        `json:"where"`
	ElementIDs []string      `json:"elementIds"`
}

// bodies make the bodies of the typed requests by the names of their routes.
var bodies = map[string]func() typedRequest{
	"traverse": func() typedRequest { return new(traverseBody) },
	"path":     func() typedRequest { return new(pathBody) },
	"subgraph": func() typedRequest { return new(subgraphBody) },
	"vertices": func() typedRequest { return new(verticesBody) },
	"edges":    func() typedRequest { return new(edgesBody) },
}

// maxMillis is the longest time in milliseconds that a time.Duration can hold.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)

// DecodeTyped decodes the JSON body of a typed request and counts the memory of its values. The route is traverse, path, subgraph, vertices or
// edges; typedParams says that each parameter has its type.
func DecodeTyped(route string, data []byte, typedParams bool, charge *memory.Charge) (req query.TypedRequest, err error) {
	create := bodies[route]
	if create == nil {
		return req, wire.RequestError("route: must be traverse, path, subgraph, vertices or edges, was " + strconv.Quote(route))
	}
	body := create()
	if err := wire.DecodeJSON(data, true, body); err != nil {
		return req, err
	}
	if req.Typed, err = body.typed(charge); err != nil {
		return req, err
	}
	common := body.common()
	b := &common.Budget
	if b.TimeoutMs < 0 || b.TimeoutMs > maxMillis {
		return req, wire.RequestError("budget.timeoutMs: must be a whole number from 0, was " + strconv.FormatInt(b.TimeoutMs, 10))
	}
	req.Graph, req.At = common.Graph, common.At
	req.Limits = query.Limits{
		Visits: int64(min(b.MaxVisits, 1<<62)), Rows: int64(min(b.MaxRows, 1<<62)), Bytes: int64(min(b.MaxBytes, 1<<62)), Units: int64(min(b.MaxCost, 1<<62)),
		Timeout: time.Duration(b.TimeoutMs) * time.Millisecond, Partial: b.Partial,
	}
	req.Params, err = wire.DecodeParams(common.Parameters, typedParams, charge)
	return req, err
}

// selector converts a selector.
func (s *selectorBody) selector(field string, charge *memory.Charge) (out traverse.Selector, err error) {
	out = traverse.Selector{Label: s.Label, Property: s.Property, Statement: s.Statement, IDs: s.ElementIDs}
	values := s.Values
	if len(s.Value) > 0 {
		values = append([]json.RawMessage{s.Value}, values...)
	}
	if err := charge.Add(len(values) * int(unsafe.Sizeof(graph.Value{}))); err != nil {
		return out, err
	}
	out.Values = make([]graph.Value, 0, len(values))
	for _, raw := range values {
		v, err := wire.DecodeValue(raw, charge)
		if err != nil {
			return out, wire.BadParams(field+".values: ", err)
		}
		out.Values = append(out.Values, v)
	}
	if s.Statement != "" {
		err = wire.CheckStatement(s.Statement)
	}
	return out, err
}

// hop converts a hop. field is its name with a point appended, or empty if its members belong to the request itself.
func (h *hopBody) hop(field string) (traverse.Hop, error) {
	d, ok := traverse.Directions[h.Direction]
	if !ok {
		return traverse.Hop{}, wire.RequestError(field + "direction: must be out, in or both, was " + strconv.Quote(h.Direction))
	}
	return traverse.Hop{
		Field: field, Types: h.Edges, Direction: d, Where: h.Where, SkipSupernodes: h.SkipSupernodes, MaxDegree: h.MaxDegree,
		Sample: h.Sample, Limit: h.Limit,
	}, nil
}

// hops returns the hops: the common one, or one for each.
func hops(common hopBody, perHop []hopBody) ([]traverse.Hop, error) {
	if len(perHop) == 0 {
		h, err := common.hop("")
		return []traverse.Hop{h}, err
	}
	if len(common.Edges) > 0 || common.Direction != "" || common.Where != "" || common.SkipSupernodes|common.MaxDegree|common.Sample|common.Limit != 0 {
		return nil, wire.RequestError("perHop: cannot be combined with settings for all hops; set them for each hop")
	}
	out := make([]traverse.Hop, len(perHop))
	for i := range perHop {
		var err error
		if out[i], err = perHop[i].hop("perHop[" + strconv.Itoa(i) + "]."); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *traverseBody) typed(charge *memory.Charge) (query.Typed, error) {
	t := &traverse.Traversal{Returns: b.Return, Distinct: b.Distinct, ByHop: b.ByHop, Limit: b.Limit, Seed: b.Seed, Partial: b.Budget.Partial}
	var err error
	if t.From, err = b.From.selector("from", charge); err != nil {
		return nil, err
	}
	if t.Hops, err = hops(hopBody{b.Edges, b.Direction, b.Where, b.SkipSupernodes, b.MaxDegree, b.Sample, b.HopLimit}, b.PerHop); err != nil {
		return nil, err
	}
	if r := b.Rank; r != nil {
		if t.Rank, err = traverse.NewRank(r.Property, r.Similarity, r.Vector); err != nil {
			return nil, err
		}
	}
	mode, ok := traverse.Modes[b.Mode]
	if !ok {
		return nil, wire.RequestError("mode: must be frontier, walk, trail, acyclic or nearest, was " + strconv.Quote(b.Mode))
	}
	t.Mode = mode
	if len(b.Hops) == 0 {
		return t, nil
	}
	text := string(b.Hops)
	if text[0] == '"' {
		if err := json.Unmarshal(b.Hops, &text); err != nil {
			return nil, wire.RequestError("hops: " + err.Error())
		}
	}
	t.Min, t.Max, err = traverse.ParseHops(text)
	return t, err
}

func (b *pathBody) typed(charge *memory.Charge) (query.Typed, error) {
	p := &traverse.Paths{MaxHops: b.MaxHops, All: b.All, K: b.K, Weight: b.Weight}
	var err error
	if p.From, err = b.From.selector("from", charge); err != nil {
		return nil, err
	}
	if p.To, err = b.To.selector("to", charge); err != nil {
		return nil, err
	}
	p.Hop, err = (&hopBody{Edges: b.Edges, Direction: b.Direction, Where: b.Where}).hop("")
	return p, err
}

func (b *subgraphBody) typed(charge *memory.Charge) (query.Typed, error) {
	s := &traverse.Subgraph{}
	if b.Hops != nil {
		if s.Max = *b.Hops; s.Max == 0 {
			return nil, wire.RequestError("hops: must be at least 1, was 0")
		}
	}
	var err error
	if s.From, err = b.From.selector("from", charge); err != nil {
		return nil, err
	}
	s.Hops, err = hops(hopBody{Edges: b.Edges, Direction: b.Direction, Where: b.Where}, b.PerHop)
	return s, err
}

func (b *verticesBody) typed(charge *memory.Charge) (query.Typed, error) {
	from, err := b.From.selector("from", charge)
	return &traverse.Vertices{From: from, Properties: b.Properties}, err
}

func (b *edgesBody) typed(charge *memory.Charge) (query.Typed, error) {
	e := &traverse.Edges{IDs: b.ElementIDs}
	for _, end := range []struct {
		in   *selectorBody
		out  **traverse.Selector
		name string
	}{{b.From, &e.From, "from"}, {b.To, &e.To, "to"}} {
		if end.in == nil {
			continue
		}
		s, err := end.in.selector(end.name, charge)
		if err != nil {
			return nil, err
		}
		*end.out = &s
	}
	var err error
	e.Hop, err = (&hopBody{Edges: b.Edges, Direction: b.Direction, Where: b.Where}).hop("")
	return e, err
}
