// Package graph holds the values that every layer passes on: ids, property values, batches, the catalog's types and errors.
package graph
