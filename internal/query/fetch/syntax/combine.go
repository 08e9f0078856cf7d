package syntax

import "strings"

// maxCombineNesting bounds the parentheses of @combine.
const maxCombineNesting = 20

// parseCombine reads @combine: an expression over the keys of the conditions, or the old form, a list. Conditions that
// it does not name are joined to it by AND.
func (t *Table) parseCombine(m *Node) (*Combination, error) {
	keys := make(map[string]bool)
	for _, c := range t.Conds {
		if !c.IsIt {
			keys[c.Key] = true
		}
	}
	used := make(map[string]bool)
	var c *Combination
	var err error
	if parts := SplitList(m.Str()); len(parts) > 1 {
		c, err = oldCombination(m, parts, keys, used)
	} else if len(parts) == 1 {
		c, err = parseCombination(m, keys, used)
	}
	if err != nil {
		return nil, err
	}
	all := &Combination{Op: '&'}
	for _, d := range t.Conds {
		switch {
		case !used[d.Key] || d.IsIt:
			all.Args = append(all.Args, &Combination{Op: 'k', Key: d.Key})
		case d.Key == "id" || d.Key == "id{}" || d.Key == "userId" || d.Key == "userId{}":
			return nil, Unsupported(m, "%s cannot be combined, it always holds", d.Key)
		}
	}
	if c != nil {
		all.Args = append(all.Args, c)
	}
	return all, nil
}

// oldCombination reads "&a,b,c,!d": a AND (b OR c) AND NOT d.
func oldCombination(m *Node, parts []string, keys, used map[string]bool) (*Combination, error) {
	var and, or, not []*Combination
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
			return nil, Illegal(m, "there is no condition %q", p)
		}
		used[p] = true
		*to = append(*to, &Combination{Op: 'k', Key: p})
	}
	all := &Combination{Op: '&', Args: and}
	if len(or) > 0 {
		all.Args = append(all.Args, &Combination{Op: '|', Args: or})
	}
	if len(not) > 0 {
		all.Args = append(all.Args, &Combination{Op: '!', Args: []*Combination{{Op: '|', Args: not}}})
	}
	return all, nil
}

// combineParser reads a | (b & !c). Operators have one blank on either side, parentheses and ! none inside.
type combineParser struct {
	m          *Node
	s          string
	pos, depth int
	keys, used map[string]bool
}

func parseCombination(m *Node, keys, used map[string]bool) (*Combination, error) {
	p := &combineParser{m: m, s: m.Str(), keys: keys, used: used}
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
	return Illegal(p.m, "%s at %q: write one blank on either side of & and | and none elsewhere", what, p.s[p.pos:])
}

func (p *combineParser) take(s string) bool {
	if strings.HasPrefix(p.s[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *combineParser) or() (*Combination, error) { return p.chain('|', p.and) }

func (p *combineParser) and() (*Combination, error) { return p.chain('&', p.not) }

func (p *combineParser) chain(op byte, next func() (*Combination, error)) (*Combination, error) {
	c, err := next()
	if err != nil {
		return nil, err
	}
	args := []*Combination{c}
	for p.take(" " + string(op) + " ") {
		if c, err = next(); err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	if len(args) == 1 {
		return c, nil
	}
	return &Combination{Op: op, Args: args}, nil
}

func (p *combineParser) not() (*Combination, error) {
	not := p.take("!")
	c, err := p.key()
	if err == nil && not {
		c = &Combination{Op: '!', Args: []*Combination{c}}
	}
	return c, err
}

func (p *combineParser) key() (*Combination, error) {
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
		return nil, Illegal(p.m, "there is no condition %q", key)
	}
	p.pos += end
	p.used[key] = true
	return &Combination{Op: 'k', Key: key}, nil
}
