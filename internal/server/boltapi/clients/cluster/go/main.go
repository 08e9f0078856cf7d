// Writers does what writers.py does: writers ADDRESS,… PREFIX.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/config"
)

func write(ctx context.Context, driver neo4j.Driver, worker, key string) {
	tries := 0
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	defer session.Close(ctx)
	_, err := session.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		tries++
		for _, statement := range []string{
			"CREATE (:Written {key: $key, worker: $worker})",
			"MERGE (w:Worker {name: $worker}) SET w.n = coalesce(w.n, 0) + 1",
		} {
			result, err := tx.Run(ctx, statement, map[string]any{"key": key, "worker": worker})
			if err != nil {
				return nil, err
			}
			if _, err := result.Consume(ctx); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	outcome := "written"
	var e *neo4j.Neo4jError
	switch {
	case err == nil:
	case errors.As(err, &e) && e.Code == "Neo.ClientError.Schema.ConstraintValidationFailed":
		outcome = "found" // an earlier try, whose answer was lost
	case strings.Contains(err.Error(), "commit"):
		outcome = "unknown" // the driver leaves it to the program to look
	default:
		outcome = strings.ReplaceAll(err.Error(), " ", "_")
	}
	fmt.Println(key, outcome, tries)
}

func main() {
	ctx := context.Background()
	driver, err := neo4j.NewDriver("neo4j://gateways", neo4j.NoAuth(), func(c *config.Config) {
		c.AddressResolver = func(config.ServerAddress) (all []config.ServerAddress) {
			for _, address := range strings.Split(os.Args[1], ",") {
				host, port, _ := strings.Cut(address, ":")
				all = append(all, neo4j.NewServerAddress(host, port))
			}
			return all
		}
		c.MaxTransactionRetryTime = 2 * time.Minute
	})
	if err != nil {
		log.Fatal(err)
	}
	defer driver.Close(ctx)
	var stopped atomic.Bool
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			worker := fmt.Sprintf("%s-%d", os.Args[2], i)
			for n := 0; !stopped.Load(); n++ {
				write(ctx, driver, worker, fmt.Sprintf("%s-%d", worker, n))
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stopped.Store(true)
	workers.Wait()
}
