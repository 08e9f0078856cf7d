package sink

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// mostMessages bounds the messages on their way, with mostBuffered bytes.
	mostMessages = 512
	// ackTime is how long a message, or a request, waits for its answer.
	ackTime = 10 * time.Second
	// mostConflicts is how often a stream may refuse messages in a row before somebody else must be writing to it.
	mostConflicts = 5
)

// The headers of messages.
const (
	headerToken   = "Hopgate-Token" //nolint:gosec // a name
	headerCommit  = "Hopgate-Commit"
	headerSeq     = "Hopgate-Seq"
	headerLast    = "Hopgate-Last"
	headerElement = "Hopgate-Element"
)

// natsSink writes to a stream of JetStream. Each message expects the sequence number of the one before, so the messages on their way are taken in
// order or not at all, and those of a run that another one has taken over are refused. The token is in the header of each.
//
// Where the stream has no message of a position (before the first one, after selectors have taken none for a while, when old ones have been
// dropped) a note in a key-value bucket has it. A note says behind which message it was written, and counts only while that is the last one.
type natsSink struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	stream  string
	subject string
	notes   jetstream.KeyValue
	graph   string

	resumed   bool
	last      uint64 // the sequence number of the subject's last message that is acknowledged
	next      uint64 // the last sequence number of the stream once all messages on their way are there
	sent      []sent // on their way, oldest first
	bytes     int    // of them
	token     string // of the last message that was added or, at first, found
	noted     note   // the last note
	failed    error  // of a message on its way; those behind it are lost
	conflicts int    // in a row
	denied    atomic.Pointer[error]
}

// sent is a message on its way.
type sent struct {
	token  string
	seq    uint64
	bytes  int
	answer jetstream.PubAckFuture
}

// note is a position without a message.
type note struct {
	Graph   string `json:"graph"`
	Stream  string `json:"stream"`
	Subject string `json:"subject"`
	Token   string `json:"token"`
	After   uint64 `json:"after"` // the sequence number of the subject's last message; 0: there has been none
}

func openNATS(ctx context.Context, a address, o Options) (Sink, error) {
	p := &a.params
	s := &natsSink{subject: a.target, graph: cmp.Or(o.Graph, "default")}
	opts := []nats.Option{
		nats.Name("graphctl"), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.Timeout(ackTime), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrAuthorization) {
				err = failure(Denied, "subject %s: %w", s.subject, err)
				s.denied.CompareAndSwap(nil, &err)
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil && o.Lost != nil {
				o.Lost(err)
			}
		}),
	}
	stream, bucket := p.text("stream", ""), p.text("bucket", "hopgate-changes")
	config, err := p.tls("tls.ca", "tls.cert", "tls.key")
	if err != nil {
		return nil, err
	}
	if p.boolean("tls", config.RootCAs != nil || config.Certificates != nil) {
		opts = append(opts, nats.Secure(config))
	}
	creds, seed := p.text("creds", ""), p.text("nkey", "")
	password, token := p.secret("password.file", passwordVariable), p.secret("token.file", tokenVariable)
	if err := p.end(); err != nil {
		return nil, err
	}
	switch {
	case a.user != "":
		opts = append(opts, nats.UserInfo(a.user, password))
	case creds != "":
		opts = append(opts, nats.UserCredentials(creds))
	case seed != "":
		key, err := nats.NkeyOptionFromSeed(seed)
		if err != nil {
			return nil, fmt.Errorf("nkey: %w", err)
		}
		opts = append(opts, key)
	case token != "":
		opts = append(opts, nats.Token(token))
	}
	if strings.ContainsAny(s.subject, "*>") {
		return nil, fmt.Errorf("subject %s: must be without * and >", s.subject)
	}
	s.conn, err = nats.Connect("nats://"+strings.Join(a.hosts, ",nats://"), opts...)
	if err != nil {
		return nil, s.classify(err)
	}
	if err := s.find(ctx, stream, bucket); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// find looks for the stream, which the sink does not create, and for the bucket of the notes, which it does.
