package bolt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// The scripts send messages in hexadecimal digits, and show the answers, what the backend was asked, and the state. The commands are
//
//	open version=5.4 [listed] [advertised]   begins a connection
//	send                                     a message a line; what stands behind # is a comment
//	matrix version=5.4                       sends every message in every state
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/session", func(t *testing.T, path string) {
		var c *script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "open":
				var version string
				d.ScanArgs(t, "version", &version)
				c = open(t, versionOf(t, version))
				c.s.opt.Listed = d.HasArg("listed")
				if d.HasArg("advertised") {
					c.s.opt.Advertised = "host:7687"
				}
				return ""
			case "send":
				return c.send(t, strings.Split(d.Input, "\n"))
			case "matrix":
				var version string
				d.ScanArgs(t, "version", &version)
				return matrix(t, versionOf(t, version))
			}
			return "no such command"
		})
	})
}

func versionOf(t testing.TB, text string) Version {
	for _, v := range Versions() {
		if v.String() == text {
			return v
		}
	}
	t.Fatalf("no version %s", text)
	return Version{}
}

// script is a connection whose messages are answered at once.
type script struct {
	s   *Session
	f   *fake
	out bytes.Buffer
}

func open(t testing.TB, v Version) *script {
	c := &script{f: &fake{blocked: make(chan struct{}, 1)}}
	c.s = NewSession(t.Context(), &c.out, c.f, Options{Version: v, Server: "Neo4j/5.26.0 (Hopgate test)", ID: "bolt-1", MaxBytes: 1 << 20})
	return c
}

func bytesOf(t testing.TB, line string) []byte {
	digits, _, _ := strings.Cut(line, "#")
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	require.NoError(t, err, line)
	return b
}

func (c *script) send(t testing.TB, lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		if c.s.state == Defunct {
			out.WriteString("closed\n")
			break
		}
		c.f.log = nil
		c.s.handle(item{raw: bytesOf(t, line)})
		require.NoError(t, c.s.out.end())
		for _, l := range c.f.log {
			fmt.Fprintf(&out, "  %s\n", l)
		}
		out.WriteString(c.answers(t))
		fmt.Fprintf(&out, "%v\n", c.s.state)
	}
	return out.String()
}

// answers prints the responses since the last call. It shows the times of results as 0.
func (c *script) answers(t testing.TB) string {
	var out strings.Builder
	in := NewReader(bufio.NewReader(&c.out))
	for {
		msg, err := in.Next(AtMost(1 << 20))
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		require.NoError(t, err)
		d := packstream.NewDecoder(packstream.Form{Vectors: true}, msg)
		tag, fields, err := d.Struct()
		require.NoError(t, err)
		name := map[byte]string{success: "SUCCESS", record: "RECORD", ignored: "IGNORED", failure: "FAILURE"}[tag]
		fmt.Fprintf(&out, "> %s", name)
		for range fields {
			v, err := d.Value()
			require.NoError(t, err)
			out.WriteString(" " + print(v))
		}
		out.WriteByte('\n')
	}
}

