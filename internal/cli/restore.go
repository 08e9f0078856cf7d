package cli

import "github.com/spf13/cobra"

// Restore has the flags of a command that restores a backup.
type Restore struct {
	Dir, Backup string
	// To is a moment to go to, as a time, a token or "latest", and Graph the one graph that goes there; "": all.
	To, Graph string
	Member    Member
}

// Member is a process of a cluster. It is zero for a single server.
type Member struct{ Replicas, Processes, Process, Shards int }

// RestoreHelp describes a restore.
const RestoreHelp = `Create a data directory for hopgate serve from a backup, which may be of a cluster or of a single server.

--replicas, --processes and --process create the directory of a process of a cluster. Restore all processes from the same
backup before the first one starts, and never one alone: graphctl member replace gives that one its state.

--to goes to a moment. Where graphctl backup --log has shipped the commits since the newest backup before it, they are made again, with all ids, indexes
and access rules; tokens up to the moment stay valid. Else it undoes what the backup has of later commits, by one more commit: what was deleted
since comes back under other element ids, and indexes, constraints and access rules stay those of the backup.`

// Flags defines the flags of the command.
func (r *Restore) Flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.Dir, "data-dir", "", "the data directory to create; it must be empty")
	f.StringVar(&r.Backup, "backup", "", "the backup to restore (default: the newest; with --to and a shipped log, the newest before the moment)")
	f.StringVar(&r.To, "to", "", "the moment that the graphs go to, forward by the shipped log or back by that of the backup: a time such as 2026-03-01T12:00:00Z, a token, or latest")
	f.StringVar(&r.Graph, "to-graph", "", "with --to: the one graph that goes there")
	f.IntVar(&r.Member.Replicas, "replicas", 0, "for a process of a cluster: how many processes keep each shard: 1, 3, 5 or 7")
	f.IntVar(&r.Member.Processes, "processes", 0, "how many processes the cluster has")
	f.IntVar(&r.Member.Process, "process", 0, "the process that the directory is for, from 0, in the order of the addresses")
	f.IntVar(&r.Member.Shards, "shards", 0, "how many shards the cluster has (default: as many as the backup)")
}
