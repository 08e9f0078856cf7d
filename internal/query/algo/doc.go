// Package algo computes with whole graphs: ranks, components, communities, distances, and more.
package algo
