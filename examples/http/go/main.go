// Query runs a statement over HTTP and prints its rows: go run ./examples/http/go [ADDRESS].
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func query(address, statement string, parameters map[string]any) ([][]any, error) {
	body, err := json.Marshal(map[string]any{"statement": statement, "parameters": parameters})
	if err != nil {
		return nil, err
	}
	response, err := http.Post("http://"+address+"/v1/query", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data   struct{ Values [][]any }
		Errors []struct{ Code, Message string }
	}
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, fmt.Errorf("%s: %s", answer.Errors[0].Code, answer.Errors[0].Message)
	}
	return answer.Data.Values, nil
}

func main() {
	address := "localhost:8080"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	rows, err := query(address, "MATCH (:Person {id: $id})-[:KNOWS]->(f) RETURN f.id AS id, f.firstName AS name ORDER BY id LIMIT 3",
		map[string]any{"id": 42})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row...)
	}
}