func (s *natsSink) find(ctx context.Context, stream, bucket string) (err error) {
	if s.js, err = jetstream.New(s.conn, jetstream.WithPublishAsyncTimeout(ackTime), jetstream.WithPublishAsyncMaxPending(2*mostMessages)); err != nil {
		return s.classify(err)
	}
	if s.stream = stream; stream == "" {
		if s.stream, err = s.js.StreamNameBySubject(ctx, s.subject); errors.Is(err, jetstream.ErrStreamNotFound) {
			return failure(NotFound, "no stream takes subject %s: create one for it", s.subject)
		} else if err != nil {
			return s.classify(err)
		}
	}
	info, err := s.info(ctx)
	if err != nil {
		return err
	}
	if info.Config.Retention != jetstream.LimitsPolicy {
		return failure(Unfit, "stream %s drops messages once they are consumed, and the position with them: use retention limits", s.stream)
	}
	s.notes, err = s.js.KeyValue(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		s.notes, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucket, Description: "Positions of graphctl changes", Replicas: info.Config.Replicas,
		})
	}
	return s.classify(err)
}

func (s *natsSink) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := s.js.Stream(ctx, s.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, failure(NotFound, "stream %s does not exist: create it", s.stream)
	}
	if err != nil {
		return nil, s.classify(err)
	}
	return stream.CachedInfo(), nil
}

// noteKey is the key of the note.
func (s *natsSink) noteKey() string {
	return base64.RawURLEncoding.EncodeToString([]byte(s.stream + " " + s.subject))
}

// Resume implements Sink.
func (s *natsSink) Resume(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	if s.conflicts >= mostConflicts {
		return "", failure(Unfit, "stream %s: others publish to it while it takes the events: give subject %s a stream of its own", s.stream, s.subject)
	}
	info, err := s.info(ctx)
	if err != nil {
		return "", err
	}
	token, at, err := s.lastMessage(ctx)
	if err != nil {
		return "", err
	}
	n, err := s.note(ctx)
	if err != nil {
		return "", err
	}
	if n.Token != "" && (n.After == at || at == 0 && n.After == info.State.LastSeq) { // the stream may have dropped the message since
		token, at = n.Token, n.After
	}
	switch {
	case token == "" && (n.Token != "" || s.last > 0):
		return "", failure(Unfit, "stream %s has dropped the last message of subject %s, and the position with it: begin with a new stream", s.stream, s.subject)
	case s.resumed && at != s.last && !s.isSent(at, token):
		return "", failure(Fenced, "stream %s: another run has written to subject %s", s.stream, s.subject)
	}
	s.token = token
	s.noted, s.last, s.next = n, at, max(info.State.LastSeq, at)
	s.sent, s.bytes, s.failed, s.resumed = nil, 0, nil, true
	s.denied.Store(nil)
	return s.token, nil
}

// isSent reports whether a message is one of those whose answers are missing.
func (s *natsSink) isSent(seq uint64, token string) bool {
	for _, m := range s.sent {
		if m.seq == seq && m.token == token {
			return true
		}
	}
	return false
}

// lastMessage returns the token and the sequence number of the subject's last message; 0: there is none.
func (s *natsSink) lastMessage(ctx context.Context) (string, uint64, error) {
	stream, err := s.js.Stream(ctx, s.stream)
	if err != nil {
		return "", 0, s.classify(err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, s.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, s.classify(err)
	}
	token := m.Header.Get(headerToken)
	if token == "" {
		return "", 0, failure(Unfit, "stream %s: message %d of subject %s is not of graphctl changes: use another subject", s.stream, m.Sequence, s.subject)
	}
	return token, m.Sequence, nil
}

func (s *natsSink) note(ctx context.Context) (n note, err error) {
	e, err := s.notes.Get(ctx, s.noteKey())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return n, nil
	}
	if err != nil {
		return n, s.classify(err)
	}
	if err := json.Unmarshal(e.Value(), &n); err != nil {
		return n, failure(Unfit, "bucket %s, key %s: %w", s.notes.Bucket(), s.noteKey(), err)
	}
	return n, nil
}

