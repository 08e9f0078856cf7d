// Package loader turns record files into batches and applies them to shards concurrently, exactly once.
package loader
