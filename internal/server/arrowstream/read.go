package arrowstream

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// Column returns all elements of an array as Value does, without references to the array's memory. Texts share one copy of theirs. The structs by
// which the writer represents values become these values, also in lists.
func Column(a arrow.Array, charge *memory.Charge) (out []graph.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("invalid Arrow data: %v", p)
		}
	}()
	if err := charge.Add(a.Len() * int(unsafe.Sizeof(graph.Value{}))); err != nil {
		return nil, err
	}
	out = make([]graph.Value, a.Len())
	switch a := a.(type) {
	case *array.Int64:
		whole(out, a, a.Int64Values())
	case *array.Int32:
		whole(out, a, a.Int32Values())
	case *array.Float64:
		floating(out, a, a.Float64Values())
	case *array.Float32:
		floating(out, a, a.Float32Values())
	case *array.String:
		err = strs(out, a, charge)
	case *array.LargeString:
		err = strs(out, a, charge)
	case *array.Dictionary:
		var words []graph.Value
		if words, err = Column(a.Dictionary(), charge); err != nil {
			return nil, err
		}
		for i := range out {
			if a.IsValid(i) {
				out[i] = words[a.GetValueIndex(i)]
			}
		}
	default:
		for i := range out {
			if out[i], err = value(a, i, 0, charge); err != nil {
				return nil, err
			}
		}
	}
	if of := structOf(a.DataType()); of != nil && err == nil {
		err = replaceMaps(out, of)
	}
	return out, err
}

func whole[T int32 | int64](out []graph.Value, a arrow.Array, values []T) {
	for i, v := range values {
		if a.NullN() == 0 || a.IsValid(i) {
			out[i] = graph.IntValue(int64(v))
		}
	}
}

func floating[T float32 | float64](out []graph.Value, a arrow.Array, values []T) {
	for i, v := range values {
		if a.NullN() == 0 || a.IsValid(i) {
			out[i] = graph.FloatValue(float64(v))
		}
	}
}

// strs copies the texts of an array at once.
func strs(out []graph.Value, a array.StringLike, charge *memory.Charge) error {
	size := 0
	for i := range out {
		if a.IsValid(i) {
			size += len(a.Value(i))
		}
	}
	if err := charge.Add(size); err != nil {
		return err
	}
	all := make([]byte, 0, size)
	for i := range out {
		if a.IsValid(i) {
			from := len(all)
			if all = append(all, a.Value(i)...); !utf8.Valid(all[from:]) {
				return fmt.Errorf("row %d is not UTF-8", i)
			}
			out[i] = graph.StringValue(unsafe.String(unsafe.SliceData(all[from:]), len(all)-from))
		}
	}
	return nil
}
