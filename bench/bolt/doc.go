// Package bolt compares Bolt with gRPC, for the same statements over the loopback interface.
package bolt
