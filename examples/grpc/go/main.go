// Query runs a statement over gRPC and prints each row as JSON: go run ./examples/grpc/go ADDRESS STATEMENT.
package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

type object = map[string]any

func entries(pairs []*pb.MapEntry) object {
	out := object{}
	for _, e := range pairs {
		out[e.GetKey()] = value(e.GetValue())
	}
	return out
}

func vertex(v *pb.Vertex) object {
	return object{"elementId": v.GetElementId(), "labels": append([]string{}, v.GetLabels()...), "properties": entries(v.GetProperties())}
}

func edge(e *pb.Edge) object {
	return object{
		"elementId": e.GetElementId(), "startNodeElementId": e.GetStartElementId(), "endNodeElementId": e.GetEndElementId(),
		"type": e.GetType(), "properties": entries(e.GetProperties()),
	}
}

func path(p *pb.Path) []any {
	steps := []any{vertex(p.GetVertices()[0])}
	for i, e := range p.GetEdges() {
		steps = append(steps, edge(e), vertex(p.GetVertices()[i+1]))
	}
	return steps
}

func values(vs []*pb.Value) []any {
	out := make([]any, len(vs))
	for i, v := range vs {
		out[i] = value(v)
	}
	return out
}

func value(v *pb.Value) any {
	switch k := v.GetKind().(type) {
	case nil:
		return nil
	case *pb.Value_Boolean:
		return k.Boolean
	case *pb.Value_Integer:
		return k.Integer
	case *pb.Value_Float:
		return k.Float
	case *pb.Value_String_:
		return k.String_
	case *pb.Value_List:
		return values(k.List.GetValues())
	case *pb.Value_Map:
		return entries(k.Map.GetEntries())
	case *pb.Value_Temporal:
		return k.Temporal.GetText()
	case *pb.Value_Vertex:
		return vertex(k.Vertex)
	case *pb.Value_Edge:
		return edge(k.Edge)
	case *pb.Value_Path:
		return path(k.Path)
	case *pb.Value_Point:
		return point(k.Point)
	case *pb.Value_Bytes:
		return base64.StdEncoding.EncodeToString(k.Bytes)
	case *pb.Value_Vector:
		return vector(k.Vector)
	}
	panic(fmt.Sprintf("a value of kind %T", v.GetKind()))
}

// vector gives the coordinates of a vector.
func vector(v *pb.Vector) (out []any) {
	for b := v.GetCoordinates(); len(b) > 0; {
		switch v.GetType() {
		case pb.CoordinateType_COORDINATE_TYPE_INTEGER8:
			out, b = append(out, int8(b[0])), b[1:]
		case pb.CoordinateType_COORDINATE_TYPE_INTEGER16:
			out, b = append(out, int16(binary.LittleEndian.Uint16(b))), b[2:]
		case pb.CoordinateType_COORDINATE_TYPE_INTEGER32:
			out, b = append(out, int32(binary.LittleEndian.Uint32(b))), b[4:]
		case pb.CoordinateType_COORDINATE_TYPE_INTEGER64:
			out, b = append(out, int64(binary.LittleEndian.Uint64(b))), b[8:]
		case pb.CoordinateType_COORDINATE_TYPE_FLOAT32:
			out, b = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b))), b[4:]
		case pb.CoordinateType_COORDINATE_TYPE_FLOAT64:
			out, b = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:]
		default:
			panic("a vector of a type that is not known")
		}
	}
	return out
}

func point(p *pb.Point) string {
	form, numbers := "POINT ", []float64{p.GetX(), p.GetY()}
	if p.GetSrid() == 4979 || p.GetSrid() == 9157 {
		form, numbers = "POINT Z ", append(numbers, p.GetZ())
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		if texts[i] = strconv.FormatFloat(n, 'f', -1, 64); n == math.Trunc(n) {
			texts[i] += ".0"
		}
	}
	return fmt.Sprintf("SRID=%d;%s(%s)", p.GetSrid(), form, strings.Join(texts, " "))
}

// cells gives a function that reads a cell of a column.
func cells(c *pb.Column) func(row int) any {
	switch d := c.GetData().(type) {
	case *pb.Column_Integers:
		return func(i int) any { return d.Integers.GetValues()[i] }
	case *pb.Column_Floats:
		return func(i int) any { return d.Floats.GetValues()[i] }
	case *pb.Column_Texts:
		text, ends := d.Texts.GetText(), d.Texts.GetEnds()
		return func(i int) any {
			start := uint32(0)
			if i > 0 {
				start = ends[i-1]
			}
			return string(text[start:ends[i]])
		}
	case *pb.Column_Values:
		return func(i int) any { return value(d.Values.GetValues()[i]) }
	}
	panic(fmt.Sprintf("a column of kind %T", c.GetData()))
}

func rows(batch *pb.RowBatch) [][]any {
	out := make([][]any, batch.GetRows())
	for i := range out {
		out[i] = make([]any, len(batch.GetColumns()))
	}
	for j, c := range batch.GetColumns() {
		cell := cells(c)
		for i := range out {
			out[i][j] = cell(i)
		}
	}
	return out
}

func run(ctx context.Context, address, statement string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := pb.NewGraphServiceClient(conn).Query(ctx, &pb.QueryRequest{Statement: statement})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for {
		part, err := answer.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows(part.GetRows()) {
			if err := out.Encode(row); err != nil {
				return err
			}
		}
	}
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
