// Package spill keeps rows on disk that do not fit into a statement's memory.
package spill
