// Package spill divides records over buckets of a file that is removed when it is closed.
package spill
