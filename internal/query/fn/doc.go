// Package fn computes openCypher's operators, functions and aggregates on single values.
package fn
