// Package hnsw finds the vectors near another one by a navigable graph of them.
//
// The graph is that of Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
// graphs" (2018). Vectors, links and ids are flat arrays in memory that the caller provides. github.com/coder/hnsw, the one library for Go that
// is kept up, has a slice and a map on the Go heap for each vector, which would be outside of the memory that the cache accounts for.
//
// # Concurrency
//
// Searches take no locks: links are read and written as atomic numbers, and a search that meets a list while it is rewritten sees links of
// before and after. Rows are appended by one goroutine and linked by any number of them.
package hnsw
