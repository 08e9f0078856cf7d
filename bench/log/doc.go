// Package log measures what the commit log of a graph costs those who write, and gives those who read it.
package log
