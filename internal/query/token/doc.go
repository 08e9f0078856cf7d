// Package token names moments of a graph by texts that clients keep.
//
//	version and flags   1 byte
//	graph               4 bytes, the same in all tokens of a graph
//	commit, time        varints: the number of a commit of the log, and when it was made
//	event, expiry       varints, where a flag says so
//	signature           16 bytes of HMAC-SHA-256 under the graph's secret, over all before
//
// A token of another kind has that kind as its first byte, then the graph, a body of its own and the signature.
//
// The bytes are written as unpadded base64 for URLs. Only the graph that has made a token reads it, and only unchanged.
package token
