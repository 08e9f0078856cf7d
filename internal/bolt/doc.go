// Package bolt speaks the Bolt protocol over bytes: handshake, chunks, messages and the states of a connection. It knows no sockets.
package bolt