// print writes a value of an answer.
func print(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case graph.String:
		return strconv.Quote(v.Str())
	case graph.VectorKind:
		return string(v.Vector().Append(nil))
	case graph.List:
		var parts []string
		for _, e := range v.List() {
			parts = append(parts, print(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var parts []string
	for _, e := range v.Map() {
		if strings.HasPrefix(e.Key, "t_") { // a time
			e.Value = graph.IntValue(0)
		}
		parts = append(parts, e.Key+": "+print(e.Value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// The messages of the matrix.
var messages = []struct{ name, hex string }{
	{"HELLO", "B1 01 A2 8A 75736572 5F6167656E74 81 78 86 736368656D65 84 6E6F6E65"},
	{"LOGON", "B1 6A A1 86 736368656D65 84 6E6F6E65"},
	{"LOGOFF", "B0 6B"},
	{"RUN", "B3 10 86 524F57532034 A0 A0"},
	{"PULL", "B1 3F A1 81 6E 03"},
	{"DISCARD", "B1 2F A1 81 6E FF"},
	{"BEGIN", "B1 11 A0"},
	{"COMMIT", "B0 12"},
	{"ROLLBACK", "B0 13"},
	{"ROUTE", "B3 66 A0 90 A0"},
	{"TELEMETRY", "B1 54 01"},
	{"RESET", "B0 0F"},
	{"GOODBYE", "B0 02"},
	{"unknown", "B0 77"},
}

func messageOf(name string) string {
	for _, m := range messages {
		if m.name == name {
			return m.hex
		}
	}
	panic(name)
}

// matrix sends every message in every state, and shows the kind of the last answer and the state that follows.
func matrix(t testing.TB, v Version) string {
	var out strings.Builder
	login := []string{"HELLO"}
	if v.from(5, 1) {
		login = append(login, "LOGON")
	}
	ways := []struct {
		state State
		by    []string
	}{
		{Negotiation, nil},
		{Authentication, login[:1]},
		{Ready, login},
		{Streaming, append(slices.Clip(login), "RUN")},
		{TxReady, append(slices.Clip(login), "BEGIN")},
		{TxStreaming, append(slices.Clip(login), "BEGIN", "RUN")},
		{Failed, append(slices.Clip(login), "FAIL")},
	}
	for _, way := range ways {
		if way.state == Authentication && !v.from(5, 1) {
			continue
		}
		for _, m := range messages {
			c := open(t, v)
			for _, by := range way.by {
				if by == "FAIL" {
					c.s.handle(item{raw: bytesOf(t, "B3 10 84 4641494C A0 A0")})
					continue
				}
				c.s.handle(item{raw: bytesOf(t, messageOf(by))})
			}
			require.Equal(t, way.state, c.s.state)
			c.s.said = 0
			c.s.handle(item{raw: bytesOf(t, m.hex)})
			require.NoError(t, c.s.out.end())
			answer := map[byte]string{0: "-", success: "SUCCESS", ignored: "IGNORED", failure: "FAILURE"}[c.s.said]
			fmt.Fprintf(&out, "%-14v %-9s %-7s %v\n", way.state, m.name, answer, c.s.state)
			c.s.close()
			require.Zero(t, c.f.open.Load(), "%v %s", way.state, m.name)
		}
	}
	return out.String()
}

// A RESET interrupts the running request immediately. Messages queued before it are ignored, and each RESET is answered.
func TestResetJumpsAhead(t *testing.T) {
	c := open(t, Version{5, 4})
	c.send(t, []string{messageOf("HELLO"), messageOf("LOGON")})
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.s.Serve()
	}()
	require.True(t, c.s.Arrive(bytesOf(t, "B3 10 85 424C4F434B A0 A0"), nil, false))
	<-c.f.blocked
	for _, m := range []string{"PULL", "BEGIN", "RESET", "RESET"} {
		require.True(t, c.s.Arrive(bytesOf(t, messageOf(m)), nil, false))
	}
	require.True(t, c.s.Arrive(bytesOf(t, messageOf("RUN")), nil, false))
	require.True(t, c.s.Arrive(bytesOf(t, messageOf("GOODBYE")), nil, false))
	<-served
	lines := strings.Split(strings.TrimSpace(c.answers(t)), "\n")
	require.Len(t, lines, 6)
	require.Contains(t, lines[0], "Neo.ClientError.Transaction.Terminated")
	require.Equal(t, []string{"> IGNORED", "> IGNORED", "> SUCCESS {}", "> SUCCESS {}"}, lines[1:5])
	require.Contains(t, lines[5], "fields")
	require.Zero(t, c.f.open.Load())
	require.False(t, c.s.Arrive(bytesOf(t, messageOf("RUN")), nil, false), "the session is over")
}

// A statement is answered where it arrives. If that takes long, another goroutine passes in what comes meanwhile, and goes on afterwards.
func TestAnswersWhereItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, Version{5, 4})
		followed := make(chan struct{}, 1)
		c.s.opt.Follow = func() { followed <- struct{}{} }
		c.send(t, []string{messageOf("HELLO"), messageOf("LOGON")})
		served := make(chan struct{})
		go func() {
			defer close(served)
			c.s.Serve()
		}()
		synctest.Wait()
		const pull = "B1 3F A1 81 6E FF" // all
		both := func() bool {
			return c.s.Arrive(bytesOf(t, messageOf("RUN")), nil, true) && c.s.Arrive(bytesOf(t, pull), nil, false)
		}
		for range 3 {
			require.True(t, both())
			require.Contains(t, c.answers(t), "t_last", "before Arrive returns")
			time.Sleep(time.Second)
		}
		p := c.s.opt.Pacer
		p.mu.Lock()
		require.Empty(t, p.on, "the clock stands still")
		p.mu.Unlock()

		reads := make(chan bool, 1)
		began := time.Now()
		go func() { reads <- c.s.Arrive(bytesOf(t, "B3 10 85 424C4F434B A0 A0"), nil, false) }()
		<-followed
		require.LessOrEqual(t, time.Since(began), 2*lagTime)
		require.True(t, c.s.Arrive(bytesOf(t, pull), nil, false))
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("RESET")), nil, false))
		require.False(t, <-reads, "another one reads")
		answers := c.answers(t)
		require.Contains(t, answers, "Terminated")
		require.Contains(t, answers, "> IGNORED\n> SUCCESS {}")
		require.True(t, both())
		require.Contains(t, c.answers(t), "t_last")

		// What stays open is Serve's.
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("RUN")), nil, false))
		synctest.Wait()
		require.False(t, c.s.Resting())
		require.True(t, c.s.Arrive(bytesOf(t, pull), nil, false))
		synctest.Wait()
		require.True(t, c.s.Resting())
		require.True(t, both())
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("RUN")), nil, true))
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("GOODBYE")), nil, false))
		<-served
		require.Zero(t, c.f.open.Load())
	})
}

