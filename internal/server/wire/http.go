package wire

import (
	"net/http"
	"strconv"
	"time"
)

// MediaPlain is the media type of plain JSON.
const MediaPlain = "application/json"

// AskLater tells a client of HTTP when to try again, if the status says that it may.
func AskLater(w http.ResponseWriter, status int, err error) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int((laterBy(err)+time.Second-1)/time.Second)))
	}
}

// WriteJSON answers with a body that is short.
func WriteJSON(w http.ResponseWriter, media string, status int, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// WriteError answers with an error alone.
func WriteError(w http.ResponseWriter, media string, status int, err error) {
	AskLater(w, status, err)
	b := AppendError([]byte(`{"errors":[`), err)
	WriteJSON(w, media, status, append(b, "]}\n"...))
}

// Fail answers in plain JSON with the status that fits the error.
func Fail(w http.ResponseWriter, err error) { WriteError(w, MediaPlain, HTTPStatus(err), err) }

// Refuse answers a request that lacks a good token; failed writes the error.
func Refuse(w http.ResponseWriter, err error, failed func(http.ResponseWriter, error)) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="hopgate"`)
	failed(w, err)
}
