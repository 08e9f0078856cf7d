// Package search finds paths and reachable vertices: variable length, frontiers, shortest and cheapest paths, typed traversals.
package search
