package fetch

import "strings"

// maxCombineNesting bounds the parentheses of @combine.
const maxCombineNesting = 20

// parseCombine reads @combine: an expression over the keys of the conditions, or the old form, a list. Conditions that
// it does not name are joined to it by AND.
func (t *table) parseCombine(m *node) (*combination, error) {
	keys := make(map[string]bool)
	for _, c := range t.conds {
		if !c.isIt {
			keys[c.key] = true
		}
	}
	used := make(map[string]bool)
	var c *combination
	var err error
	if parts := splitList(m.str()); len(parts) > 1 {
		c, err = oldCombination(m, parts, keys, used)
	} else if len(parts) == 1 {
		c, err = parseCombination(m, keys, used)
	}
	if err != nil {
		return nil, err
	}
	all := &combination{op: '&'}
	for _, d := range t.conds {
		switch {
		case !used[d.key] || d.isIt:
			all.args = append(all.args, &combination{op: 'k', key: d.key})
		case d.key == "id" || d.key == "id{}" || d.key == "userId" || d.key == "userId{}":
			return nil, unsupported(m, "%s cannot be combined, it always holds", d.key)
		}
	}
	if c != nil {
		all.args = append(all.args, c)
	}
	return all, nil
}

// oldCombination reads "&a,b,c,!d": a AND (b OR c) AND NOT d.
func oldCombination(m *node, parts []string, keys, used map[string]bool) (*combination, error) {
	var and, or, not []*combination
	for _, p := range parts {
		to := &or
		switch p[0] {
		case '&':
			to, p = &and, p[1:]
		case '|':
			p = p[1:]
		case '!':
			to, p = &not, p[1:]
		}
		if !keys[p] {
			return nil, illegal(m, "there is no condition %q", p)
		}
		used[p] = true
		*to = append(*to, &combination{op: 'k', key: p})
	}
	all := &combination{op: '&', args: and}
	if len(or) > 0 {
		all.args = append(all.args, &combination{op: '|', args: or})
	}
	if len(not) > 0 {
		all.args = append(all.args, &combination{op: '!', args: []*combination{{op: '|', args: not}}})
	}
	return all, nil
}

// combineParser reads a | (b & !c). Operators have one blank on either side, parentheses and ! none inside.
type combineParser struct {
	m          *node
	s          string
	pos, depth int
	keys, used map[string]bool
}

func parseCombination(m *node, keys, used map[string]bool) (*combination, error) {
	p := &combineParser{m: m, s: m.str(), keys: keys, used: used}
	if p.s == "" {
		return nil, nil
	}
	c, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.pos < len(p.s) {
		return nil, p.fault("unexpected text")
	}
	return c, nil
}

func (p *combineParser) fault(what string) error {
	return illegal(p.m, "%s at %q: write one blank on either side of & and | and none elsewhere", what, p.s[p.pos:])
}

func (p *combineParser) take(s string) bool {
	if strings.HasPrefix(p.s[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *combineParser) or() (*combination, error) { return p.chain('|', p.and) }

func (p *combineParser) and() (*combination, error) { return p.chain('&', p.not) }

func (p *combineParser) chain(op byte, next func() (*combination, error)) (*combination, error) {
	c, err := next()
	if err != nil {
		return nil, err
	}
	args := []*combination{c}
	for p.take(" " + string(op) + " ") {
		if c, err = next(); err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	if len(args) == 1 {
		return c, nil
	}
	return &combination{op: op, args: args}, nil
}

func (p *combineParser) not() (*combination, error) {
	not := p.take("!")
	c, err := p.key()
	if err == nil && not {
		c = &combination{op: '!', args: []*combination{c}}
	}
	return c, err
}

func (p *combineParser) key() (*combination, error) {
	if p.take("(") {
		if p.depth++; p.depth > maxCombineNesting {
			return nil, p.fault("parentheses nested too deep")
		}
		c, err := p.or()
		if err != nil {
			return nil, err
		}
		p.depth--
		if !p.take(")") {
			return nil, p.fault("expected a closing parenthesis")
		}
		return c, nil
	}
	end := strings.IndexAny(p.s[p.pos:], " )(")
	if end < 0 {
		end = len(p.s) - p.pos
	}
	key := p.s[p.pos : p.pos+end]
	if key == "" {
		return nil, p.fault("expected a key")
	}
	if !p.keys[key] {
		return nil, illegal(p.m, "there is no condition %q", key)
	}
	p.pos += end
	p.used[key] = true
	return &combination{op: 'k', key: key}, nil
}
