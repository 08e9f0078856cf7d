package main

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
)

// resolver looks up keys on the server for a dry run. Without a server, the graph counts as empty.
func (a *app) resolver(conn *grpc.ClientConn) loader.Resolver {
	client := pb.NewGraphServiceClient(conn)
	return func(ctx context.Context, sp *loader.Space, keys []graph.Value) ([]bool, error) {
		found := make([]bool, len(keys))
		list := make([]*pb.Value, len(keys))
		for i, k := range keys {
			list[i] = valueProto(k)
		}
		stream, err := client.Query(ctx, &pb.QueryRequest{
			Statement: "UNWIND range(0, size($keys) - 1) AS i MATCH (n:" + answer.QuoteName(sp.Label) + ") WHERE n." + answer.QuoteName(sp.Property) + " = $keys[i] RETURN i",
			Parameters: map[string]*pb.Value{
				"keys": {Kind: &pb.Value_List{List: &pb.ListValue{Values: list}}},
			},
			Graph: a.Graph, AccessMode: pb.AccessMode_ACCESS_MODE_READ,
		})
		if err != nil {
			return nil, err
		}
		for {
			part, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF), status.Code(err) == codes.Unavailable:
				return found, nil
			case err != nil:
				return nil, err
			}
			for _, c := range part.GetRows().GetColumns() {
				for _, i := range c.GetIntegers().GetValues() {
					found[i] = true
				}
				for _, v := range c.GetValues().GetValues() {
					found[v.GetInteger()] = true
				}
			}
		}
	}
}

// findSpaces matches id spaces of earlier loads with the server's indexes.
func (a *app) findSpaces(ctx context.Context, conn *grpc.ClientConn, plan *loader.Plan) error {
	s, err := pb.NewAdminServiceClient(conn).Schema(ctx, &pb.SchemaRequest{Graph: a.Graph})
	if err != nil {
		return err
	}
	var indexes []graph.Index
	for _, x := range s.GetIndexes() {
		indexes = append(indexes, graph.Index{Name: x.GetName(), Label: x.GetLabel(), Type: x.GetType(), Props: x.GetProperties(), Unique: x.GetUnique()})
	}
	plan.FindSpaces(indexes)
	return nil
}
