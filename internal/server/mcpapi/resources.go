package mcpapi

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialect describes to an agent what it may write in statements.
//
//go:embed dialect.md
var dialect string

const (
	schemaURI  = "hopgate://schema"
	dialectURI = "hopgate://dialect"
)

// addResources adds the resources and the prompts.
func (s *session) addResources(m *mcp.Server) {
	for _, level := range []string{levelSummary, levelTypes, levelFull} {
		uri := schemaURI + "/" + level
		m.AddResource(&mcp.Resource{
			URI: uri, Name: "schema-" + level, Title: "Schema of the graph, level " + level, MIMEType: "text/plain",
		}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := s.schema(schemaArgs{Level: level})
			return resource(uri, "text/plain", text), err
		})
	}
	m.AddResource(&mcp.Resource{
		URI: dialectURI, Name: "dialect", Title: "What statements may hold", MIMEType: "text/markdown",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return resource(dialectURI, "text/markdown", dialect), nil
	})
	m.AddPrompt(&mcp.Prompt{
		Name: "answer-question", Title: "Answer a question from the graph",
		Description: "The schema, the dialect and how to go about a question.",
		Arguments:   []*mcp.PromptArgument{{Name: "question", Description: "what to find out", Required: true}},
	}, s.prompt)
}

func resource(uri, media, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: media, Text: text}}}
}

// prompt returns the message that asks an agent to answer a question.
func (s *session) prompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	question := strings.TrimSpace(req.Params.Arguments["question"])
	if question == "" {
		return nil, errors.New("question: must not be empty")
	}
	schema, err := s.schema(schemaArgs{})
	if err != nil {
		return nil, err
	}
	text := "Answer this question from the graph: " + question + "\n\nThe schema:\n\n" + schema + "\n" + dialect
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
}
