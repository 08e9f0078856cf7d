// Package commit measures commits: their rate when each is synced, and what a write costs besides.
package commit
