package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// newIdle keeps a container alive whose volume other commands work on.
func newIdle() *cobra.Command {
	return &cobra.Command{
		Use: "idle", Short: "Do nothing until SIGTERM, in a container whose data directory recover, restore and others work on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			<-ctx.Done()
			return nil
		},
	}
}
