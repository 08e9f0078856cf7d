// Package telemetry turns the layers' plain counters into Prometheus metrics.
package telemetry
