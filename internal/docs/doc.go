// Package docs compares pages of the documents with the code that they describe, and writes those that are made from it. Only tests
// import it.
package docs
