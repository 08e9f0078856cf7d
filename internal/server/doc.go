// Package server listens for HTTP, gRPC, Bolt and admin requests, passes them to the APIs and drains on shutdown.
package server
