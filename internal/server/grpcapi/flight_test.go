package grpcapi

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
)

// messages are the messages of a stream.
type messages []*flight.FlightData

func (m *messages) Send(d *flight.FlightData) error {
	*m = append(*m, &flight.FlightData{DataHeader: slices.Clone(d.GetDataHeader()), DataBody: slices.Clone(d.GetDataBody())})
	return nil
}

func (m *messages) Recv() (*flight.FlightData, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	first := (*m)[0]
	*m = (*m)[1:]
	return first, checkMetadata(first.GetDataHeader())
}

// Damaged parameters are an error or other values, and never an internal server error.
func TestDamagedParameters(t *testing.T) {
	list := arrow.ListOf(arrow.BinaryTypes.String)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "names", Type: list, Nullable: true},
		{Name: "map", Type: arrow.StructOf(arrow.Field{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+01:00"}, Nullable: true}), Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"id": 1, "names": ["a", "bc"], "map": {"at": "2026-01-02T03:04:05Z"}}, {"id": null, "names": null, "map": null}]`))
	require.NoError(t, err)
	var sent messages
	w := flight.NewRecordWriter(&sent, ipc.WithSchema(schema))
	require.NoError(t, w.Write(rec))
	require.Len(t, sent, 2)
	service := &sqlService{e: query.New(oracle.New(1), query.Options{})}
	read := func(m messages) (rows int, err error) {
		r, err := flight.NewRecordReader(&m, ipc.WithDelayReadSchema(true))
		if err != nil {
			return 0, err
		}
		defer r.Release()
		err = service.eachRow(t.Context(), r, func(map[string]graph.Value) error { rows++; return nil })
		return rows, err
	}
	rows, err := read(slices.Clone(sent))
	require.NoError(t, err)
	require.Equal(t, 2, rows)
	refused := 0
	for i, m := range sent {
		for k := range len(m.GetDataHeader()) + len(m.GetDataBody()) {
			for _, bit := range []byte{1, 0x80, 0xff} {
				damaged := slices.Clone(sent)
				header, body := slices.Clone(m.GetDataHeader()), slices.Clone(m.GetDataBody())
				if k < len(header) {
					header[k] ^= bit
				} else {
					body[k-len(header)] ^= bit
				}
				damaged[i] = &flight.FlightData{DataHeader: header, DataBody: body}
				if _, err := read(damaged); err != nil {
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 100)
}

// nestedSchema is the metadata of a schema of one field, nested to a depth, where each field names its child so many times.
func nestedSchema(depth, times int) []byte {
	b := flatbuffers.NewBuilder(0)
	var field flatbuffers.UOffsetT
	for level := range depth {
		b.StartVector(4, times, 4)
		for range times {
			if level > 0 {
				b.PrependUOffsetT(field)
			}
		}
		count := times
		if level == 0 {
			count = 0
		}
		children := b.EndVector(count)
		b.StartObject(7)
		b.PrependUOffsetTSlot(5, children, 0)
		field = b.EndObject()
	}
	b.StartVector(4, 1, 4)
	b.PrependUOffsetT(field)
	fields := b.EndVector(1)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	schema := b.EndObject()
	b.StartObject(5)
	b.PrependByteSlot(1, 1, 0)
	b.PrependUOffsetTSlot(2, schema, 0)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

// Metadata that are small but name much, or nest deep, are refused.
func TestMetadataBombs(t *testing.T) {
	require.NoError(t, checkMetadata(nil))
	require.NoError(t, checkMetadata(nestedSchema(100, 1)))
	require.NoError(t, checkMetadata(nestedSchema(10, 2)))
	require.ErrorContains(t, checkMetadata(nestedSchema(200, 1)), "nested deeper than 128")
	require.ErrorContains(t, checkMetadata(nestedSchema(60, 2)), "exceed 16777216 bytes")
	require.ErrorContains(t, checkMetadata([]byte{1}), "cannot read")
}

// A ticket that is no statement is an error, whatever its bytes.
func FuzzStatement(f *testing.F) {
	for _, seed := range []string{"RETURN 1", `{"statement": "RETURN $x", "parameters": {"x": [1]}}`, "{", "\n\x01x", "\xff"} {
		f.Add([]byte(seed))
	}
	handle, err := handleOf("RETURN $x", map[string]graph.Value{"x": graph.IntValue(1)})
	require.NoError(f, err)
	f.Add(handle)
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = requestIn(b, nil)
		_, _ = handleRequest(b, nil)
		_ = command(b)
		_ = checkMetadata(b)
	})
}
