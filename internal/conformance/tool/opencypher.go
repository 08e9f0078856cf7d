package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gherkin "github.com/cucumber/gherkin/go/v42"
	messages "github.com/cucumber/messages/go/v34"
)

// testCase is a scenario of openCypher's TCK, or an example of a scenario outline.
type testCase struct {
	ID       string   `json:"id"`
	Feature  string   `json:"feature"`
	Scenario string   `json:"scenario"`
	Tags     []string `json:"tags"`
	Given    struct {
		Graph string   `json:"graph"`
		Setup []string `json:"setup"`
	} `json:"given"`
	Parameters  map[string]string `json:"parameters"`
	Procedures  []procedure       `json:"procedures"`
	Query       string            `json:"query"`
	Expect      any               `json:"expect"`
	SideEffects map[string]int    `json:"side_effects,omitzero"`
	Then        []control         `json:"then_queries"`
}

type procedure struct {
	Signature string     `json:"signature"`
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
}

// control is a query after the one under test.
type control struct {
	Query  string `json:"query"`
	Expect any    `json:"expect"`
}

// What a query should do: return rows, return nothing, or fail.
type (
	expectRows struct {
		Columns        []string   `json:"columns"`
		Rows           [][]string `json:"rows"`
		Order          string     `json:"order"`
		ListsUnordered bool       `json:"lists_unordered"`
	}
	expectEmpty struct {
		Empty bool `json:"empty"`
	}
	expectError struct {
		Error struct {
			Type   string `json:"type"`
			Phase  string `json:"phase"`
			Detail string `json:"detail"`
		} `json:"error"`
	}
)

const (
	featuresDir = "tck/features/"
	graphsDir   = "tck/graphs/"
)

// convertTCK returns the cases of the TCK's files, one JSON object a line.
func convertTCK(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		feature, ok := strings.CutPrefix(file, featuresDir)
		if !ok || path.Ext(file) != ".feature" {
			continue
		}
		cases, err := convertFeature(feature, files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range cases {
			if err := enc.Encode(c); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), nil
}

var numbered = regexp.MustCompile(`^\[(\d+)\] +(.*)$`)

func convertFeature(feature string, files map[string][]byte) ([]*testCase, error) {
	ids := (&messages.Incrementing{}).NewId
	doc, err := gherkin.ParseGherkinDocument(bytes.NewReader(files[featuresDir+feature]), ids)
	if err != nil {
		return nil, err
	}
	scenarios := map[string]*messages.Scenario{}
	for _, child := range doc.Feature.Children {
		if child.Scenario != nil {
			scenarios[child.Scenario.Id] = child.Scenario
		}
	}
	var out []*testCase
	example := map[string]int{}
	owners := map[string]*messages.Scenario{} // of the numbers
	for _, p := range gherkin.Pickles(*doc, feature, ids) {
		s := scenarios[p.AstNodeIds[0]]
		if s == nil {
			return nil, fmt.Errorf("%s: a rule, which the TCK does not have", p.Name)
		}
		name := numbered.FindStringSubmatch(p.Name)
		if name == nil {
			return nil, fmt.Errorf("%s: no number", p.Name)
		}
		number := name[1]
		for letter := 'b'; owners[number] != nil && owners[number] != s; letter++ { // another scenario has the same number
			number = name[1] + string(letter)
		}
		owners[number] = s
		c := &testCase{
			ID: fmt.Sprintf("%s[%s]", feature, number), Feature: feature, Scenario: name[2], Tags: []string{},
			Parameters: map[string]string{}, Procedures: []procedure{}, Then: []control{},
		}
		c.Given.Setup = []string{}
		if len(s.Examples) > 0 {
			example[s.Id]++
			c.ID += "#" + strconv.Itoa(example[s.Id])
		}
		for _, tag := range p.Tags {
			c.Tags = append(c.Tags, tag.Name)
		}
		for _, step := range p.Steps {
			if err := c.add(step, files); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.ID, step.Text, err)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

var (
	namedGraph = regexp.MustCompile(`^the (\S+) graph$`)
	signature  = regexp.MustCompile(`^there exists a procedure (.*?) *:$`)
	raised     = regexp.MustCompile(`^an? (\w+) should be raised at (compile time|runtime|any time): (\S+)$`)
	phases     = map[string]string{"compile time": "compile", "runtime": "runtime", "any time": "any"}
	results    = map[string]expectRows{
		"the result should be, in any order:":                                {Order: "any"},
		"the result should be, in order:":                                    {Order: "ordered"},
		"the result should be (ignoring element order for lists):":           {Order: "any", ListsUnordered: true},
		"the result should be, in order (ignoring element order for lists):": {Order: "ordered", ListsUnordered: true},
	}
)

// add adds a step to the case.
func (c *testCase) add(step *messages.PickleStep, files map[string][]byte) error {
	text, table := argument(step)
	switch step.Text {
	case "an empty graph":
		c.Given.Graph = "empty"
		return nil
	case "any graph":
		c.Given.Graph = "any"
		return nil
	case "having executed:":
		c.Given.Setup = append(c.Given.Setup, text)
		return nil
	case "parameters are:":
		for _, row := range table {
			c.Parameters[row[0]] = row[1]
		}
		return nil
	case "executing query:":
		c.Query = text
		return nil
	case "executing control query:":
		c.Then = append(c.Then, control{Query: text})
		return nil
	case "no side effects":
		c.SideEffects = map[string]int{}
		return nil
	case "the side effects should be:":
		c.SideEffects = map[string]int{}
		for _, row := range table {
			n, err := strconv.Atoi(row[1])
			if err != nil {
				return err
			}
			c.SideEffects[row[0]] = n
		}
		return nil
	case "the result should be empty":
		c.expect(expectEmpty{Empty: true})
		return nil
	}
	if rows, ok := results[step.Text]; ok {
		rows.Columns, rows.Rows = table[0], table[1:]
		c.expect(rows)
		return nil
	}
	if m := namedGraph.FindStringSubmatch(step.Text); m != nil {
		script, ok := files[graphsDir+m[1]+"/"+m[1]+".cypher"]
		if !ok {
			return errors.New("no script of this graph")
		}
		c.Given.Graph = m[1]
		c.Given.Setup = append(c.Given.Setup, strings.TrimRight(string(script), "; \n"))
		return nil
	}
	if m := signature.FindStringSubmatch(step.Text); m != nil {
		c.Procedures = append(c.Procedures, procedure{Signature: m[1], Columns: table[0], Rows: table[1:]})
		return nil
	}
	if m := raised.FindStringSubmatch(step.Text); m != nil {
		var e expectError
		e.Error.Type, e.Error.Phase, e.Error.Detail = m[1], phases[m[2]], m[3]
		c.expect(e)
		c.SideEffects = map[string]int{} // an error leaves the graph as it was
		return nil
	}
	return errors.New("an unknown step")
}

// expect says what the last query should do.
func (c *testCase) expect(what any) {
	if n := len(c.Then); n > 0 {
		c.Then[n-1].Expect = what
	} else {
		c.Expect = what
	}
}

// argument returns the text or the table of a step.
func argument(step *messages.PickleStep) (text string, table [][]string) {
	switch a := step.Argument; {
	case a == nil:
	case a.DocString != nil:
		text = strings.TrimSpace(a.DocString.Content)
	default:
		for _, r := range a.DataTable.Rows {
			row := []string{}
			for _, cell := range r.Cells {
				row = append(row, cell.Value)
			}
			table = append(table, row)
		}
	}
	return text, table
}
