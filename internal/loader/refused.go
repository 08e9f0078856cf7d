package loader

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/hopgate/hopgate/internal/shard"
)

// progress is the stored state of a load: its position, and the refused rows of batches whose rejects the client has not confirmed writing.
// A load that resumes receives these again.
//
// Its encoding is
//
//	byte     4
//	bytes    mark of the last batch
//	         counts of all batches before the commit, as shard.LoadCounts.Append writes them
//	uvarint  number of the last confirmed batch
//	bytes    its mark
//	uvarint  number of further batches with refused rows; for each, its number minus the confirmed one, and the rows as bytes
//	uvarint  number of vertex groups in the commit; for each, its batch (relative likewise) and its index there
//	         the same for edges
//	         the outcome of the commit, by these groups, as shard.Load.AppendOutcome writes it
//
// where bytes are prefixed by their length.
type progress struct {
	mark          []byte
	counts        shard.LoadCounts
	confirmed     uint64
	confirmedMark []byte
	refused       []Ack
	// vertices and edges say which batches the commit's groups come from.
	vertices, edges []origin
}

// origin is a group of a batch.
type origin struct {
	seq   uint64
	group int
}

const progressForm = 4

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// encode writes everything except the outcome of the commit.
func (p *progress) encode() []byte {
	b := p.counts.Append(appendBytes([]byte{progressForm}, p.mark))
	b = binary.AppendUvarint(b, p.confirmed)
	b = appendBytes(b, p.confirmedMark)
	b = binary.AppendUvarint(b, uint64(len(p.refused)))
	for i := range p.refused {
		b = binary.AppendUvarint(b, p.refused[i].Seq-p.confirmed)
		b = appendBytes(b, shard.AppendRejected(nil, p.refused[i].Rejected))
	}
	for _, groups := range [][]origin{p.vertices, p.edges} {
		b = binary.AppendUvarint(b, uint64(len(groups)))
		for _, o := range groups {
			b = binary.AppendUvarint(b, o.seq-p.confirmed)
			b = binary.AppendUvarint(b, uint64(o.group))
		}
	}
	return b
}

var errProgress = errors.New("this version cannot read the stored progress of the load; use --restart")

// decodeProgress reads the stored progress of a load.
func decodeProgress(b []byte) (p progress, err error) {
	if len(b) == 0 || b[0] != progressForm {
		return progress{}, errProgress
	}
	f := shard.Fields{Rest: b[1:]}
	p.mark = f.Bytes()
	p.counts = f.Counts()
	p.confirmed = f.Number()
	p.confirmedMark = f.Bytes()
	for n := f.Number(); n > 0 && !f.Bad; n-- {
		a := Ack{Seq: p.confirmed + f.Number()}
		if a.Rejected, err = shard.ReadRejected(f.Bytes()); err != nil {
			return p, errProgress
		}
		p.refused = append(p.refused, a)
	}
	for _, groups := range []*[]origin{&p.vertices, &p.edges} {
		for n := f.Number(); n > 0 && !f.Bad; n-- {
			*groups = append(*groups, origin{p.confirmed + f.Number(), int(f.Number())})
		}
	}
	if f.Bad {
		return p, errProgress
	}
	counts, last, err := shard.ReadOutcome(f.Rest)
	if err != nil {
		return p, errProgress
	}
	p.counts.Add(counts)
	for _, r := range last {
		groups := p.vertices
		if r.Edge {
			groups = p.edges
		}
		if r.Group >= len(groups) {
			return p, errProgress
		}
		p.refuse(groups[r.Group], r)
	}
	return p, nil
}

// refuse adds a row of a commit, refused in the group of origin.
func (p *progress) refuse(of origin, r shard.Rejected) {
	r.Group = of.group
	for i := len(p.refused) - 1; i >= 0; i-- {
		if a := &p.refused[i]; a.Seq == of.seq {
			a.Rejected = append(a.Rejected, r)
			return
		}
	}
	p.refused = append(p.refused, Ack{Seq: of.seq, Rejected: []shard.Rejected{r}})
}

// applied is an unconfirmed batch.
type applied struct {
	seq  uint64
	mark []byte
}

// confirm drops the refused rows of batches up to seq.
func (s *Session) confirm(seq uint64) {
	for len(s.waiting) > 0 && s.waiting[0].seq <= seq {
		s.known.confirmed, s.known.confirmedMark = s.waiting[0].seq, s.waiting[0].mark
		s.waiting = s.waiting[1:]
	}
	kept := s.known.refused[:0]
	for _, a := range s.known.refused {
		if a.Seq > s.known.confirmed {
			kept = append(kept, a)
		}
	}
	s.known.refused = kept
}

// note records the refused rows of a batch.
func (s *Session) note(b *Batch, a *Ack) {
	s.waiting = append(s.waiting, applied{b.Seq, bytes.Clone(b.Mark)})
	if len(a.Rejected) > 0 {
		s.known.refused = append(s.known.refused, Ack{Seq: b.Seq, Rejected: a.Rejected})
	}
}
