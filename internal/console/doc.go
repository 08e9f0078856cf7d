// Package console serves the console, the pages by which people use a graph in a browser.
package console
