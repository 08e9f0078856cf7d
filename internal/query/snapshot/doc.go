// Package snapshot names the snapshots that answers are of by signed tokens, and checks the tokens that requests bring. A token is as good in a
// stream of changes, from that snapshot on, as in a read that wants at least the snapshot, or exactly that.
package snapshot
