// Package grpcapi serves the gRPC API: statements, traversals, loads and administration as streams.
package grpcapi
