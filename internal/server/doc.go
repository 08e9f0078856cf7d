// Package server speaks HTTP and gRPC: it decodes requests, has them run and streams the answers.
package server
