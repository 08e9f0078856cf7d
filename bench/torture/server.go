package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dense is the number of vertices of the dense graph, where each vertex has an edge to every other.
const dense = 200

const mapping = `version: 1
inputs:
  - {path: people.csv, vertices: [{label: Person, id: id, properties: {id: {type: int}, name: {}, age: {type: int}, about: {}}}]}
  - {path: knows.csv, edges: [{type: KNOWS, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}}]}
  - {path: dense.csv, vertices: [{label: Dense, id: id, properties: {id: {type: int}}}]}
  - {path: linked.csv, edges: [{type: LINKED, from: {column: a, idSpace: Dense}, to: {column: b, idSpace: Dense}}]}
`

// generate writes the files of the graph.
func generate(dir string, people int) error {
	r := rand.New(rand.NewPCG(1, 2))
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "mapping.yaml"), []byte(mapping), 0o600),
		writeFile(dir, "people.csv", "id,name,age,about", people, func(i int) string {
			return fmt.Sprintf("%d,Person %d,%d,%s", i, i, i%100, strings.Repeat("about ", 20))
		}),
		writeFile(dir, "knows.csv", "a,b", 10*people, func(i int) string { return fmt.Sprintf("%d,%d", i/10, r.IntN(people)) }),
		writeFile(dir, "dense.csv", "id", dense, strconv.Itoa),
		writeFile(dir, "linked.csv", "a,b", dense*dense, func(i int) string { return fmt.Sprintf("%d,%d", i/dense, i%dense) }),
	)
}

// writeFile writes a header and n lines.
func writeFile(dir, name, header string, n int, line func(i int) string) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, header)
	for i := range n {
		fmt.Fprintln(w, line(i))
	}
	return errors.Join(w.Flush(), f.Close())
}
