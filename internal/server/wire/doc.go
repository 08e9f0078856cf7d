// Package wire encodes and decodes values and errors for the transports: JSON and protobuf.
package wire
