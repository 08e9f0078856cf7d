// Package exchange produces rows on several goroutines, in the order of one, and joins small batches.
package exchange
