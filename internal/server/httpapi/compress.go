package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompress is the size in bytes from which on an answer is worth being compressed.
const minCompress = 1 << 10

// encoder is what the compressors have in common.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// encoders keep compressors, which are costly to make, by the name of the encoding.
var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // a level that does not exist
		}
		return w
	}},
	"zstd": {New: func() any {
		// A small window keeps the memory of a stream at some hundred KiB.
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
		if err != nil {
			panic(err)
		}
		return w
	}},
}

// compressed has f answer in the encoding that a request asks for, gzip or zstd, but for answers of a few bytes.
func compressed(w http.ResponseWriter, r *http.Request, f http.HandlerFunc) {
	w.Header().Add("Vary", "Accept-Encoding")
	name := acceptEncoding(r.Header.Values("Accept-Encoding"))
	if name == "" {
		f(w, r)
		return
	}
	c := &compressWriter{ResponseWriter: w, name: name}
	f(c, r)
	c.close() // not after a panic: half an answer must not end as a whole one does
}

// acceptEncoding chooses the encoding that Accept-Encoding headers like best, zstd before gzip; "" is none.
func acceptEncoding(headers []string) string {
	best, weight := "", 0.0
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name == "*" || name == "x-gzip" {
				name = "gzip"
			}
			if encoders[name] == nil {
				continue
			}
			q := 1.0
			if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q="); ok {
				var err error
				if q, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
					continue
				}
			}
			if q > weight || q == weight && q > 0 && name == "zstd" {
				best, weight = name, q
			}
		}
	}
	return best
}

// compressWriter compresses an answer. It holds the first bytes back until it knows that there are enough of them.
type compressWriter struct {
	http.ResponseWriter
	name   string
	status int
	buf    []byte
	enc    encoder // nil: not decided yet, or plain
	plain  bool
}

// WriteHeader keeps the status for when it is known how the body goes out.
func (c *compressWriter) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

// Write compresses p, or keeps it while the answer is still a short one.
func (c *compressWriter) Write(p []byte) (int, error) {
	switch {
	case c.plain:
		return c.ResponseWriter.Write(p)
	case c.enc != nil:
		return c.enc.Write(p)
	case len(c.buf)+len(p) < minCompress:
		c.buf = append(c.buf, p...)
		return len(p), nil
	}
	if err := c.begin(); err != nil {
		return 0, err
	}
	n, err := c.Write(p)
	if err == nil && c.enc != nil { // what is there goes out, so that the client can begin
		err = c.enc.Flush()
	}
	return n, err
}

// begin sends the header and what was held back.
func (c *compressWriter) begin() error {
	h := c.Header()
	if h.Get("Content-Encoding") != "" || c.name == "gzip" && h.Get("Content-Type") == mediaArrow { // which gzip slows down tenfold
		return c.send()
	}
	h.Set("Content-Encoding", c.name)
	h.Del("Content-Length")
	c.header()
	c.enc, _ = encoders[c.name].Get().(encoder)
	c.enc.Reset(c.ResponseWriter)
	_, err := c.enc.Write(c.buf)
	c.buf = nil
	return err
}

// send sends the header and what was held back as it is.
func (c *compressWriter) send() error {
	c.plain = true
	c.header()
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.ResponseWriter.Write(c.buf)
	c.buf = nil
	return err
}

func (c *compressWriter) header() {
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
}

// FlushError sends what was written until now; http.ResponseController calls it.
func (c *compressWriter) FlushError() error {
	if !c.plain && c.enc == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	if c.enc != nil {
		if err := c.enc.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// close ends the answer.
func (c *compressWriter) close() {
	if c.enc == nil {
		if !c.plain {
			_ = c.send() // whoever does not read its answer is gone
		}
		return
	}
	if c.enc.Close() == nil {
		c.enc.Reset(nil)
		encoders[c.name].Put(c.enc)
	}
}

// Unwrap lets http.ResponseController find the writer below.
func (c *compressWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
