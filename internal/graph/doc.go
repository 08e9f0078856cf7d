// Package graph defines the values that all layers share: ids, property values, batches, catalog types and errors.
package graph
