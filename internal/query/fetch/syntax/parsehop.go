package syntax

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// hopWords collects the words of a hop, which an array has as they are and an object behind @.
type hopWords struct {
	hop, start, startRef, depth, walk, end, endRef, find, must *Node
}

// take keeps the member if its key, without the @ of an object's keywords, is one of them.
func (h *hopWords) take(key string, m *Node) bool {
	to := map[string]**Node{
		"hop": &h.hop, "start": &h.start, "start@": &h.startRef, "depth": &h.depth, "walk": &h.walk,
		"end": &h.end, "end@": &h.endRef, "find": &h.find, "must": &h.must,
	}[key]
	if to == nil {
		return false
	}
	*to = m
	return true
}

// make returns the hop that the keywords describe, or nil.
func (h *hopWords) make(limits *Limits) (*Hop, bool, error) {
	must := false
	if h.must != nil {
		if err := flag(h.must, &must); err != nil {
			return nil, false, err
		}
	}
	if h.hop == nil {
		for _, m := range []*Node{h.start, h.startRef, h.depth, h.walk, h.end, h.endRef, h.find} {
			if m != nil {
				return nil, false, Illegal(m, "needs a hop beside it")
			}
		}
		return nil, must, nil
	}
	if h.hop.Kind != JSONString {
		return nil, false, Illegal(h.hop, `must be a text such as ">KNOWS", was %s`, h.hop.What())
	}
	p := &Hop{N: h.hop, Min: 1, Max: 1}
	var reason string
	if p.Steps, reason = ParseSteps(h.hop.Str()); reason != "" {
		return nil, false, Illegal(h.hop, "%s", reason)
	}
	for _, s := range []struct {
		n   *Node
		key **Node
		ref *Node
		to  *string
	}{{h.start, &p.Start, h.startRef, &p.Ref}, {h.end, &p.End, h.endRef, &p.EndRef}} {
		if s.n != nil && s.ref != nil {
			return nil, false, Illegal(s.ref, "excludes the same word without @")
		}
		if s.n != nil {
			if reason := checkKeys(s.n); reason != "" {
				return nil, false, Illegal(s.n, "%s", reason)
			}
			*s.key = s.n
		}
		if s.ref != nil {
			if s.ref.Kind != JSONString || s.ref.Str() == "" {
				return nil, false, Illegal(s.ref, "must be the path of a reference, was %s", s.ref.What())
			}
			*s.to = s.ref.Str()
		}
	}
	if h.depth != nil {
		var ok bool
		if p.Min, p.Max, ok = parseDepth(h.depth); !ok {
			return nil, false, Illegal(h.depth, `must be a whole number from 1 or a text such as "1..3", was %s`, h.depth.What())
		}
		if p.Max > limits.Hops {
			return nil, false, Illegal(h.depth, "is above the %d of fetch-hops", limits.Hops)
		}
	}
	if h.walk != nil {
		if err := flag(h.walk, &p.Walk); err != nil {
			return nil, false, err
		}
	}
	if len(p.Steps) > 1 && p.Max > 1 {
		return nil, false, Illegal(h.depth, "a hop of several steps has no depth")
	}
	if h.find != nil {
		if h.find.Kind != JSONString || h.find.Str() != "shortest" && h.find.Str() != "all" {
			return nil, false, Illegal(h.find, `must be "shortest" or "all", was %s`, h.find.What())
		}
		p.Find = h.find.Str()
	}
	switch ends := p.End != nil || p.EndRef != ""; {
	case p.Find != "" && !ends:
		return nil, false, Illegal(h.find, "needs an end beside it")
	case p.Find == "" && ends:
		p.Find = "shortest"
	}
	if p.Find != "" && len(p.Steps) > 1 {
		return nil, false, Illegal(h.hop, "paths are found over one step")
	}
	if p.Find != "" && (h.depth == nil || !strings.Contains(string(h.depth.Raw), "..")) { // one number is the most steps of a path
		p.Min = 1
	}
	if p.Find != "" && h.depth == nil {
		p.Max = limits.Hops
	}
	return p, must, nil
}

// ParseSteps reads ">A,B", "<A", "<>A" and ">A/>B".
func ParseSteps(s string) (steps []Step, reason string) {
	for part := range strings.SplitSeq(s, "/") {
		st := Step{dir: ">"}
		switch {
		case strings.HasPrefix(part, "<>"):
			st.dir, part = "<>", part[2:]
		case strings.HasPrefix(part, ">"), strings.HasPrefix(part, "<"):
			st.dir, part = part[:1], part[1:]
		}
		for typ := range strings.SplitSeq(part, ",") {
			if typ = strings.TrimSpace(typ); !IsName(typ) {
				return nil, `must be like ">KNOWS", "<A,B", "<>A" or ">A/>B", was "` + s + `"`
			}
			st.Types = append(st.Types, typ)
		}
		steps = append(steps, st)
	}
	return steps, ""
}

func parseDepth(n *Node) (lo, hi int, ok bool) {
	number := func(s string) (int, bool) {
		i, err := strconv.Atoi(s)
		return i, err == nil && i >= 0 && i <= 1_000_000
	}
	switch n.Kind {
	case JSONNumber:
		if n.Scalar.Kind() == graph.Int {
			hi, ok = number(strconv.FormatInt(n.Scalar.Int(), 10))
			lo = hi
		}
	case JSONString:
		from, to, both := strings.Cut(n.Str(), "..")
		if lo, ok = number(from); !both {
			hi = lo
		} else if ok {
			hi, ok = number(to)
		}
	}
	return lo, hi, ok && lo >= 1 && lo <= hi
}

// checkKeys checks start and end: a key, a list of keys, or {"Label": key or list}.
func checkKeys(n *Node) string {
	const reason = `must be a key, a list of keys, or {"Label": keys}`
	switch n.Kind {
	case JSONNumber, JSONString:
		return ""
	case JSONObject:
		if len(n.Members) != 1 || !IsTableKey(n.Members[0].Key) || n.Members[0].Kind == JSONObject {
			return reason
		}
		return checkKeys(n.Members[0])
	case JSONList:
		for _, e := range n.Elems {
			if e.Kind != JSONNumber && e.Kind != JSONString {
				return reason
			}
		}
		return ""
	}
	return reason
}
