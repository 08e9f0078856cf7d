package wire

import (
	"net/http"
	"strconv"
	"time"
)

// MediaPlain is the media type of plain JSON.
const MediaPlain = "application/json"

// AskLater sets Retry-After if the status permits a retry.
func AskLater(w http.ResponseWriter, status int, err error) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int((laterBy(err)+time.Second-1)/time.Second)))
	}
}

// WriteJSON answers with a short body.
func WriteJSON(w http.ResponseWriter, media string, status int, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// WriteError answers with only an error.
func WriteError(w http.ResponseWriter, media string, status int, err error) {
	AskLater(w, status, err)
	b := AppendError([]byte(`{"errors":[`), err)
	WriteJSON(w, media, status, append(b, "]}\n"...))
}

// Fail answers in plain JSON with the status of the error.
func Fail(w http.ResponseWriter, err error) { WriteError(w, MediaPlain, HTTPStatus(err), err) }

// Refuse answers a request without a valid token; failed writes the error.
func Refuse(w http.ResponseWriter, err error, failed func(http.ResponseWriter, error)) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="hopgate"`)
	failed(w, err)
}
