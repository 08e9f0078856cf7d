// Package arrowstream writes the rows of a response as Arrow record batches, and reads Arrow values.
package arrowstream
