// Package wire encodes and decodes values, summaries and errors for the transports: JSON and protobuf.
package wire