// A PULL reads no batch ahead, not even to determine whether it is the last. A batch has three rows.
func TestPullReadsNothingAhead(t *testing.T) {
	c := open(t, Version{5, 4})
	c.send(t, []string{messageOf("HELLO"), messageOf("LOGON"), "B3 10 86 524F57532036 A0 A0"}) // ROWS 6
	require.Zero(t, c.f.batches)
	for _, step := range []struct {
		pull    string
		batches int
		more    bool
	}{
		{"B1 3F A1 81 6E 02", 1, true},  // two rows of the first batch
		{"B1 3F A1 81 6E 01", 1, true},  // its last row
		{"B1 2F A1 81 6E 02", 2, true},  // DISCARD two rows of the second
		{"B1 3F A1 81 6E 01", 2, true},  // its last row, which is the result's
		{"B1 3F A1 81 6E FF", 3, false}, // the end
	} {
		require.Equal(t, step.more, strings.Contains(c.send(t, []string{step.pull}), "has_more: true"), step.pull)
		require.Equal(t, step.batches, c.f.batches, step.pull)
	}
	require.Equal(t, Ready, c.s.state)
}

// A connection that ends also cancels its requests.
func TestEnd(t *testing.T) {
	c := open(t, Version{5, 4})
	c.send(t, []string{messageOf("HELLO"), messageOf("LOGON"), messageOf("BEGIN")})
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.s.Serve()
	}()
	require.True(t, c.s.Arrive(bytesOf(t, "B3 10 85 424C4F434B A0 A0"), nil, false))
	<-c.f.blocked
	c.s.End(io.EOF)
	<-served
	require.Zero(t, c.f.open.Load())
}

// An idle transaction rolls back, also while a result waits, and the client's next message learns of it. A
// client that waits for an answer gets an empty chunk now and then.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, Version{5, 4})
		c.s.opt.Idle = time.Minute
		c.send(t, []string{messageOf("HELLO"), messageOf("LOGON"), messageOf("BEGIN"), messageOf("RUN"), messageOf("PULL")})
		served := make(chan struct{})
		go func() {
			defer close(served)
			c.s.Serve()
		}()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 2, c.f.open.Load())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Zero(t, c.f.open.Load())
		require.Zero(t, c.out.Len(), "no message asked for it")
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("PULL")), nil, false))
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("COMMIT")), nil, false))
		synctest.Wait()
		require.True(t, c.s.Arrive(bytesOf(t, messageOf("RESET")), nil, false))
		require.True(t, c.s.Arrive(bytesOf(t, "B3 10 85 424C4F434B A0 A0"), nil, false))
		<-c.f.blocked
		time.Sleep(45 * time.Second)
		synctest.Wait()
		got := c.out.Bytes()
		require.True(t, bytes.HasSuffix(got, []byte{0, 0, 0, 0, 0, 0}), "the last answer's end and two empty chunks")
		require.Contains(t, c.answers(t), "TransactionTimedOut")
		c.s.End(io.EOF)
		<-served
	})
}

// A client that pipelines too many messages is held back.
func TestReadAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, Version{5, 4})
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for c.s.Arrive(bytesOf(t, messageOf("PULL")), nil, false) {
				sent++
			}
		}()
		synctest.Wait()
		require.Equal(t, mostWaiting, sent)
		c.s.End(io.EOF)
		<-done
	})
}

// A few large messages are held back like many small ones, but one may always wait.
func TestBytesAheadAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, Version{5, 4})
		large := make([]byte, c.s.opt.MaxBytes)
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, raw := range [][]byte{large, large, {0xB0, 0x0F}} {
				if c.s.Arrive(raw, nil, false) {
					sent++
				}
			}
		}()
		synctest.Wait()
		require.Equal(t, 1, sent)
		_, ok, _ := c.s.take()
		require.True(t, ok)
		synctest.Wait()
		require.Equal(t, 2, sent)
		c.s.End(io.EOF)
		<-done
	})
}

