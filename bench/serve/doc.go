// Package serve measures requests through the HTTP and gRPC listeners.
package serve
