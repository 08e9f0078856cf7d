// Package sink writes the events of a change stream to brokers, together with the token that follows them, so that a run that is killed
// anywhere leaves each event there once, and the next one knows where to continue.
//
//	Add, Add, … ─ Keep(token) ┬ Kafka  a transaction: the records, and the token as the metadata of a group's offset
//	                          └ NATS   messages, each of which the stream takes only behind the one before; its last one has the token
//	Resume ─ undoes what is not kept ─ the token
//
// Kafka keeps the token as an offset since the coordinator of groups commits offsets within transactions: no second topic is needed, retention
// and compaction of the topic cannot take it, it goes when the topic is deleted, and Kafka's own tools show it. JetStream has no transactions
// over streams, so the token travels in the messages; a key-value bucket has it for the times without messages.
package sink
