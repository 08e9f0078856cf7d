package fetch

import "strings"

// parseWrites parses the objects of post, put and delete: "Label": {…} and "Label[]": [{…}, …].
func (r *Request) parseWrites() error {
	total := 0
	for _, m := range r.doc.root.members {
		if m.kind == kNull || rootWords[m.key] || strings.HasPrefix(m.key, "@") {
			continue
		}
		w := &write{n: m, key: m.key}
		label, _ := splitAlias(strings.TrimSuffix(m.key, "[]"))
		switch {
		case m.kind == kObject && !isArrayKey(m.key) && isTableKey(m.key):
			w.objs = []*node{m}
		case m.kind == kList && isArrayKey(m.key) && isTableKey(label):
			w.list = true
			w.objs = m.elems
			for _, e := range m.elems {
				if e.kind != kObject {
					return fail(CodeType, e, "must be an object, was %s", e.what())
				}
			}
			if len(m.elems) == 0 {
				return illegal(m, "must not be empty")
			}
		case m.kind == kObject && isArrayKey(m.key):
			return unsupported(m, "an array that is read stands in get alone; a list of objects is written")
		case m.kind == kObject || m.kind == kList:
			return illegal(m, "must be a table: its key begins with an upper-case letter")
		default:
			continue
		}
		if total += len(w.objs); total > r.limits.Writes {
			return illegal(m, "writes more than the %d objects of fetch-writes", r.limits.Writes)
		}
		for _, o := range w.objs {
			if len(o.members) == 0 {
				return illegal(o, "must not be empty")
			}
		}
		r.writes = append(r.writes, w)
	}
	return nil
}
