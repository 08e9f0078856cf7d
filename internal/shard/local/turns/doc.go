// Package turns queues transactions that change the same vertices and edges.
//
// A transaction has its turn at a key from its first change of it to its end. The next one then finds that it does not see what was
// committed, and begins again while it has its turn:
//
//	tx 1   change a ─────────────── commit
//	tx 2             change a: wait ────── conflict ─ tx 2' inherits the turn ─ change a ─ commit
//	tx 3                       change a: wait ────────────────────────────────────────────────── …
//
// A transaction that needs several keys joins all their queues at once, so that of two transactions the same one is ahead in all queues that
// they share:
//
//	key a:  tx 1 has its turn   tx 2 waits   tx 3 waits
//	key b:                      tx 2 waits   tx 4 waits
//	                            └ one waiter
//
// Turns only order transactions. Whether a commit meets a conflict is decided without them, so a turn may be lost: after some seconds, if
// others wait. A transaction for which others wait, and which would wait for them, loses its turns and fails.
package turns
