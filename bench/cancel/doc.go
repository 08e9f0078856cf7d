// Package cancel measures how soon cancelled requests end.
package cancel
