// Package grpcapi serves the gRPC API, statements, traversals, loads and administration as streams, and Arrow Flight.
package grpcapi
