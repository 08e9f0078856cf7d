// Package fn holds the catalogue of functions and aggregates, and computes them and the operators on values.
package fn
