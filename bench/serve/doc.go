// Package serve measures requests through the HTTP, gRPC and Bolt listeners: their times, and the processor time of the server alone beside
// that of handlers that answer the same bytes without work.
package serve
