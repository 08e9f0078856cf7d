package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The nested list: moments, each with its author, comments and people who like it.
const (
	nestedMoments  = 100
	nestedComments = 100
	nestedLikes    = 200
)

// people is the number of users.
const people = 10_000

// mapping maps the files to a graph.
const mapping = `version: 1
inputs:
  - path: user.jsonl
    vertices: [{label: User, id: id, properties: {id: {type: int}, sex: {type: int}, name: {}, tag: {}, head: {}, contactIdList: {type: "int[]"}, pictureList: {type: "string[]"}, date: {}, phone: {type: int}}}]
  - path: moment.jsonl
    vertices: [{label: Moment, id: id, properties: {id: {type: int}, userId: {type: int}, date: {}, content: {}}}]
  - path: comment.jsonl
    vertices: [{label: Comment, id: id, properties: {id: {type: int}, toId: {type: int}, userId: {type: int}, momentId: {type: int}, date: {}, content: {}}}]
  - path: record.jsonl
    vertices: [{label: Record, id: id, properties: {id: {type: int}, sex: {type: int}, name: {}, tag: {}, head: {}, contactIdList: {type: "int[]"}, pictureList: {type: "string[]"}, date: {}, phone: {type: int}}}]
  - path: on.jsonl
    edges: [{type: ON, from: {column: src, idSpace: Comment}, to: {column: dst, idSpace: Moment}}]
  - path: likes.jsonl
    edges: [{type: LIKES, from: {column: src, idSpace: User}, to: {column: dst, idSpace: Moment}}]
`

// generate writes the files of the graph: rows records with 9 columns, and the network of the nested list.
func generate(dir string, rows int) error {
	r := rand.New(rand.NewPCG(1, 2))
	person := func(w *bufio.Writer, id int) {
		fmt.Fprintf(w, `{"id":%d,"sex":%d,"name":"User number %d","tag":"tag%d","head":"https://example.com/head/%d.png","contactIdList":[%d,%d],`,
			id, id&1, id, r.IntN(100), id, r.IntN(people), r.IntN(people))
		fmt.Fprintf(w, `"pictureList":["https://example.com/picture/%d.png"],"date":"20%02d-%02d-%02d 10:00:00","phone":%d}`+"\n",
			r.IntN(1000), r.IntN(26), 1+r.IntN(12), 1+r.IntN(28), 13_000_000_000+id)
	}
	comments := nestedMoments * nestedComments
	for _, f := range []struct {
		name  string
		n     int
		write func(w *bufio.Writer, i int)
	}{
		{"record", rows, func(w *bufio.Writer, i int) { person(w, i+1) }},
		{"user", people, func(w *bufio.Writer, i int) { person(w, i+1) }},
		{"moment", nestedMoments, func(w *bufio.Writer, i int) {
			fmt.Fprintf(w, `{"id":%d,"userId":%d,"date":"2020-01-01 00:00:%02d","content":"This is the content of moment %d"}`+"\n", i+1, 1+r.IntN(people), i%60, i)
		}},
		{"comment", comments, func(w *bufio.Writer, i int) {
			fmt.Fprintf(w, `{"id":%d,"toId":0,"userId":%d,"momentId":%d,"date":"2020-01-02 00:00:00","content":"This is comment number %d"}`+"\n",
				i+1, 1+r.IntN(people), 1+i%nestedMoments, i)
		}},
		{"on", comments, func(w *bufio.Writer, i int) { fmt.Fprintf(w, `{"src":%d,"dst":%d}`+"\n", i+1, 1+i%nestedMoments) }},
		{"likes", nestedMoments * nestedLikes, func(w *bufio.Writer, i int) {
			fmt.Fprintf(w, `{"src":%d,"dst":%d}`+"\n", 1+(i*37)%people, 1+i/nestedLikes)
		}},
	} {
		if err := writeFile(filepath.Join(dir, f.name+".jsonl"), f.n, f.write); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "mapping.yaml"), []byte(mapping), 0o600)
}

func writeFile(path string, n int, write func(w *bufio.Writer, i int)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		write(w, i)
	}
	if err := w.Flush(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
