// Package gateway measures what the gateway adds to requests: trusted operations against the same statement as text, and quotas against none.
package gateway