// Add implements Sink.
func (s *natsSink) Add(ctx context.Context, e Event) error {
	if s.failed != nil {
		return s.failed
	}
	if limit := s.conn.MaxPayload(); int64(len(e.Value)) > limit {
		return failure(TooLarge, "event %s: of %d bytes, is larger than the server's max_payload %d: raise it", e.Token, len(e.Value), limit)
	}
	for len(s.sent) >= mostMessages || len(s.sent) > 0 && s.bytes+len(e.Value) > mostBuffered {
		if s.failed = s.settle(ctx); s.failed != nil {
			return s.failed
		}
	}
	m := nats.NewMsg(s.subject)
	m.Data = e.Value
	m.Header.Set(headerToken, e.Token)
	m.Header.Set(headerCommit, strconv.FormatInt(e.Commit, 10))
	m.Header.Set(headerSeq, strconv.FormatInt(e.Seq, 10))
	m.Header.Set(headerLast, strconv.FormatBool(e.Last))
	if e.Key != "" {
		m.Header.Set(headerElement, e.Key)
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectStream(s.stream), jetstream.WithExpectLastSequence(s.next)}
	if e.Commit > 0 { // the tokens of a snapshot do not tell one snapshot from another
		opts = append(opts, jetstream.WithMsgID(e.Token))
	}
	answer, err := s.js.PublishMsgAsync(m, opts...)
	if err != nil {
		return s.classify(err)
	}
	s.next++
	s.sent, s.bytes, s.token = append(s.sent, sent{e.Token, s.next, len(e.Value), answer}), s.bytes+len(e.Value), e.Token
	return nil
}

// settle waits for the answer to the oldest message.
func (s *natsSink) settle(ctx context.Context) error {
	m := s.sent[0]
	select {
	case ack := <-m.answer.Ok():
		if ack.Sequence != m.seq {
			return failure(Unreachable, "stream %s: has taken message %d as %d", s.stream, m.seq, ack.Sequence)
		}
	case err := <-m.answer.Err():
		if denied := s.denied.Load(); denied != nil {
			return *denied
		}
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum {
			return failure(TooLarge, "event %s: of %d bytes, is larger than the max_msg_size of stream %s: raise it", m.token, m.bytes, s.stream)
		}
		return s.classify(err)
	case <-ctx.Done():
		return ctx.Err()
	}
	s.conflicts = 0
	s.last, s.sent, s.bytes = m.seq, s.sent[1:], s.bytes-m.bytes
	return nil
}

// Keep implements Sink.
func (s *natsSink) Keep(ctx context.Context, token string) error {
	added := len(s.sent) > 0
	if s.failed != nil {
		return s.failed
	}
	for len(s.sent) > 0 {
		if s.failed = s.settle(ctx); s.failed != nil {
			return s.failed
		}
	}
	n := note{s.graph, s.stream, s.subject, token, s.last}
	if added && token == s.token || n == s.noted {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return failure(Failed, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	if _, err := s.notes.Put(ctx, s.noteKey(), b); err != nil {
		return s.classify(err)
	}
	s.noted = n
	return nil
}

// classify gives an error of the client its code.
func (s *natsSink) classify(err error) error {
	var e *Error
	var api *jetstream.APIError
	switch {
	case err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrPermissionViolation),
		errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return failure(Denied, "subject %s: %w", s.subject, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return failure(Unfit, "the server has no JetStream for this account: %w", err)
	case errors.As(err, &api):
		switch {
		case api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			s.conflicts++
			return failure(Unreachable, "stream %s: %w", s.stream, err)
		case api.Code >= 500: // the cluster has no leader, or no room
			return failure(Unreachable, "stream %s: %w", s.stream, err)
		}
		return failure(Failed, "stream %s: %w", s.stream, err)
	}
	return failure(Unreachable, "stream %s: %w", cmp.Or(s.stream, "of subject "+s.subject), err)
}

// Close implements Sink.
func (s *natsSink) Close() { s.conn.Close() }
