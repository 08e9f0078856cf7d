// Package resource opens what statements may read, as UTF-8 text: files of one directory, and the URLs of a list.
//
// A URL is read only if the list holds it, and so is each one that it redirects to. A host with a name is reached only at public
// addresses or those in networks of the list. This is checked when the connection is made, whatever the name resolved to before.
package resource
