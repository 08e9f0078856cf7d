package sink

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	// dialTime bounds one connection.
	dialTime = 10 * time.Second
	// closeTime is how long closing one waits for a transaction to be undone.
	closeTime = 5 * time.Second
	// longestTransaction is what brokers allow unless their transaction.max.timeout.ms says otherwise.
	longestTransaction = 15 * time.Minute
	// mostBuffered bounds the records on their way, in bytes; mostRecords in number.
	mostBuffered = 32 << 20
	mostRecords  = 10_000
	// retryPause is how long a request waits for the transaction before it to end.
	retryPause = 20 * time.Millisecond
)

// kafka writes to a topic. The records of one Keep are a transaction, which commits the token as the metadata of the offset of partition 0 in a
// group that is named as the transactional id.
//
// The requests that tie offsets to a transaction are its own, since the client's need a member of a group. They follow the first protocol of
// transactions, where a transaction may have an offset and no records, so the client is kept from the second one (KIP-890), which all versions
// of Kafka leave to clients.
type kafka struct {
	client     *kgo.Client
	opts       []kgo.Opt // of the client
	topic, id  string    // the transactional id, and the group
	maxBytes   int64
	debezium   bool
	tombstones bool

	open    bool                  // a transaction has begun
	alone   bool                  // the end of a transaction without records is not known
	failed  atomic.Pointer[error] // the first one of the records of this transaction
	kept    string                // the last token that was kept
	commit  int64                 // the last commit that was kept
	highest int64                 // the last commit that was added
}

func openKafka(ctx context.Context, a address, o Options) (Sink, error) {
	p := &a.params
	k := &kafka{topic: a.target, debezium: o.Debezium}
	k.id = p.text("transactional.id", "hopgate-"+cmp.Or(o.Graph, "default")+"-"+a.target)
	k.maxBytes = p.number("max.request.size", 1_000_012, 1<<10, 1<<30)
	k.tombstones = p.boolean("tombstones.on.delete", o.Debezium)
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.EndTxn), 4)
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 4)
	versions.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 7)
	k.opts = []kgo.Opt{
		kgo.SeedBrokers(a.hosts...), kgo.DefaultProduceTopic(k.topic), kgo.ClientID(p.text("client.id", "graphctl")), kgo.MaxVersions(versions),
		kgo.TransactionalID(k.id), kgo.TransactionTimeout(p.milliseconds("transaction.timeout.ms", longestTransaction, time.Second, 24*time.Hour)),
		kgo.ProducerBatchMaxBytes(int32(k.maxBytes)), kgo.MaxBufferedRecords(mostRecords), kgo.MaxBufferedBytes(int(max(mostBuffered, 2*k.maxBytes))),
		kgo.ProducerBatchCompression(codecs[p.text("compression.type", "none", "none", "gzip", "snappy", "lz4", "zstd")]...),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerLinger(0), kgo.WithHooks(lost{o.Lost}),
	}
	protocol := p.text("security.protocol", "PLAINTEXT", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
	config, err := p.tls("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")
	if err != nil {
		return nil, err
	}
	dial := (&net.Dialer{Timeout: dialTime}).DialContext
	if protocol == "SSL" || protocol == "SASL_SSL" {
		dial = (&tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: config}).DialContext
	}
	k.opts = append(k.opts, kgo.Dialer(unhurried(dial)))
	name, password := p.text("sasl.mechanism", "", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), p.secret("password.file", passwordVariable)
	if err := p.end(); err != nil {
		return nil, err
	}
	switch wanted := protocol == "SASL_PLAINTEXT" || protocol == "SASL_SSL"; {
	case wanted && (name == "" || a.user == "" || password == ""):
		return nil, fmt.Errorf("security.protocol %s: needs sasl.mechanism, the user as in kafka://USER@%s, and a password in %s or password.file",
			protocol, a.hosts[0], passwordVariable)
	case !wanted && (name != "" || a.user != ""):
		return nil, fmt.Errorf("a user needs security.protocol SASL_SSL or SASL_PLAINTEXT, not %s", protocol)
	case wanted:
		k.opts = append(k.opts, kgo.SASL(mechanism(name, a.user, password)))
	}
	if k.client, err = kgo.NewClient(k.opts...); err != nil {
		return nil, err
	}
	if err := k.check(ctx); err != nil {
		k.client.Close()
		return nil, err
	}
	return k, nil
}

