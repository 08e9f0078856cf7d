// Package temporal computes with openCypher's dates, times and durations.
package temporal
