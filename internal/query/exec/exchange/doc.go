// Package exchange holds the worker pool of a run, which produces rows in the order of one goroutine, and joins small batches.
package exchange