var codecs = map[string][]kgo.CompressionCodec{
	"none": {kgo.NoCompression()}, "gzip": {kgo.GzipCompression()}, "snappy": {kgo.SnappyCompression()}, "lz4": {kgo.Lz4Compression()},
	"zstd": {kgo.ZstdCompression()},
}

func mechanism(name, user, password string) sasl.Mechanism {
	switch name {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// unhurried waits after a connection that fails: within a transaction the client connects again without a pause.
func unhurried(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(dialPause):
			}
		}
		return c, err
	}
}

// lost tells of connections that fail.
type lost struct{ tell func(error) }

func (l lost) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && l.tell != nil {
		l.tell(err)
	}
}

// check looks for the topic, which the sink does not create: the number of its partitions is for those to choose who read it.
func (k *kafka) check(ctx context.Context) error {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &k.topic
	req.Topics = append(req.Topics, t)
	res, err := req.RequestWith(ctx, k.client)
	if err != nil {
		return k.classify(err)
	}
	if len(res.Topics) != 1 {
		return failure(Failed, "the broker says nothing about topic %s", k.topic)
	}
	return k.classify(kerr.ErrorForCode(res.Topics[0].ErrorCode))
}

// Resume implements Sink.
func (k *kafka) Resume(ctx context.Context) (string, error) {
	if err := k.abort(ctx); err != nil {
		return "", err
	}
	// The first call takes the transactional id over, and ends what another run has left open.
	if _, _, err := k.client.ProducerID(ctx); err != nil {
		return "", k.classify(err)
	}
	err := k.retried(ctx, func() error {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.RequireStable = k.id, true
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = k.topic, []int32{0}
		req.Topics = append(req.Topics, t)
		res, err := req.RequestWith(ctx, k.client)
		if err == nil {
			err = kerr.ErrorForCode(res.ErrorCode)
		}
		k.kept, k.commit = "", 0
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // there is none before the first offset
			return err
		}
		for _, t := range res.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
				if p.Metadata != nil && p.Offset >= 0 {
					k.kept, k.commit = *p.Metadata, p.Offset
				}
			}
		}
		return nil
	})
	k.highest = k.commit
	return k.kept, err
}

// abort undoes the transaction that has begun, if there is one.
func (k *kafka) abort(ctx context.Context) error {
	if k.open {
		if err := k.client.AbortBufferedRecords(ctx); err != nil {
			return k.classify(err)
		}
		err := k.client.EndTransaction(ctx, kgo.TryAbort)
		if errors.Is(err, kerr.InvalidTxnState) { // the broker has ended it, and no other run has it: only a new client can go on
			k.client.Close()
			k.client, err = kgo.NewClient(k.opts...)
		}
		if err != nil {
			return k.classify(err)
		}
		k.open = false
	}
	if k.alone {
		err := k.end(ctx, false)
		if err != nil && !errors.Is(err, kerr.InvalidTxnState) { // it has ended
			return err
		}
		k.alone = false
	}
	k.failed.Store(nil)
	return nil
}

// Add implements Sink.
func (k *kafka) Add(ctx context.Context, e Event) error {
	if err := k.failed.Load(); err != nil {
		return *err
	}
	if !k.open {
		if err := k.client.BeginTransaction(); err != nil {
			return k.classify(err)
		}
		k.open = true
	}
	k.highest = max(k.highest, e.Commit)
	r := &kgo.Record{Value: e.Value, Headers: []kgo.RecordHeader{
		{Key: "token", Value: []byte(e.Token)},
		{Key: "commit", Value: strconv.AppendInt(nil, e.Commit, 10)},
		{Key: "seq", Value: strconv.AppendInt(nil, e.Seq, 10)},
		{Key: "last", Value: strconv.AppendBool(nil, e.Last)},
	}}
	if e.Key != "" {
		r.Key = k.key(e.Key)
	}
	k.client.Produce(ctx, r, k.sent)
	if k.tombstones && e.Deleted {
		k.client.Produce(ctx, &kgo.Record{Key: r.Key, Headers: r.Headers}, k.sent)
	}
	return nil
}

