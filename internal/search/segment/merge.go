package segment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"slices"
)

// Source is a segment to merge.
type Source struct {
	*Segment
	// Dead has a bit for each document that is left out; nil: none.
	Dead []uint64
}

// dead reports whether a document is left out.
func (s *Source) dead(doc uint32) bool { return s.Dead != nil && s.Dead[doc>>6]>>(doc&63)&1 != 0 }

// merger merges segments.
type merger struct {
	ctx     context.Context
	w       writer
	sources []Source
	docs    [][]uint32 // by source and document: its number in the result
	apart   bool       // each source's documents come after those of the sources before
	order   []int      // of the sources then
}

// Merge writes one segment with the documents of several, and returns what number each has there, by segment, NoDoc if it is left out. No
// two may have one ID.
func Merge(ctx context.Context, to io.Writer, sources []Source) ([][]uint32, error) {
	m := &merger{ctx: ctx, sources: sources}
	m.w.w = to
	if err := m.number(); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range sources {
		for i := range s.fields {
			names = append(names, s.fields[i].name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := m.field(name); err != nil {
			return nil, err
		}
	}
	return m.docs, m.w.end()
}

// number writes the documents in the order of their IDs.
func (m *merger) number() error {
	heads := make([]*IDs, len(m.sources))
	at := make([]uint32, len(m.sources))
	left := 0
	forward := func(i int) bool {
		for s := &m.sources[i]; at[i] < uint32(s.Docs()); at[i]++ {
			if s.dead(at[i]) {
				m.docs[i][at[i]] = NoDoc
				continue
			}
			return heads[i].ID(at[i]) != nil
		}
		heads[i] = nil
		left--
		return true
	}
	for i := range m.sources {
		m.docs = append(m.docs, make([]uint32, m.sources[i].Docs()))
		heads[i] = m.sources[i].IDs()
		left++
		if !forward(i) {
			return ErrCorrupt
		}
	}
	var ids keyWriter
	var sums []byte
	m.apart = true
	for n := uint32(0); left > 0; n++ {
		if n&0xfff == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		least := -1
		for i, h := range heads {
			if h != nil && (least < 0 || bytes.Compare(h.r.key, heads[least].r.key) < 0) {
				least = i
			}
		}
		if len(m.order) == 0 || m.order[len(m.order)-1] != least {
			m.apart = m.apart && !slices.Contains(m.order, least)
			if m.apart {
				m.order = append(m.order, least)
			}
		}
		ids.begin(heads[least].r.key, nil)
		sums = binary.LittleEndian.AppendUint32(sums, m.sources[least].Sum(at[least]))
		m.docs[least][at[least]] = n
		at[least]++
		if !forward(least) {
			return ErrCorrupt
		}
	}
	m.w.begin(&ids, sums)
	return m.w.err
}

// posting is a document with a term.
type posting struct {
	doc, freq uint32
	positions []byte
}

// field merges a field.
func (m *merger) field(name string) error {
	fields := make([]*Field, len(m.sources))
	terms := make([]*Terms, len(m.sources))
	lengths := make([]uint32, m.w.docs)
	for i := range m.sources {
		f := m.sources[i].Field(name)
		if f == nil {
			continue
		}
		fields[i] = f
		for doc, to := range m.docs[i] {
			if to != NoDoc {
				lengths[to] = f.Length(uint32(doc))
			}
		}
		if t := f.Terms(nil); t.Next() {
			terms[i] = t
		} else if t.Err() != nil {
			return ErrCorrupt
		}
	}
	m.w.beginField(name, lengths)
	var p Postings
	var all []posting
	var term []byte
	for n := 0; ; n++ {
		if n&0xff == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		least := -1
		for i, t := range terms {
			if t != nil && (least < 0 || bytes.Compare(t.Text(), terms[least].Text()) < 0) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		term = append(term[:0], terms[least].Text()...)
		all = all[:0]
		for k := range m.sources {
			i := k
			if m.apart {
				if k >= len(m.order) {
					break
				}
				i = m.order[k]
			}
			if terms[i] == nil || !bytes.Equal(terms[i].Text(), term) {
				continue
			}
			p.Reset(fields[i], terms[i].term, false)
			all = m.postings(&p, i, all)
			if p.bad {
				return ErrCorrupt
			}
		}
		slices.SortFunc(all, func(a, b posting) int { return cmp.Compare(a.doc, b.doc) })
		for _, o := range all {
			m.w.term.add(o.doc, o.freq, o.positions)
		}
		m.w.term.end(term)
		for i, t := range terms {
			if t == nil || !bytes.Equal(t.Text(), term) {
				continue
			}
			if !t.Next() {
				terms[i] = nil
				if t.Err() != nil {
					return ErrCorrupt
				}
			}
		}
		if m.w.err != nil {
			return m.w.err
		}
	}
	m.w.endField()
	return m.w.err
}

// postings writes the postings of a term in one source, or appends them to all if they must be put in order first.
func (m *merger) postings(p *Postings, source int, all []posting) []posting {
	docs := m.docs[source]
	for p.NextBlock() {
		for i, doc := range p.Docs() {
			if int64(doc) >= int64(len(docs)) {
				p.fail()
				return all
			}
			to := docs[doc]
			if to == NoDoc {
				continue
			}
			if positions := p.raw(i); m.apart {
				m.w.term.add(to, p.freqs[i], positions)
			} else {
				all = append(all, posting{to, p.freqs[i], positions})
			}
		}
	}
	return all
}
