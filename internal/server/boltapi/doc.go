// Package boltapi serves the Bolt protocol over TCP, TLS and WebSockets.
package boltapi
