// Package check verifies that the records of a graph's shards agree with each other, and proposes repairs.
package check
