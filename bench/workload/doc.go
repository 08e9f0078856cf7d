// Package workload defines the requests that benchmarks and graphctl bench send to a server.
package workload
