// Package memory accounts for the memory of requests.
//
// A Pool bounds what all requests of a process or of one owner hold. A Charge counts the values of one request while they are decoded, before
// its plan is known; the operators of the plan count what they hold by themselves (exec/runtime).
package memory
