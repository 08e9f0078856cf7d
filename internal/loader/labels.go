package loader

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// labelSets numbers the label sets (or types) of rows.
type labelSets struct {
	rules []mapping.LabelRule
	slots []int // of the rules that read a column
	dict  mapping.Dict
	sets  [][]string
	bad   []int // by set: the slot whose text is not a valid label, or -1
	key   []byte
	last  int // the set found last
}

func newLabelSets(rules []mapping.LabelRule) *labelSets {
	l := &labelSets{rules: rules}
	for i := range rules {
		if rules[i].Slot >= 0 {
			l.slots = append(l.slots, rules[i].Slot)
		}
	}
	return l
}

// find returns the number of a row's set. Known sets are found without allocation.
func (l *labelSets) find(cells []record.Cell) int {
	if len(l.slots) == 1 && l.last < l.dict.Len() {
		// Most rows have the set of the row before, whose key ends in one more byte.
		c, key := cells[l.slots[0]], l.dict.Key(l.last)
		if n := len(c.Text); len(key) == n+1 && key[:n] == string(c.Text) && c.Kind != record.Missing && c.Kind != record.Null {
			return l.last
		}
	}
	l.key = l.key[:0]
	for _, s := range l.slots {
		c := cells[s]
		if c.Kind == record.Missing || c.Kind == record.Null {
			l.key = append(l.key, 0xff)
		}
		l.key = append(append(l.key, c.Text...), 0xfe)
	}
	if l.last < l.dict.Len() && l.dict.Key(l.last) == string(l.key) {
		return l.last
	}
	n := l.dict.Add(l.key)
	if n == len(l.sets) {
		l.resolve(cells)
	}
	l.last = n
	return n
}

// set returns the labels of a set. Callers must not modify them.
func (l *labelSets) set(n int) []string { return l.sets[n] }

func (l *labelSets) resolve(cells []record.Cell) {
	var set []string
	bad := -1
	add := func(name string) {
		if name != "" && !slices.Contains(set, name) {
			set = append(set, name)
		}
	}
	for i := range l.rules {
		r := &l.rules[i]
		if r.Slot < 0 {
			add(r.Name)
			continue
		}
		c := cells[r.Slot]
		if r.Values != nil {
			if v := r.Values.Find(c.Text); v >= 0 {
				add(r.Mapped[v])
				continue
			}
			if !r.Conv.IsNull(c) {
				bad = r.Slot
			}
			continue
		}
		if r.Conv.IsNull(c) {
			continue
		}
		text := c.Text
		for r.Split != nil {
			j := bytes.Index(text, r.Split)
			if j < 0 {
				break
			}
			add(string(bytes.TrimSpace(text[:j])))
			text = text[j+len(r.Split):]
		}
		add(string(bytes.TrimSpace(text)))
	}
	l.sets, l.bad = append(l.sets, set), append(l.bad, bad)
}
