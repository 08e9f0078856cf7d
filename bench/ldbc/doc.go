// Package ldbc runs LDBC's Social Network Benchmark, Interactive v1, over the graph of its data generator.
package ldbc
