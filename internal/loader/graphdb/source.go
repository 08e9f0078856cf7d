package graphdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/hopgate/hopgate/internal/loader/graphfile"
)

// Options say which graph to read.
type Options struct {
	// URL is the address, such as bolt://host:7687 or neo4j+s://host.
	URL string
	// User and Password authenticate; without a user there is no authentication.
	User, Password string
	// Database is the name of the graph; "" is the user's default.
	Database string
}

// Source is a graph in a running database. It implements loader.Database.
type Source struct {
	driver             neo4j.Driver
	session            neo4j.SessionConfig
	name               string
	keys               map[string]bool // that Keys has named; nil before
	pageIDs, windowIDs int
}

// Open connects to a database.
func Open(ctx context.Context, o Options) (*Source, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, errors.New("the address contains a user or a password, which others can see: give them by flags, files or the environment")
	}
	auth := neo4j.NoAuth()
	if o.User != "" {
		auth = neo4j.BasicAuth(o.User, o.Password, "")
	}
	// The driver makes local times in this zone, and not every time exists in every zone.
	if time.Local != time.UTC {
		time.Local = time.UTC
	}
	driver, err := neo4j.NewDriver(o.URL, auth)
	if err != nil {
		return nil, err
	}
	s := &Source{
		driver: driver, session: neo4j.SessionConfig{AccessMode: neo4j.AccessModeRead, DatabaseName: o.Database},
		name: u.Scheme + "://" + u.Host + "/" + o.Database, pageIDs: defaultPageIDs, windowIDs: defaultWindowIDs,
	}
	if err := driver.VerifyConnectivity(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.name, err), s.Close(ctx))
	}
	return s, nil
}

// Name returns the address and the name of the graph.
func (s *Source) Name() string { return s.name }

// Close ends the connections.
func (s *Source) Close(ctx context.Context) error { return s.driver.Close(ctx) }

// scanKeys are the names in use, for databases without db.propertyKeys().
const scanKeys = "MATCH (n) UNWIND keys(n) AS key RETURN DISTINCT key UNION MATCH ()-[r]->() UNWIND keys(r) AS key RETURN DISTINCT key"

// Keys implements loader.Database.
func (s *Source) Keys(ctx context.Context) (n graphfile.Names, err error) {
	rows, err := s.all(ctx, "CALL db.propertyKeys() YIELD propertyKey AS key RETURN key ORDER BY key")
	if refused(err) {
		rows, err = s.all(ctx, scanKeys)
	}
	if err != nil {
		return n, err
	}
	s.keys = map[string]bool{}
	for _, row := range rows {
		key, _ := row["key"].(string)
		s.keys[key] = true
		n.Vertex = append(n.Vertex, key)
	}
	n.Edge = n.Vertex
	return n, nil
}

// refused reports whether the database does not take a statement, as others do.
func refused(err error) bool {
	var e *neo4j.Neo4jError
	return errors.As(err, &e)
}

// all returns the rows of a statement.
func (s *Source) all(ctx context.Context, statement string) (rows []map[string]any, err error) {
	session := s.driver.NewSession(ctx, s.session)
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	result, err := session.Run(ctx, statement, nil)
	if err != nil {
		return nil, err
	}
	for result.Next(ctx) {
		rows = append(rows, result.Record().AsMap())
	}
	return rows, result.Err()
}

// Kind is the vertices with a set of labels, or the edges of a type between vertices with such sets.
type Kind struct {
	Labels []string // of the vertices, or of the edges' sources
	Type   string   // of edges
	Target []string // the labels of the edges' targets
	Count  int64
}

// Statements that count elements by kind.
const (
	CountVertices = "MATCH (n) RETURN labels(n) AS labels, count(n) AS count"
	CountEdges    = "MATCH (a)-[r]->(b) RETURN labels(a) AS labels, count(r) AS count, type(r) AS type, labels(b) AS target"
)

// Kinds counts the vertices, or the edges, by kind.
func (s *Source) Kinds(ctx context.Context, edges bool) (out []Kind, err error) {
	statement := CountVertices
	if edges {
		statement = CountEdges
	}
	rows, err := s.all(ctx, statement)
	for _, row := range rows {
		count, _ := row["count"].(int64)
		out = append(out, Kind{texts(row["labels"]), text(row, "type"), texts(row["target"]), count})
	}
	return out, err
}
