package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
)

// profilePaths are the admin listener's paths of the profiles.
var profilePaths = map[string]string{
	"cpu": "profile", "heap": "heap", "goroutine": "goroutine", "mutex": "mutex", "block": "block",
}

func newPprof(a *app) *cobra.Command {
	var seconds int
	var flame, out string
	cmd := &cobra.Command{
		Use: "pprof cpu|heap|goroutine|mutex|block", Short: "Take a profile of the live server; --flame draws it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, ok := profilePaths[args[0]]
			if !ok {
				return usagef("pprof %s: must be cpu, heap, goroutine, mutex or block", args[0])
			}
			data, err := a.profile(cmd.Context(), path, seconds)
			if err != nil {
				return err
			}
			p, err := profile.Parse(bytes.NewReader(data))
			if err != nil {
				return fmt.Errorf("pprof: the server's answer is no profile: %w", err)
			}
			if out != "" {
				if err := os.WriteFile(out, data, 0o644); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "profile:", out)
			}
			if flame != "" {
				page, err := flamePage(p, args[0])
				if err != nil {
					return err
				}
				if err := os.WriteFile(flame, page, 0o644); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "flame graph:", flame)
			}
			if out == "" && flame == "" {
				return printTop(cmd.OutOrStdout(), p, 25)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&seconds, "seconds", 10, "how long to watch, for cpu")
	cmd.Flags().StringVar(&flame, "flame", "", "write a self-contained flame-graph page to this file")
	cmd.Flags().StringVarP(&out, "out", "O", "", "write the profile to this file (pprof's format)")
	return cmd
}

// profile asks the admin listener for a profile.
func (a *app) profile(ctx context.Context, path string, seconds int) ([]byte, error) {
	u := url.URL{Scheme: "http", Host: a.admin, Path: "/debug/pprof/" + path}
	if path == "profile" {
		u.RawQuery = "seconds=" + strconv.Itoa(seconds)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("pprof: the admin listener at %s (--admin): %w", a.admin, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("pprof: %s: %s", res.Status, strings.TrimSpace(string(data)))
	}
	return data, err
}
