// Package cancel measures how soon requests end when they are told to.
package cancel
