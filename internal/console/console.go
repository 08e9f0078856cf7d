package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/hopgate/hopgate/internal/version"
)

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy of all answers: only scripts, styles and requests of this server, none of them inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// minCompress is the size from which a file is sent compressed.
const minCompress = 512

// file is a file of the console as it goes out.
type file struct {
	plain      []byte
	packed     func() ([]byte, error) // plain in gzip's form; made by the first request that accepts it; nil for a small file
	media, tag string
}

// medias are the media types of the files by their extensions, whatever the machine's own table contains.
var medias = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Console serves the files of the console. They need no token; the requests that they send do.
type Console struct {
	files map[string]*file // by name; "" is the page
}

// New prepares the files.
func New() (*Console, error) {
	c := &Console{files: map[string]*file{}}
	entries, err := fs.ReadDir(static, "static")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, err
		}
		if e.Name() == "index.html" {
			data = bytes.Replace(data, []byte("{{version}}"), []byte(version.Number), 1)
		}
		c.files[e.Name()] = newFile(e.Name(), data)
	}
	c.files[""] = c.files["index.html"]
	delete(c.files, "index.html")
	return c, nil
}

func newFile(name string, data []byte) *file {
	sum := sha256.Sum256(data)
	f := &file{plain: data, media: medias[path.Ext(name)], tag: hex.EncodeToString(sum[:12])}
	if len(data) >= minCompress {
		f.packed = sync.OnceValues(func() ([]byte, error) { return pack(data) })
	}
	return f
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ServeHTTP answers with the file that the path names below /console/, or the page for any other path.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _ := strings.CutPrefix(r.URL.Path, "/console/")
	f := c.files[strings.TrimPrefix(name, "/")]
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if f == nil {
		http.NotFound(w, r)
		return
	}
	tag, packed := f.tag, f.packed != nil && acceptsGzip(r.Header.Values("Accept-Encoding"))
	h.Add("Vary", "Accept, Accept-Encoding")
	if packed {
		tag += "-gzip"
	}
	tag = `"` + tag + `"`
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache") // asks by the tag whether there is a newer one
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := f.plain
	if packed {
		var err error
		if data, err = f.packed(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a client that is gone needs no answer
}

// acceptsGzip reports whether Accept-Encoding headers name gzip without forbidding it.
func acceptsGzip(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
			if strings.TrimSpace(name) != "gzip" {
				continue
			}
			text, has := strings.CutPrefix(strings.TrimSpace(params), "q=")
			q, err := strconv.ParseFloat(text, 64)
			return !has || err == nil && q > 0
		}
	}
	return false
}

// Wanted reports whether a request comes from a browser that shows a page, rather than from a program.
func Wanted(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if media, _, err := mime.ParseMediaType(part); err == nil && media == "text/html" {
				return true
			}
		}
	}
	return false
}
