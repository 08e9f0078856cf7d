// Package tck runs the conformance cases of openCypher over the naive graph: in the query engine, and through the transports of a server.
package tck
