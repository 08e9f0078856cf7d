// Command rest measures a server that nobody asks anything: its memory without data, with a network of people, and once all properties of the people
// have been read, each beside bare arrays; the time until it is ready; and the first two-hop counts after a start beside later ones.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

// rests is how long after its start a server is measured.
const rests = 10 * time.Second

// counts is the number of people whose two hops are counted.
const counts = 1000

func main() {
	bin := flag.String("bin", "bin", "directory of hopgate and graphctl")
	dir := flag.String("dir", os.TempDir(), "where to put the data")
	persons := flag.Int("persons", 1_000_000, "people; each knows 37 others")
	flag.Parse()
	if err := run(os.Stdout, *bin, *dir, *persons); err != nil {
		fmt.Fprintln(os.Stderr, "rest:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, bin, dir string, persons int) (err error) {
	if bin, err = filepath.Abs(bin); err != nil { // programs run in the directory of the data
		return err
	}
	if dir, err = os.MkdirTemp(dir, "hopgate-rest-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	empty, _, err := rested(w, bin, filepath.Join(dir, "empty"), "an empty server")
	if err != nil {
		return err
	}
	if err := empty.Stop(); err != nil {
		return err
	}
	edges, err := load(bin, dir, persons)
	if err != nil {
		return err
	}
	s, before, err := rested(w, bin, filepath.Join(dir, "data"), fmt.Sprintf("%d people, %d edges", persons, edges))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	lists := before.topology
	arrays := float64(2 * 4 * (persons + 1 + edges))
	fmt.Fprintf(w, "lists, for a million edges: %.1f MB decoded, bare arrays in both directions %.1f MB\n", lists/float64(edges), arrays/float64(edges))
	if err := hops(w, s, persons); err != nil {
		return err
	}
	if before, err = report(w, s, "the same after these counts"); err != nil {
		return err
	}
	bare, err := properties(s, persons)
	if err != nil {
		return err
	}
	after, err := report(w, s, "the same once 8 properties of all people have been read")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "properties, for a million people: %.1f MB decoded, %.1f MB of blocks, bare arrays %.1f MB\n",
		(after.topology-before.topology)/float64(persons), (after.blocks-before.blocks)/float64(persons), bare/float64(persons))
	return nil
}

// load makes a network, imports its people and KNOWS edges, and returns the number of these.
func load(bin, dir string, persons int) (edges int, err error) {
	files := filepath.Join(dir, "files")
	for _, args := range [][]string{
		{"graphctl", "generate", "social", "--persons", strconv.Itoa(persons), "-d", files},
		{
			"hopgate", "import", filepath.Join(files, "person.csv"), filepath.Join(files, "person_knows_person.csv"),
			"--data-dir", filepath.Join(dir, "data"), "--memory", "1GiB", "--progress", "none",
		},
	} {
		if out, err := exec.CommandContext(context.Background(), filepath.Join(bin, args[0]), args[1:]...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	data, err := os.ReadFile(filepath.Join(files, "person_knows_person.csv"))
	return bytes.Count(data, []byte("\n")) - 1, errors.Join(err, os.RemoveAll(files))
}

// rested starts a server and reports its memory after some time without requests.
func rested(w io.Writer, bin, dir, what string) (*proc.Server, memory, error) {
	began := time.Now()
	s, err := proc.Start(bin, "serve", "--data-dir", dir, "--bolt", "127.0.0.1:0")
	if err != nil {
		return nil, memory{}, err
	}
	fmt.Fprintf(w, "%s: ready after %.2f s\n", what, time.Since(began).Seconds())
	time.Sleep(rests)
	m, err := report(w, s, fmt.Sprintf("%s, after %v", what, rests))
	return s, m, err
}

// memory is what a server holds, in bytes.
type memory struct{ topology, blocks float64 }

// report prints the resident memory of a server and its parts.
func report(w io.Writer, s *proc.Server, what string) (m memory, err error) {
	resident := map[string]float64{}
	for _, field := range []string{"VmRSS", "RssAnon", "RssFile"} {
		n, err := s.Memory(field)
		if err != nil {
			return m, err
		}
		resident[field] = float64(n)
	}
	if m.topology, err = metric(s, "hopgate_topology_cache_bytes"); err != nil {
		return m, err
	}
	if m.blocks, err = metric(s, "hopgate_block_cache_bytes"); err != nil {
		return m, err
	}
	heap, err := metric(s, "go_memstats_heap_inuse_bytes")
	const mb = 1 << 20
	fmt.Fprintf(w, "%s: %.1f MiB resident, %.1f of its own, %.1f of the program file; topology cache %.1f, block cache %.1f, Go heap %.1f\n", what,
		resident["VmRSS"]/mb, resident["RssAnon"]/mb, resident["RssFile"]/mb, m.topology/mb, m.blocks/mb, heap/mb)
	return m, err
}

// metric reads a metric without labels.
func metric(s *proc.Server, name string) (float64, error) {
	body, err := answer(http.MethodGet, "http://"+s.Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// hops counts the two hops of some people three times and prints how long the counts took.
func hops(w io.Writer, s *proc.Server, persons int) error {
	for _, round := range []string{"first", "second", "third"} {
		rng := rand.New(rand.NewPCG(1, 1))
		var took []time.Duration
		sum, counted := time.Duration(0), 0
		for range counts {
			began := time.Now()
			n, err := ask(s, "MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(c:Person) RETURN count(DISTINCT c)", 1+rng.IntN(persons))
			if err != nil {
				return err
			}
			took = append(took, time.Since(began))
			sum += took[len(took)-1]
			counted += int(n)
		}
		slices.Sort(took)
		fmt.Fprintf(w, "%s %d two-hop counts: mean %v, median %v, 99th percentile %v, longest %v, %d ends\n", round, counts, (sum / counts).Round(time.Microsecond),
			took[counts/2].Round(time.Microsecond), took[counts*99/100].Round(time.Microsecond), took[counts-1].Round(time.Microsecond), counted)
	}
	return nil
}

// properties has all properties of all people read, and returns the bytes that their values take in arrays: 8 for a number, and its bytes and
// a 32-bit offset for a text.
func properties(s *proc.Server, persons int) (bytes float64, err error) {
	for _, name := range []string{"id", "birthday", "creationDate"} {
		n, err := ask(s, "MATCH (p:Person) WHERE p."+name+" % 7 < 7 RETURN count(*)", 0)
		if err != nil {
			return 0, err
		}
		if int(n) != persons {
			return 0, fmt.Errorf("%v of %d people have %s", n, persons, name)
		}
		bytes += 8 * n
	}
	for _, name := range []string{"firstName", "lastName", "gender", "locationIP", "browserUsed"} {
		n, err := ask(s, "MATCH (p:Person) RETURN sum(size(p."+name+"))", 0)
		if err != nil {
			return 0, err
		}
		bytes += n + 4*float64(persons)
	}
	return bytes, nil
}

// ask returns the number that a statement answers.
func ask(s *proc.Server, statement string, id int) (float64, error) {
	request, err := json.Marshal(map[string]any{"statement": statement, "parameters": map[string]any{"id": id}})
	if err != nil {
		return 0, err
	}
	body, err := answer(http.MethodPost, "http://"+s.HTTP+"/v1/query", request)
	if err != nil {
		return 0, err
	}
	var got struct {
		Data struct{ Values [][]float64 }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return 0, err
	}
	if len(got.Data.Values) != 1 || len(got.Data.Values[0]) != 1 {
		return 0, fmt.Errorf("%s: %s", statement, body)
	}
	return got.Data.Values[0][0], nil
}

// answer returns the body of a successful response.
func answer(method, url string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, res.Status, got)
	}
	return got, err
}
