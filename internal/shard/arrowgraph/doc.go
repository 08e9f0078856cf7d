// Package arrowgraph reads a graph from Arrow record batches in memory: rows of vertices and rows of edges. It shows what a backing that
// only reads has to write, and only tests use it.
package arrowgraph
