// Package stats holds the statistics of a shard that every commit maintains and plans use: counters of vertices, edges and properties,
// histograms of the lengths of edge lists, and sketches of the distinct values of indexes.
//
// Counters, Degrees and the maps of sketches are never changed once they were handed out: a commit makes new ones from a Delta, so readers
// keep those of their snapshot.
package stats
