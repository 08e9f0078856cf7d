// Package feed serves the changes of graphs to the transports: it opens streams, waits for events, says from time to time where a stream
// stands, ends streams with the server and with the rights of their callers, charges and counts them, and writes events.
//
//	changes.Stream ─ Feed.Next ─ events ─ Feed.Append ┬ JSON      the columns of db.cdc.query
//	                     └ none: a heartbeat          └ Debezium  an envelope of before, after, source and op
//
// A feed is as fast as its client: it reads no further before the client has taken what was sent.
package feed
