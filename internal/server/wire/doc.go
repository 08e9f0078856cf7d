// Package wire writes and reads values, summaries and errors in the forms of the transports: JSON and protobuf.
package wire
