// Package server listens for HTTP, gRPC and probes, hands requests to the APIs and drains when it ends.
package server
