package syntax

import "strings"

// parseWrites parses the objects of post, put and delete: "Label": {…} and "Label[]": [{…}, …].
func (r *Request) parseWrites() error {
	total := 0
	for _, m := range r.Doc.Root.Members {
		if m.Kind == JSONNull || RootWords[m.Key] || strings.HasPrefix(m.Key, "@") {
			continue
		}
		w := &Write{N: m, Key: m.Key}
		label, _ := SplitAlias(strings.TrimSuffix(m.Key, "[]"))
		switch {
		case m.Kind == JSONObject && !IsArrayKey(m.Key) && IsTableKey(m.Key):
			w.Objs = []*Node{m}
		case m.Kind == JSONList && IsArrayKey(m.Key) && IsTableKey(label):
			w.List = true
			w.Objs = m.Elems
			for _, e := range m.Elems {
				if e.Kind != JSONObject {
					return Fail(CodeType, e, "must be an object, was %s", e.What())
				}
			}
			if len(m.Elems) == 0 {
				return Illegal(m, "must not be empty")
			}
		case m.Kind == JSONObject && IsArrayKey(m.Key):
			return Unsupported(m, "arrays to read belong in get; write a list of objects")
		case m.Kind == JSONObject || m.Kind == JSONList:
			return Illegal(m, "must be a table: its key begins with an upper-case letter")
		default:
			continue
		}
		if total += len(w.Objs); total > r.Limits.Writes {
			return Illegal(m, "writes more than the %d objects of fetch-writes", r.Limits.Writes)
		}
		for _, o := range w.Objs {
			if len(o.Members) == 0 {
				return Illegal(o, "must not be empty")
			}
		}
		r.Writes = append(r.Writes, w)
	}
	return nil
}
