// Package spatial computes with points: distances, boxes, and the places of points in an index.
package spatial
