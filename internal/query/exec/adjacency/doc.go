// Package adjacency reads the neighbours of vertices: expansions, intersections, degrees and path multiplicities.
package adjacency
