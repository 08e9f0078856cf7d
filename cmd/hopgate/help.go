package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples holds the command lines in each command's help, by the command's name.
var examples = map[string][]string{
	"serve":   {"hopgate serve --data-dir /var/lib/hopgate --memory 8GiB", "hopgate serve --replicas 3 --join a:9190,b:9190,c:9190 --peer a:9190"},
	"gateway": {"hopgate gateway --join a:9190,b:9190,c:9190", "hopgate gateway --join srv:hopgate-shard.default.svc"},
	"shard":   {"hopgate shard --join a:9190,b:9190,c:9190 --peer a:9190 --replicas 3 --data-dir /var/lib/hopgate"},
	"recover": {"hopgate recover --data-dir /var/lib/hopgate --group 0", "hopgate recover --data-dir /var/lib/hopgate --all --force"},
	"import":  {"hopgate import people.yaml --data-dir /var/lib/hopgate --memory 4GiB"},
	"restore": {"hopgate restore /var/backups/hopgate --data-dir /var/lib/hopgate", "hopgate restore s3://bucket/hopgate --data-dir /var/lib/hopgate --to 2026-03-01T12:00:00Z"},
	"check":   {"hopgate check --data-dir /var/lib/hopgate --graph shop"},
	"idle":    {"hopgate idle"},
	"config":  {"hopgate config --memory 8GiB"},
	"token":   {"hopgate token ann --role writer", "hopgate token dana --role reader --custom-role analyst --claim tenant=acme"},
	"version": {"hopgate version"},
}

// addExamples adds the examples to the commands below root.
func addExamples(root *cobra.Command) {
	for _, c := range root.Commands() {
		if lines := examples[c.Name()]; lines != nil {
			c.Example = "  " + strings.Join(lines, "\n  ")
		}
	}
}
