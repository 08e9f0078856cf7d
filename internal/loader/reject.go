package loader

import (
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/shard"
)

// Reject is a refused row, in the form of its line in the rejects directory.
type Reject struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Column  string `json:"column"`
	Value   string `json:"value"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// reject counts and stores a refused row.
func (r *run) reject(j *job, x *refused) error {
	in := r.plan.steps[j.step].in
	rej := Reject{
		File: in.Name, Line: j.lineOf(x.start), Value: x.value, Code: x.code, Message: x.reason,
	}
	if x.slot >= 0 && x.slot < len(in.bound.Columns) {
		rej.Column = in.bound.Columns[x.slot]
	}
	if id := in.element(j.chunk.Data[x.start:x.end]); id != "" {
		rej.Message += "; the element is " + id
	}
	again, err := r.log.add(in, &rej, j.chunk.Data[x.start:x.end], j.seq)
	if err != nil || again {
		return err
	}
	r.counts.reject(j.step)
	if r.o.OnReject != nil {
		r.o.OnReject(rej)
	}
	return nil
}

// locate finds the record behind a row that the server refused.
func (s *step) locate(data []byte, start, rule int, x *shard.Rejected) *refused {
	scan := s.in.scanner()
	scan.Reset(data[start:])
	cells, _, _ := scan.Next()
	end := len(data)
	switch c := scan.(type) {
	case *record.Scanner:
		end = start + c.End
	case *record.Lines:
		end = start + c.End
	}
	out := &refused{start: start, end: end, slot: -1, code: x.Code, reason: x.Msg}
	text := func(slot int) string {
		if slot < len(cells) {
			return excerpt(cells[slot].Text)
		}
		return ""
	}
	if x.Edge {
		e := &s.in.bound.Edges[rule]
		out.slot = e.From.Slots[0]
		out.value = text(out.slot) + " -> " + text(e.To.Slots[0])
	} else {
		out.slot = s.in.bound.Vertices[rule].ID.Slots[0]
		out.value = text(out.slot)
	}
	return out
}
