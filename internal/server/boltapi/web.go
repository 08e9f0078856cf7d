package boltapi

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/version"
)

// upgrades is the listener of the connections that have turned out to speak HTTP.
type upgrades struct {
	conns chan net.Conn
	done  <-chan struct{}
	addr  net.Addr
}

func (u *upgrades) put(c net.Conn) bool {
	select {
	case u.conns <- c:
		return true
	case <-u.done:
		return false
	}
}

// Accept implements net.Listener.
func (u *upgrades) Accept() (net.Conn, error) {
	select {
	case c := <-u.conns:
		return c, nil
	case <-u.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (u *upgrades) Close() error { return nil }

// Addr implements net.Listener.
func (u *upgrades) Addr() net.Addr { return u.addr }

// serveWeb upgrades a connection to a WebSocket, or answers with the discovery document. Other requests are for the port of HTTP.
func (s *Server) serveWeb(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.metrics.refused("protocol")
		w.Header().Set("Connection", "close")
		http.Error(w, "this port speaks Bolt; "+s.whereWeb(), http.StatusBadRequest)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Connection", "close")
		s.discovery(w, r)
		return
	}
	if s.host.Auth == nil {
		if err := s.opt.Web.CheckUpgrade(r); err != nil {
			s.metrics.refused("origin")
			http.Error(w, "this origin may not open WebSockets; bolt-origins lists those that may: "+err.Error(), http.StatusForbidden)
			return
		}
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the origin was checked above
	if err != nil {
		s.metrics.refused("websocket")
		return
	}
	c := &wsConn{Conn: websocket.NetConn(s.ctx, ws, websocket.MessageBinary), remote: r.RemoteAddr}
	_ = c.SetDeadline(time.Now().Add(firstBytes))
	in := bufio.NewReaderSize(c, readBuffer)
	if first, err := in.Peek(len(bolt.Magic)); err != nil || string(first) != bolt.Magic {
		s.metrics.refused("protocol")
		_ = c.Close()
		return
	}
	_, _ = in.Discard(len(bolt.Magic))
	s.serve(c, in, "websocket")
}

// wsConn is a connection over a WebSocket.
type wsConn struct {
	net.Conn
	remote string
}

// remoteAddr is an address as text.
type remoteAddr string

func (a remoteAddr) Network() string { return "tcp" }
func (a remoteAddr) String() string  { return string(a) }

// RemoteAddr returns the client's address.
func (c *wsConn) RemoteAddr() net.Addr { return remoteAddr(c.remote) }

// document is that by which clients find the server's protocols.
type document struct {
	Routing     string `json:"bolt_routing,omitempty"`
	Direct      string `json:"bolt_direct,omitempty"`
	Query       string `json:"query,omitempty"`
	Transaction string `json:"transaction,omitempty"`
	Neo4j       string `json:"neo4j_version"`
	Edition     string `json:"neo4j_edition"`
	Hopgate     string `json:"hopgate_version"`
}

// discovery answers with the document by which clients find the server's protocols.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	d := s.document(r)
	d.write(w)
}

// document returns the discovery document, with the host of the request.
func (s *Server) document(r *http.Request) document {
	host := r.Host
	if h, _, err := net.SplitHostPort(r.Host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	neo4j := s.opt.Agent
	if neo4j == "" {
		neo4j = query.Neo4jVersion
	}
	d := document{Neo4j: neo4j, Edition: "community", Hopgate: version.Number}
	bolt, web := s.host.Address(listenerName), s.host.Address("http")
	if _, port, err := net.SplitHostPort(bolt); err == nil {
		at := net.JoinHostPort(host, port)
		if s.opt.Advertise != "" {
			at = s.opt.Advertise
		}
		plus := ""
		if s.host.TLS != nil {
			plus = "+s"
		}
		d.Routing, d.Direct = "neo4j"+plus+"://"+at, "bolt"+plus+"://"+at
	}
	if _, port, err := net.SplitHostPort(web); err == nil {
		scheme := "http://"
		if s.host.TLS != nil {
			scheme = "https://"
		}
		graph := scheme + net.JoinHostPort(host, port) + "/db/{databaseName}"
		d.Query, d.Transaction = graph+"/query/v2", graph+"/tx"
	}
	return d
}

// write answers with the document, which every web page may read.
func (d *document) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = json.NewEncoder(w).Encode(d) // a client that disconnected needs no answer
}
