// Package reclaim frees the disk space of deleted large values, and compacts stores that are idle.
package reclaim