// Messages larger than a chunk arrive whole, in chunks of any size and after empty ones, up to the size limit.
func TestChunks(t *testing.T) {
	for _, n := range []int{1, 65534, 65535, 65536, 131070, 131071, 300_000} {
		body := bytes.Repeat([]byte("abcdefg"), n/7+1)[:n]
		b := append([]byte{9}, 0, 0)
		b = endMessage(append(b, body...), 1)
		require.Equal(t, byte(9), b[0])
		in := NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader([]byte{0, 0, 0, 0}), bytes.NewReader(b[1:]))))
		got, err := in.Next(AtMost(n))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got))
		in = NewReader(bufio.NewReader(bytes.NewReader(b[1:])))
		_, err = in.Next(AtMost(n - 1))
		require.ErrorIs(t, err, ErrTooLarge)
		in = NewReader(bufio.NewReader(bytes.NewReader(b[1 : len(b)-1])))
		_, err = in.Next(AtMost(n))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	in := NewReader(bufio.NewReader(bytes.NewReader([]byte{0, 1, 'a', 0, 2, 'b', 'c', 0, 0})))
	got, err := in.Next(AtMost(3))
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
}

// halves reads from one and writes to another.
type halves struct {
	io.Reader
	io.Writer
}

// The first proposal that holds a version that is spoken here wins, with its highest one.
func TestHandshake(t *testing.T) {
	for _, c := range []struct{ in, out, version string }{
		{"00000406 00000104 00000004 00000003", "00000000", "0.0"},
		{"00080805 00020404 00000104 00000003", "00000805", "5.8"},
		{"00000505 00000404 00000000 00000000", "00000404", "4.4"},
		{"00010505 00000404 00000000 00000000", "00000405", "5.4"},
		{"00000006 00000805 00000000 00000000", "00000006", "6.0"},
		{"00000106 00000805 00000000 00000000", "00000805", "5.8"},
		{"00010106 00000805 00000000 00000000", "00000006", "6.0"},
		{"00000304 00030304 00000203 00000000", "00000000", "0.0"},
		{"00FF0405 00000000 00000000 00000000", "00000405", "5.4"},
		{"01000405 00000205 00000000 00000000", "00000205", "5.2"},
		{"000001FF 00000404 00000000 00000000 00000805 00", "000001FF 04 00000006 00020805 00040405 00000404 00", "5.8"},
		{"00000505 000001FF 00000000 00000000 00000404 00", "000001FF 04 00000006 00020805 00040405 00000404 00", "4.4"},
		{"000001FF 00000404 00000000 00000000 00000505 00", "000001FF 04 00000006 00020805 00040405 00000404 00", "0.0"},
		{"000001FF 00000404 00000000 00000000 00000805 01", "000001FF 04 00000006 00020805 00040405 00000404 00", "0.0"},
		{"000001FF 00000404 00000000 00000000 00010805 00", "000001FF 04 00000006 00020805 00040405 00000404 00", "0.0"},
	} {
		var out writes
		v, listed, err := Handshake(halves{bytes.NewReader(bytesOf(t, c.in)), &out})
		require.NoError(t, err)
		require.Equal(t, c.version, v.String(), c.in)
		require.Equal(t, strings.Contains(c.in, "000001FF"), listed)
		require.Len(t, out, 1, "the JavaScript driver reads the list in one piece")
		require.Equal(t, bytesOf(t, c.out), out[0], c.in)
	}
	_, _, err := Handshake(halves{strings.NewReader("short"), io.Discard})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// writes records each write.
type writes [][]byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}

// Any bytes in any chunks are answered or refused; nothing is left open.
func FuzzSession(f *testing.F) {
	for i := range Versions() {
		var all []byte
		for _, m := range []string{"HELLO", "LOGON", "RUN", "PULL", "PULL", "BEGIN", "RUN", "RUN", "PULL", "COMMIT", "ROUTE", "TELEMETRY", "RESET", "LOGOFF"} {
			b := append(all, 0, 0)
			all = endMessage(append(b, bytesOf(f, messageOf(m))...), len(all))
		}
		f.Add(all, uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, version, piece uint8) {
		vs := Versions()
		fk := &fake{blocked: make(chan struct{}, 1<<16)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := NewSession(ctx, io.Discard, fk, Options{Version: vs[int(version)%len(vs)], MaxBytes: 1 << 16})
		in := NewReader(bufio.NewReaderSize(&pieces{b: b, n: int(piece) + 1}, 16))
		for s.state != Defunct {
			msg, err := in.Next(AtMost(1 << 16))
			if err != nil {
				break
			}
			if bytes.Contains(msg, []byte("BLOCK")) {
				cancel()
			}
			s.handle(item{raw: msg})
		}
		s.close()
		_ = s.out.end()
		if n := fk.open.Load(); n != 0 {
			t.Fatalf("%d results and transactions are open", n)
		}
	})
}

// pieces returns bytes n at a time.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(out []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(out[:min(len(out), p.n)], p.b)
	p.b = p.b[n:]
	return n, nil
}
