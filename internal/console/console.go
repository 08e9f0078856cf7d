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
	plain, packed []byte // packed is plain in gzip's form, or nil
	media, tag    string
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
		f, err := pack(e.Name(), data)
		if err != nil {
			return nil, err
		}
		c.files[e.Name()] = f
	}
	c.files[""] = c.files["index.html"]
	delete(c.files, "index.html")
	return c, nil
}

func pack(name string, data []byte) (*file, error) {
	sum := sha256.Sum256(data)
	f := &file{plain: data, media: mime.TypeByExtension(path.Ext(name)), tag: hex.EncodeToString(sum[:12])}
	if path.Ext(name) == ".js" {
		f.media = "text/javascript; charset=utf-8" // whatever the machine's own table contains
	}
	if len(data) < minCompress {
		return f, nil
	}
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
	f.packed = b.Bytes()
	return f, nil
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
	data, tag := f.plain, f.tag
	h.Add("Vary", "Accept, Accept-Encoding")
	if f.packed != nil && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		data, tag = f.packed, tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	tag = `"` + tag + `"`
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache") // asks by the tag whether there is a newer one
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
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
