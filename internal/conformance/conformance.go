// Package conformance finds the cases of public conformance suites, which lie outside the repository, and notes which of them tests run.
package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Suite is a set of cases that lies outside the repository.
type Suite struct {
	Name string
	path string // of its cases, below each of the places
	get  string // how to get it
}

// The suites. Each is found at the first of the places that has it: the folder that HOPGATE_CONFORMANCE names, and no other if it is
// set; the folder shared beside the checkout; the cache that make conformance fills.
var (
	OpenCypher  = Suite{"openCypher", "tck/cases.jsonl", "run make conformance"}
	APIJSON     = Suite{"APIJSON", "apijson/cases.jsonl", "record APIJSON's answers over its demo tables"}
	LDBC        = Suite{"LDBC", "data/ldbc-queries.jsonl", "run make conformance"}
	LDBCAnswers = Suite{"LDBC answers", "data/ldbc-sf0.003/answers.jsonl", "record Neo4j's answers over the data"}
)

// suites are those that tests run.
var suites = []Suite{OpenCypher, APIJSON, LDBC, LDBCAnswers}

// Cache returns the folder that make conformance fills.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "hopgate-conformance"), err
}

// places returns the folders that may hold suites.
func places() ([]string, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	for !exists(filepath.Join(root, "go.mod")) && root != filepath.Dir(root) {
		root = filepath.Dir(root)
	}
	if dir := os.Getenv("HOPGATE_CONFORMANCE"); dir != "" {
		if !filepath.IsAbs(dir) { // tests run in the folders of their packages
			dir = filepath.Join(root, dir)
		}
		return []string{dir}, nil
	}
	out := []string{filepath.Join(filepath.Dir(root), "shared")}
	if cache, err := Cache(); err == nil { // there is none without a home
		out = append(out, cache)
	}
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Path returns where the cases lie.
func (s Suite) Path() (string, error) {
	// go test does not see changes outside the module. make test sets logVariable to a new name each time; reading it here keeps go test from
	// reusing a cached result, also where there are no cases to log.
	_ = os.Getenv(logVariable)
	dirs, err := places()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, s.path); exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in %q: %s", s.Name, dirs, s.get)
}

// Need returns where the cases lie, and skips the test if that is nowhere.
func (s Suite) Need(t testing.TB) string {
	t.Helper()
	path, err := s.Path()
	if err != nil {
		t.Skip(err)
	}
	return path
}

// Cases decodes the cases of a suite, one a line, or skips the test if they are nowhere.
func Cases[T any](t testing.TB, s Suite) []T {
	t.Helper()
	return Lines[T](t, s.Need(t))
}

// Lines decodes a file of one JSON value a line.
func Lines[T any](t testing.TB, path string) (out []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(path, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
