// Package kv keeps one Pebble store whose faults are errors, and defines what a store of records does.
package kv
