// Package tck runs the conformance cases of openCypher against the query engine, in process and over the naive graph.
package tck
