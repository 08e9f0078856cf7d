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

// minCompress is the smallest response, in bytes, that is worth compressing.
const minCompress = 1 << 10

// encoder is the interface that the compressors share.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// encoders pools compressors, which are expensive to create, by the name of the encoding.
var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // an invalid level
		}
		return w
	}},
	"zstd": {New: func() any {
		// A small window limits the memory of a stream to a few hundred KiB.
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
		if err != nil {
			panic(err)
		}
		return w
	}},
}

// varies is the value of Vary in most answers. Adding to it copies it.
var varies = []string{"Accept-Encoding"}

// compressed runs f with the encoding that the request accepts, gzip or zstd. Very short responses stay uncompressed.
func compressed(w http.ResponseWriter, r *http.Request, f http.HandlerFunc) {
	if h := w.Header(); h["Vary"] == nil {
		h["Vary"] = varies
	} else {
		h.Add("Vary", "Accept-Encoding")
	}
	name := acceptEncoding(r.Header["Accept-Encoding"])
	if name == "" {
		f(w, r)
		return
	}
	c := &compressWriter{ResponseWriter: w, name: name}
	f(c, r)
	c.close() // not after a panic: a truncated response must not look complete
}

// acceptEncoding returns the preferred encoding of Accept-Encoding headers, zstd before gzip; "" means none.
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

// compressWriter compresses a response. It buffers the first bytes until it knows that compression pays.
type compressWriter struct {
	http.ResponseWriter
	name   string
	status int
	buf    []byte
	enc    encoder // nil: undecided, or uncompressed
	plain  bool
}

// WriteHeader stores the status until the encoding is known.
func (c *compressWriter) WriteHeader(status int) {
	if c.status != 0 {
		return
	}
	c.status = status
	if length := c.Header()["Content-Length"]; len(length) == 1 {
		if n, err := strconv.Atoi(length[0]); err == nil && n < minCompress { // the body, if there is one, needs no buffer
			c.plain = true
			c.header()
		}
	}
}

// Write compresses p, or buffers it while the response is short.
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
	if err == nil && c.enc != nil { // flush, so that the client can start reading
		err = c.enc.Flush()
	}
	return n, err
}

// begin sends the header and the buffered bytes.
func (c *compressWriter) begin() error {
	h := c.Header()
	media := h.Get("Content-Type")
	if h.Get("Content-Encoding") != "" || media == mediaParquet || c.name == "gzip" && media == mediaArrow { // gzip would slow it down tenfold
		return c.send()
	}
	h.Set("Content-Encoding", c.name)
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) { // the compressed bytes depend on when they are flushed
		h.Set("ETag", "W/"+tag)
	}
	h.Del("Content-Length")
	c.header()
	c.enc, _ = encoders[c.name].Get().(encoder)
	c.enc.Reset(c.ResponseWriter)
	_, err := c.enc.Write(c.buf)
	c.buf = nil
	return err
}

// send sends the header and the buffered bytes uncompressed.
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

// FlushError sends everything written so far; http.ResponseController calls it.
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

// close ends the response.
func (c *compressWriter) close() {
	if c.enc == nil {
		if !c.plain {
			_ = c.send() // a client that stopped reading is gone
		}
		return
	}
	if c.enc.Close() == nil {
		c.enc.Reset(nil)
		encoders[c.name].Put(c.enc)
	}
}

// Unwrap exposes the underlying writer to http.ResponseController.
func (c *compressWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