// key is the element's id, as text, or as Debezium's connectors write keys without a schema.
func (k *kafka) key(element string) []byte {
	if !k.debezium {
		return []byte(element)
	}
	return fmt.Appendf(nil, `{"elementId":%q}`, element)
}

// sent is told of each record that the broker has, or has not.
func (k *kafka) sent(r *kgo.Record, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) {
		err = failure(TooLarge, "event %s: of %d bytes, is larger than max.request.size %d, or than the max.message.bytes of topic %s: raise them",
			r.Headers[0].Value, len(r.Value), k.maxBytes, k.topic)
	} else {
		err = k.classify(err)
	}
	k.failed.CompareAndSwap(nil, &err)
}

// Keep implements Sink.
func (k *kafka) Keep(ctx context.Context, token string) error {
	if !k.open && token == k.kept {
		return nil
	}
	if err := k.client.Flush(ctx); err != nil {
		return k.classify(err)
	}
	if err := k.failed.Load(); err != nil {
		return *err
	}
	k.alone = !k.open
	if err := k.addOffset(ctx, token); err != nil {
		return err
	}
	if k.alone {
		if err := k.end(ctx, true); err != nil {
			return err
		}
	} else if err := k.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return k.classify(err)
	}
	k.open, k.alone, k.kept, k.commit = false, false, token, k.highest
	return nil
}

// addOffset has the transaction commit the token.
func (k *kafka) addOffset(ctx context.Context, token string) error {
	id, epoch, err := k.client.ProducerID(ctx)
	if err != nil {
		return k.classify(err)
	}
	err = k.retried(ctx, func() error {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = k.id, id, epoch, k.id
		res, err := req.RequestWith(ctx, k.client)
		if err == nil {
			err = kerr.ErrorForCode(res.ErrorCode)
		}
		return err
	})
	if err != nil {
		return err
	}
	return k.retried(ctx, func() error {
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = k.id, id, epoch, k.id, -1
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		t.Topic, p.Offset, p.LeaderEpoch, p.Metadata = k.topic, k.highest, -1, &token
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		res, err := req.RequestWith(ctx, k.client)
		if err != nil {
			return err
		}
		for _, t := range res.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// end ends a transaction that has no records, which the client does not know of.
func (k *kafka) end(ctx context.Context, commit bool) error {
	id, epoch, err := k.client.ProducerID(ctx)
	if err != nil {
		return k.classify(err)
	}
	return k.retried(ctx, func() error {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = k.id, id, epoch, commit
		res, err := req.RequestWith(ctx, k.client)
		if err == nil {
			err = kerr.ErrorForCode(res.ErrorCode)
		}
		return err
	})
}

// retried calls f again while the transaction before is being ended.
func (k *kafka) retried(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.UnstableOffsetCommit) {
			return k.classify(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// classify gives an error of the client its code.
func (k *kafka) classify(err error) error {
	var e *Error
	var broker *kerr.Error
	is := func(list ...error) bool {
		for _, t := range list {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled):
		return err
	case is(kerr.ProducerFenced):
		return failure(Fenced, "another run has taken transactional.id %s over, or a transaction took longer than transaction.timeout.ms: %w", k.id, err)
	case is(kerr.UnknownTopicOrPartition, kerr.UnknownTopicID):
		return failure(NotFound, "topic %s does not exist: create it", k.topic)
	case is(kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState):
		return failure(Denied, "topic %s, transactional.id and group %s: %w", k.topic, k.id, err)
	case is(kerr.InvalidTransactionTimeout):
		return failure(Failed, "transaction.timeout.ms is over the broker's transaction.max.timeout.ms: %w", err)
	case is(kerr.TransactionAbortable, kerr.OperationNotAttempted, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping, kerr.InvalidProducerEpoch,
		kerr.InvalidTxnState, kerr.UnknownServerError): // Resume begins the transaction again, unless another run has it
		return failure(Unreachable, "topic %s: %w", k.topic, err)
	case errors.As(err, &broker) && !broker.Retriable:
		return failure(Failed, "topic %s: %w", k.topic, err)
	default: // what the client has tried often enough
		return failure(Unreachable, "topic %s: %w", k.topic, err)
	}
}

// Close implements Sink.
func (k *kafka) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = k.abort(ctx) // or else the broker does it in transaction.timeout.ms
	k.client.CloseAllowingRebalance()
}
