package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// logVariable names the file that takes what ran.
const logVariable = "HOPGATE_CONFORMANCE_LOG"

// Ran notes, in the file that HOPGATE_CONFORMANCE_LOG names, that a test has run n cases of a suite over a part of the system: the engine, a transport.
func (s Suite) Ran(t testing.TB, over string, n int) {
	t.Helper()
	t.Logf("%s, %s: %d cases", s.Name, over, n)
	file := os.Getenv(logVariable)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the log that make names
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%s\t%s\t%d\n", s.Name, over, n) // one write, so that the lines of concurrent tests do not mix
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Summary returns one line: the suites that ran by the log, with their numbers of cases, and those that did not, with the way to get them.
func Summary(log io.Reader) (string, error) {
	counts := map[string]int{}
	over := map[string][]string{}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		suite, rest, _ := strings.Cut(lines.Text(), "\t")
		part, number, _ := strings.Cut(rest, "\t")
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("the log of suites: %w", err)
		}
		if _, ok := counts[suite+"\t"+part]; !ok {
			over[suite] = append(over[suite], part)
		}
		counts[suite+"\t"+part] += n
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	var ran, missed []string
	for _, s := range suites {
		var parts []string
		for _, part := range over[s.Name] {
			parts = append(parts, fmt.Sprintf("%s %d", part, counts[s.Name+"\t"+part]))
		}
		switch _, err := s.Path(); {
		case parts != nil:
			ran = append(ran, s.Name+" ("+strings.Join(parts, ", ")+")")
		case err != nil:
			missed = append(missed, s.Name+" ("+s.get+")")
		default:
			missed = append(missed, s.Name+" (it is there, but no test reached it)")
		}
	}
	out := "conformance: "
	if ran == nil {
		out += "no suite ran"
	} else {
		out += "ran " + strings.Join(ran, ", ")
	}
	if missed != nil {
		out += "; did not run " + strings.Join(missed, ", ")
	}
	return out, nil
}
