package loader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
)

// Stored progress decodes to the encoded one, with refused rows at their batches, and truncated input is an error, as is another
// form.
func TestProgressStored(t *testing.T) {
	row := func(edge bool, group, row int) shard.Rejected {
		return shard.Rejected{Edge: edge, Group: group, Row: row, Code: "C", Msg: "m"}
	}
	p := progress{
		mark: []byte("mark"), counts: shard.LoadCounts{Vertices: shard.RowCounts{Created: 4}, Edges: shard.RowCounts{Overwritten: 5}}, confirmed: 7, confirmedMark: []byte("earlier"), refused: []Ack{{Seq: 9, Rejected: []shard.Rejected{row(false, 2, 5)}}},
		vertices: []origin{{10, 0}, {12, 1}}, edges: []origin{{11, 3}},
	}
	commit := shard.Load{
		Counts:   shard.LoadCounts{Vertices: shard.RowCounts{Created: 1, Unchanged: 2}, Edges: shard.RowCounts{Deleted: 3}},
		Rejected: []shard.Rejected{row(false, 1, 4), row(false, 1, 6), row(true, 0, 1)},
	}
	stored := commit.AppendOutcome(p.encode())
	got, err := decodeProgress(stored)
	require.NoError(t, err)
	p.counts = shard.LoadCounts{Vertices: shard.RowCounts{Created: 5, Unchanged: 2}, Edges: shard.RowCounts{Overwritten: 5, Deleted: 3}}
	p.refused = append(p.refused, Ack{Seq: 12, Rejected: []shard.Rejected{row(false, 1, 4), row(false, 1, 6)}}, Ack{Seq: 11, Rejected: []shard.Rejected{row(true, 3, 1)}})
	require.Equal(t, p, got)
	whole := len(p.encode())
	for n := 1; n < len(stored); n++ {
		got, err := decodeProgress(stored[:n])
		if err == nil {
			require.Less(t, len(got.refused), 3, "%d of %d bytes, %d without the last rows", n, len(stored), whole)
		}
	}
	_, err = decodeProgress([]byte{1, 5, 6})
	require.ErrorIs(t, err, errProgress)
}
