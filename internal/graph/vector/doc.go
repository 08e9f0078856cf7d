// Package vector compares vectors of 32-bit floats by cosine and distance.
//
// A packed vector is its coordinates, filled up with zeros to a whole number of lanes. A score depends on the packed form of both vectors
// alone, and all kernels add in the same order and round alike, so the score of a pair is the same to the last bit wherever it is computed.
package vector
