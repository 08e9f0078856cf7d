package fetch

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// hopWords collects the words of a hop, which an array has as they are and an object behind @.
type hopWords struct {
	hop, start, startRef, depth, walk, end, endRef, find, must *node
}

// take keeps the member if its key, without the @ of an object's keywords, is one of them.
func (h *hopWords) take(key string, m *node) bool {
	to := map[string]**node{
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
func (h *hopWords) make(limits *Limits) (*hop, bool, error) {
	must := false
	if h.must != nil {
		if err := flag(h.must, &must); err != nil {
			return nil, false, err
		}
	}
	if h.hop == nil {
		for _, m := range []*node{h.start, h.startRef, h.depth, h.walk, h.end, h.endRef, h.find} {
			if m != nil {
				return nil, false, illegal(m, "needs a hop beside it")
			}
		}
		return nil, must, nil
	}
	if h.hop.kind != kString {
		return nil, false, illegal(h.hop, `must be a text such as ">KNOWS", was %s`, h.hop.what())
	}
	p := &hop{n: h.hop, min: 1, max: 1}
	var reason string
	if p.steps, reason = parseSteps(h.hop.str()); reason != "" {
		return nil, false, illegal(h.hop, "%s", reason)
	}
	for _, s := range []struct {
		n   *node
		key **node
		ref *node
		to  *string
	}{{h.start, &p.start, h.startRef, &p.ref}, {h.end, &p.end, h.endRef, &p.endRef}} {
		if s.n != nil && s.ref != nil {
			return nil, false, illegal(s.ref, "excludes the same word without @")
		}
		if s.n != nil {
			if reason := checkKeys(s.n); reason != "" {
				return nil, false, illegal(s.n, "%s", reason)
			}
			*s.key = s.n
		}
		if s.ref != nil {
			if s.ref.kind != kString || s.ref.str() == "" {
				return nil, false, illegal(s.ref, "must be the path of a reference, was %s", s.ref.what())
			}
			*s.to = s.ref.str()
		}
	}
	if h.depth != nil {
		var ok bool
		if p.min, p.max, ok = parseDepth(h.depth); !ok {
			return nil, false, illegal(h.depth, `must be a whole number from 1 or a text such as "1..3", was %s`, h.depth.what())
		}
		if p.max > limits.Hops {
			return nil, false, illegal(h.depth, "is above the %d of fetch-hops", limits.Hops)
		}
	}
	if h.walk != nil {
		if err := flag(h.walk, &p.walk); err != nil {
			return nil, false, err
		}
	}
	if len(p.steps) > 1 && p.max > 1 {
		return nil, false, illegal(h.depth, "a hop of several steps has no depth")
	}
	if h.find != nil {
		if h.find.kind != kString || h.find.str() != "shortest" && h.find.str() != "all" {
			return nil, false, illegal(h.find, `must be "shortest" or "all", was %s`, h.find.what())
		}
		p.find = h.find.str()
	}
	switch ends := p.end != nil || p.endRef != ""; {
	case p.find != "" && !ends:
		return nil, false, illegal(h.find, "needs an end beside it")
	case p.find == "" && ends:
		p.find = "shortest"
	}
	if p.find != "" && len(p.steps) > 1 {
		return nil, false, illegal(h.hop, "paths are found over one step")
	}
	if p.find != "" && (h.depth == nil || !strings.Contains(string(h.depth.raw), "..")) { // one number is the most steps of a path
		p.min = 1
	}
	if p.find != "" && h.depth == nil {
		p.max = limits.Hops
	}
	return p, must, nil
}

// parseSteps reads ">A,B", "<A", "<>A" and ">A/>B".
func parseSteps(s string) (steps []step, reason string) {
	for part := range strings.SplitSeq(s, "/") {
		st := step{dir: ">"}
		switch {
		case strings.HasPrefix(part, "<>"):
			st.dir, part = "<>", part[2:]
		case strings.HasPrefix(part, ">"), strings.HasPrefix(part, "<"):
			st.dir, part = part[:1], part[1:]
		}
		for typ := range strings.SplitSeq(part, ",") {
			if typ = strings.TrimSpace(typ); !isName(typ) {
				return nil, `must be like ">KNOWS", "<A,B", "<>A" or ">A/>B", was "` + s + `"`
			}
			st.types = append(st.types, typ)
		}
		steps = append(steps, st)
	}
	return steps, ""
}

func parseDepth(n *node) (lo, hi int, ok bool) {
	number := func(s string) (int, bool) {
		i, err := strconv.Atoi(s)
		return i, err == nil && i >= 0 && i <= 1_000_000
	}
	switch n.kind {
	case kNumber:
		if n.scalar.Kind() == graph.Int {
			hi, ok = number(strconv.FormatInt(n.scalar.Int(), 10))
			lo = hi
		}
	case kString:
		from, to, both := strings.Cut(n.str(), "..")
		if lo, ok = number(from); !both {
			hi = lo
		} else if ok {
			hi, ok = number(to)
		}
	}
	return lo, hi, ok && lo >= 1 && lo <= hi
}

// checkKeys checks start and end: a key, a list of keys, or {"Label": key or list}.
func checkKeys(n *node) string {
	const reason = `must be a key, a list of keys, or {"Label": keys}`
	switch n.kind {
	case kNumber, kString:
		return ""
	case kObject:
		if len(n.members) != 1 || !isTableKey(n.members[0].key) || n.members[0].kind == kObject {
			return reason
		}
		return checkKeys(n.members[0])
	case kList:
		for _, e := range n.elems {
			if e.kind != kNumber && e.kind != kString {
				return reason
			}
		}
		return ""
	}
	return reason
}
