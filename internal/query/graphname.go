package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
)

const (
	// neo4jGraph is Neo4j's name of the default graph, unless a graph has this name.
	neo4jGraph = "neo4j"
	// systemGraph is the graph to which Neo4j's clients send commands for graphs and questions about the server. It holds no
	// data.
	systemGraph = "system"
)

// graphName returns the graph that a client means by a name; it may not exist.
func (e *Engine) graphName(name string) string {
	if name == "" || (name == neo4jGraph || name == systemGraph) && !e.has(name) {
		return DefaultGraph
	}
	return name
}

// isSystem reports whether a name means the system rather than a graph.
func (e *Engine) isSystem(name string) bool { return name == systemGraph && !e.has(name) }

func (e *Engine) has(name string) bool {
	if names := e.store.Features().Names; names != nil {
		return names.Has(name)
	}
	_, err := e.known(context.Background(), name)
	return err == nil
}

// GraphNamed returns the graph that a client means by a name, if it exists. A caller without a role in it does not learn whether it does.
func (e *Engine) GraphNamed(ctx context.Context, name string) (string, error) {
	if e.isSystem(name) {
		return systemGraph, nil
	}
	asked := name
	if name = e.graphName(name); asked != "" {
		if err := access.Check(ctx, name, access.Fetcher); err != nil {
			return "", err
		}
	}
	_, err := e.known(ctx, name)
	return name, err
}

// ClientName is the name of a graph for Neo4j's clients.
func (e *Engine) ClientName(name string) string {
	if name == DefaultGraph && !e.has(neo4jGraph) {
		return neo4jGraph
	}
	return name
}

// checkSystem refuses a statement that reads data from the system graph.
func (p *prepared) checkSystem() error {
	switch p.command.(type) {
	case nil:
		if p.exec.Query.Administers() {
			return nil
		}
	case *cypher.CreateGraph, *cypher.AlterGraph, *cypher.DropGraph, *cypher.ChangeRules:
		return nil
	}
	return graph.SyntaxError("SystemGraph", graph.Pos{}, "the graph system holds no data; it takes SHOW commands, procedures of dbms and db, and commands for graphs")
}
