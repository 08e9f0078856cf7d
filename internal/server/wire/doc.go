// Package wire decodes the parameters of requests and encodes errors for the transports, as JSON and protobuf, and values as protobuf.
package wire
