// People loads, queries and changes a graph by Neo4j's driver: go run . [ADDRESS].
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
)

func load(ctx context.Context, driver neo4j.Driver, people, batch int) error {
	run := func(statement string, parameters map[string]any) error {
		_, err := neo4j.ExecuteQuery(ctx, driver, statement, parameters, neo4j.EagerResultTransformer)
		return err
	}
	if err := run("CREATE CONSTRAINT person IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE", nil); err != nil {
		return err
	}
	rows := make([]map[string]any, people)
	for i := range rows {
		rows[i] = map[string]any{"id": i, "name": fmt.Sprint("P", i), "friend": (i*7 + 1) % people}
	}
	for _, statement := range []string{
		"UNWIND $rows AS row MERGE (p:Person {id: row.id}) SET p.name = row.name, p.coins = 10",
		"UNWIND $rows AS row MATCH (a:Person {id: row.id}), (b:Person {id: row.friend}) MERGE (a)-[:KNOWS]->(b)",
	} {
		for at := 0; at < people; at += batch {
			if err := run(statement, map[string]any{"rows": rows[at:min(at+batch, people)]}); err != nil {
				return err
			}
		}
	}
	return nil
}

func near(ctx context.Context, driver neo4j.Driver, id int) (names []string, err error) {
	result, err := neo4j.ExecuteQuery(ctx, driver,
		"MATCH (:Person {id: $id})-[:KNOWS*1..3]->(p) RETURN DISTINCT p.name AS name ORDER BY name",
		map[string]any{"id": id}, neo4j.EagerResultTransformer, neo4j.ExecuteQueryWithReadersRouting())
	if err != nil {
		return nil, err
	}
	for _, record := range result.Records {
		name, _, err := neo4j.GetRecordValue[string](record, "name")
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func total(ctx context.Context, driver neo4j.Driver, rows int) (sum int64, err error) {
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	defer session.Close(ctx)
	result, err := session.Run(ctx, "UNWIND range(1, $rows) AS i RETURN i", map[string]any{"rows": rows})
	if err != nil {
		return 0, err
	}
	for result.Next(ctx) { // The rows come as the loop asks for them: memory holds a thousand at a time.
		sum += result.Record().Values[0].(int64)
	}
	return sum, result.Err()
}

// give gives a unit of work. The driver runs it again if the transaction conflicts with another one or loses its server.
func give(ctx context.Context, giver, taker int, coins int64) neo4j.ManagedTransactionWork {
	return func(tx neo4j.ManagedTransaction) (any, error) {
		change := func(id int, coins int64) (int64, error) {
			result, err := tx.Run(ctx, "MATCH (p:Person {id: $id}) SET p.coins = p.coins + $coins RETURN p.coins AS left",
				map[string]any{"id": id, "coins": coins})
			if err != nil {
				return 0, err
			}
			record, err := result.Single(ctx)
			if err != nil {
				return 0, err
			}
			return record.Values[0].(int64), nil
		}
		left, err := change(giver, -coins)
		if err != nil {
			return nil, err
		}
		if left < 0 {
			return nil, fmt.Errorf("%d has only %d coins", giver, left+coins) // rolls back
		}
		_, err = change(taker, coins)
		return left, err
	}
}

func run(ctx context.Context, address string) error {
	driver, err := neo4j.NewDriver("neo4j://"+address, neo4j.BasicAuth("neo4j", "any", ""))
	if err != nil {
		return err
	}
	defer driver.Close(ctx)
	if err := load(ctx, driver, 5_000, 1_000); err != nil {
		return err
	}
	names, err := near(ctx, driver, 42)
	if err != nil {
		return err
	}
	fmt.Println("near 42:", strings.Join(names, " "))
	sum, err := total(ctx, driver, 1_000_000)
	if err != nil {
		return err
	}
	fmt.Println("total:", sum)
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	defer session.Close(ctx)
	left, err := session.ExecuteWrite(ctx, give(ctx, 42, 43, 7))
	if err != nil {
		return err
	}
	fmt.Println("left:", left)
	if _, err := session.ExecuteWrite(ctx, give(ctx, 42, 43, 7)); err != nil {
		fmt.Println("refused:", err)
	}
	return nil
}

func main() {
	address := "localhost:7687"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(context.Background(), address); err != nil {
		log.Fatal(err)
	}
}
