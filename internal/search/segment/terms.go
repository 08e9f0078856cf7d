package segment

import (
	"bytes"

	"github.com/blevesearch/vellum"
)

// Term says where the postings of a term lie.
type Term struct {
	// Docs is the number of documents with the term, dead ones too.
	Docs      int
	at        uint64
	size      uint64
	positions uint64
}

// Terms reads the terms of a field in ascending order.
type Terms struct {
	r    keyReader
	term Term
	next uint64 // where the next term's postings begin
}

// termHead is the number of varints before the first term of a block.
const termHead = 1

// Terms returns a reader that is before the first term of the block that may have a term, or of the one after.
func (f *Field) Terms(from []byte) *Terms {
	t := &Terms{r: keyReader{of: &f.terms}}
	t.seek(from)
	return t
}

func (t *Terms) seek(from []byte) { t.r.seek(t.r.of.find(from, termHead)) }

// Next reads a term; false at the end.
func (t *Terms) Next() bool {
	if t.r.at >= t.r.of.n {
		return false
	}
	if t.r.at%blockKeys == 0 {
		t.next = t.r.uvarint()
	}
	if !t.r.next() {
		return false
	}
	t.term = Term{Docs: int(min(t.r.uvarint(), NoDoc)), at: t.next, size: t.r.uvarint(), positions: t.r.uvarint()}
	t.next += t.term.size + t.term.positions
	return !t.r.bad
}

// Text is the term, valid until the next call of Next.
func (t *Terms) Text() []byte { return t.r.key }

// Err returns ErrCorrupt if reading ended at bytes that are no term.
func (t *Terms) Err() error {
	if t.r.bad {
		return ErrCorrupt
	}
	return nil
}

// Find returns where the postings of a term lie; ok is false if no document has it.
func (f *Field) Find(term []byte) (_ Term, ok bool, err error) {
	t := Terms{r: keyReader{of: &f.terms, key: make([]byte, 0, 64)}}
	t.seek(term)
	for t.Next() {
		if c := bytes.Compare(t.r.key, term); c >= 0 {
			return t.term, c == 0, nil
		}
	}
	return Term{}, false, t.Err()
}

// Match calls each with all terms that begin with a prefix and that an automaton accepts, in order, until it fails. Where the automaton can no
// longer accept what a block of terms begins with, Match goes on after all terms that begin so.
func (f *Field) Match(a vellum.Automaton, prefix []byte, each func(term []byte) error) error {
	t := f.Terms(prefix)
	states := []int{a.Start()} // by number of bytes read of the key
	for t.Next() {
		key := t.Text()
		states = states[:min(len(states), t.r.shared+1)]
		if !bytes.HasPrefix(key, prefix) {
			if bytes.Compare(key, prefix) > 0 {
				break
			}
			states = states[:1]
			continue
		}
		for i := len(states) - 1; i < len(key) && a.CanMatch(states[i]); i++ {
			states = append(states, a.Accept(states[i], key[i]))
		}
		n := len(states) - 1
		switch {
		case !a.CanMatch(states[n]):
			if after := successor(key[:n]); t.r.at%blockKeys == 1 && after != nil {
				t.skip(after)
			} else if after == nil && n == 0 {
				return t.Err()
			}
		case n == len(key) && a.IsMatch(states[n]):
			if err := each(key); err != nil {
				return err
			}
		}
	}
	return t.Err()
}

// skip goes on with the last block that begins before a key, if it is a later one.
func (t *Terms) skip(to []byte) {
	if block := t.r.of.find(to, termHead); block > t.r.at/blockKeys {
		t.r.seek(block)
	}
}

// successor is the least key after all that begin with a prefix; nil if there is none.
func successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			s := bytes.Clone(prefix[:i+1])
			s[i]++
			return s
		}
	}
	return nil
}
