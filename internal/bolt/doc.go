// Package bolt implements the Bolt protocol over byte streams: handshake, chunks, messages and the states of a connection. It uses no
// sockets.
package bolt
