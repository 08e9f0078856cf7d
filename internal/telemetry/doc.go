// Package telemetry exposes the counters of all layers as Prometheus metrics, and sends traces.
package telemetry
