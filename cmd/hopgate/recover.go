package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
)

const recoverHelp = `Make the replica in the data directory of a process that does not run the only member of its group, after the
other processes of the group have lost their disks for good, and with them its majority.

All entries of its log count as committed from then on. Commits that this replica lacks are lost, although they
may have been acknowledged; without --force the command says what the log has and changes nothing. Of several
processes that are left, recover one: that whose last entry has the greatest term, and among those the greatest index.

If the other processes still have their disks, start them instead: a recovery would split the group in two. Afterwards
never start them with their old directories. Start them with empty ones, and replace their replicas by graphctl
member replace. Then run graphctl check: shards whose logs end at different commits may disagree.`

// newRecover recovers groups that have lost their majority.
func newRecover() *cobra.Command {
	dir, group, all, force := "", -1, false, false
	cmd := &cobra.Command{
		Use: "recover --data-dir DIR (--group SHARD | --all)", Short: "Make a replica the only member of a group that has lost its majority", Long: recoverHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case dir == "":
				return cli.Error{Code: cli.Usage, Err: errors.New("data-dir: name the directory of the process that is left")}
			case all == cmd.Flags().Changed("group"):
				return cli.Error{Code: cli.Usage, Err: errors.New("group, all: name one shard, or all of the directory")}
			case !all && group < 0:
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("group: must be the number of a shard, is %d", group)}
			}
			found, err := part.Recover(local.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}, group, force)
			printRecovered(cmd.OutOrStdout(), found, force)
			if err == nil && !force {
				err = cli.Error{Code: cli.Usage, Err: errors.New("force: nothing is changed without it; commits that this replica lacks are lost; see hopgate recover --help")}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "the data directory of the process that is left")
	cmd.Flags().IntVar(&group, "group", group, "the shard whose replicas have lost their majority")
	cmd.Flags().BoolVar(&all, "all", false, "all shards of the directory")
	cmd.Flags().BoolVar(&force, "force", false, "recover; commits that this replica lacks are lost")
	return cmd
}

// printRecovered prints what the logs had, and what has become of the groups.
func printRecovered(w io.Writer, found []part.Recovered, force bool) {
	for _, r := range found {
		fmt.Fprintf(w, "shard %d: the log of process %d ends at entry %d of term %d; entries up to %d were known to be committed\n",
			r.Shard, r.Process, r.Last, r.LastTerm, r.Committed)
		var former []string
		for _, p := range r.Lost {
			former = append(former, strconv.Itoa(p))
		}
		switch {
		case len(r.Former) == 0:
			fmt.Fprintf(w, "shard %d: process %d is the only member already\n", r.Shard, r.Process)
		case force:
			fmt.Fprintf(w, "shard %d: process %d is the only member from term %d on; former members: processes %s\n", r.Shard, r.Process, r.Term, strings.Join(former, ", "))
		default:
			fmt.Fprintf(w, "shard %d: members besides process %d, which a recovery removes: processes %s\n", r.Shard, r.Process, strings.Join(former, ", "))
		}
	}
}
