// Package algo measures graph algorithms against bare arrays.
package algo
