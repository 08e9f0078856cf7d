package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/backup"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/size"
)

func newBackup(a *app) *cobra.Command {
	var list, verify bool
	var id string
	var keep int
	var ship shipSettings
	cmd := &cobra.Command{
		Use:   "backup DEST",
		Short: "Back up the server's graphs to a directory or an object store, while they are written to",
		Long: `Back up all graphs, or the one that --graph names, to DEST: a directory, file:///path, or s3://bucket/folder; builds with the
tags gcs and azure have gs://bucket/folder and azblob://container/folder. The backup copies only files that DEST lacks.

With --log, no backup is made: what is committed from then on, and what the commit log still has of before, is shipped to DEST again and again until
the command is ended, so that hopgate restore --to reaches any moment since the oldest backup. It goes on where another one has ended.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list && verify {
				return cli.Usagef("--list and --verify: choose one")
			}
			if id != "" && !verify {
				return cli.Usagef("--backup is for --verify; a new backup gets an id of its own")
			}
			if keep < 0 || keep > 0 && (list || verify || cmd.Flags().Changed("graph")) {
				return cli.Usagef("--keep: must be a number from 0, for backups of all graphs")
			}
			if ship.log && (list || verify || keep > 0) {
				return cli.Usagef("--log: goes with none of --list, --verify and --keep")
			}
			if err := ship.check(cmd.Flags().Changed); err != nil {
				return err
			}
			ctx, cancel := a.deadline(cmd.Context())
			defer cancel()
			r, err := backup.Open(ctx, args[0], !list && !verify)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			defer func() { _ = r.Close() }()
			switch {
			case list:
				return listBackups(ctx, cmd.OutOrStdout(), r)
			case verify:
				return verifyBackup(ctx, cmd.OutOrStdout(), r, id)
			}
			var graphs []string
			if cmd.Flags().Changed("graph") {
				graphs = []string{a.Graph}
			}
			if ship.log {
				return a.shipLogs(cmd.Context(), cmd.OutOrStdout(), r, graphs, &ship)
			}
			if err := a.backup(cmd.Context(), cmd.OutOrStdout(), r, graphs, keep); err != nil || keep == 0 {
				return err
			}
			return pruneBackups(cmd.Context(), cmd.OutOrStdout(), r, keep)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&list, "list", false, "list the backups in DEST")
	f.BoolVar(&verify, "verify", false, "read a backup in DEST and check all of its checksums")
	f.StringVar(&id, "backup", "", "the backup to verify (default: the newest)")
	f.BoolVar(&ship.log, "log", false, "keep shipping the commit log to DEST, instead of a backup, until the command is ended")
	f.DurationVar(&ship.interval, "interval", 10*time.Second, "with --log: how often")
	f.BoolVar(&ship.once, "once", false, "with --log: ship what there is, and end")
	f.IntVar(&keep, "keep", 0, "after the backup, remove all but so many of the newest in DEST; 0 keeps all")
	return cmd
}

// deadline applies --timeout to a command that does not dial.
func (a *app) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.Timeout > 0 {
		return context.WithTimeout(ctx, a.Timeout)
	}
	return ctx, func() {}
}

// pruneBackups removes old backups. Others that are under way keep them until the next time.
func pruneBackups(ctx context.Context, out io.Writer, r *backup.Repo, keep int) error {
	ids, files, bytes, err := r.Prune(ctx, keep)
	if errors.Is(err, backup.ErrBusy) {
		fmt.Fprintln(out, "old backups are kept for now:", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	fmt.Fprintf(out, "removed %s: %s, %s\n", size.Count(len(ids), "old backup"), size.Count(files, "file"), size.Text(uint64(bytes)))
	return nil
}

func listBackups(ctx context.Context, out io.Writer, r *backup.Repo) error {
	ids, err := r.IDs(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "BACKUP\tTAKEN\tGRAPHS\tFILES\tSIZE")
	var errs []error
	for _, id := range ids {
		m, err := r.Manifest(ctx, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", m.ID, m.Taken.Format(time.RFC3339), len(m.Graphs), len(m.Files), size.Text(uint64(m.Bytes())))
	}
	return errors.Join(append(errs, w.Flush())...)
}

func verifyBackup(ctx context.Context, out io.Writer, r *backup.Repo, id string) error {
	m, err := r.Manifest(ctx, id)
	if err != nil {
		return err
	}
	if err := r.Verify(ctx, m, nil); err != nil {
		return err
	}
	fmt.Fprintf(out, "backup %s is whole: %s, %s\n", m.ID, size.Count(len(m.Files), "file"), size.Text(uint64(m.Bytes())))
	return nil
}

// backupStream is the stream of a Backup call.
type backupStream = grpc.BidiStreamingClient[pb.BackupRequest, pb.BackupResponse]

// backup takes a backup.
func (a *app) backup(ctx context.Context, out io.Writer, r *backup.Repo, graphs []string, keep int) error {
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	ctx, stop := context.WithCancel(ctx) // ends the server's side if this side fails
	defer stop()
	start := time.Now()
	stream, err := pb.NewAdminServiceClient(conn).Backup(ctx)
	if err != nil {
		return err
	}
	begin := &pb.BackupRequest_Begin{Begin: &pb.BackupBegin{Graphs: graphs}}
	if err := stream.Send(&pb.BackupRequest{What: begin}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	m, err := receiveFiles(stream)
	if err != nil {
		return err
	}
	if keep > 0 { // so may delete, and others with --keep wait
		end, err := r.Begin(ctx, m.ID)
		if err != nil {
			return err
		}
		// A mark that stays counts for two days; the backup is as good.
		defer func() { _ = end(context.WithoutCancel(ctx)) }()
	}
	missing, err := r.Missing(ctx, m.Files)
	if err != nil {
		return err
	}
	var sent int64
	for _, i := range missing {
		if err := fetchFile(ctx, stream, r, m.Files[i], uint32(i)); err != nil {
			return err
		}
		sent += m.Files[i].Size
	}
	if err := r.Commit(ctx, m); err != nil {
		return err
	}
	switch removed, err := r.Missing(ctx, m.Files); {
	case err != nil:
		return err
	case len(removed) > 0:
		return fmt.Errorf("backup %s lacks %s, which another backup with --keep has removed meanwhile: back up again", m.ID, size.Count(len(removed), "file"))
	}
	if err := stream.Send(&pb.BackupRequest{What: &pb.BackupRequest_Done{Done: &pb.BackupDone{}}}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("backup %s is complete, but the server failed to finish: %w", m.ID, err)
	}
	fmt.Fprintf(out, "backup %s: %s, %s, %s; new: %s, %s, in %v\n", m.ID, size.Count(len(m.Graphs), "graph"), size.Count(len(m.Files), "file"), size.Text(uint64(m.Bytes())),
		size.Count(len(missing), "file"), size.Text(uint64(sent)), time.Since(start).Round(time.Millisecond))
	return nil
}

// receiveFiles builds the manifest from the server's list of files.
func receiveFiles(stream backupStream) (*backup.Manifest, error) {
	m := &backup.Manifest{}
	for {
		res, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		part := res.GetFiles()
		if part == nil {
			return nil, errors.New("backup: the server sent no list of files")
		}
		for _, f := range part.GetFiles() {
			m.Files = append(m.Files, backup.File{Path: f.GetPath(), Size: int64(f.GetSize()), SHA256: hex.EncodeToString(f.GetSha256())})
		}
		if part.GetLast() {
			m.Taken, m.Format, m.Graphs = part.GetTaken().AsTime(), int(part.GetFormat()), part.GetGraphs()
			m.ID = backup.NewID(m.Taken)
			return m, nil
		}
	}
}

// fetchFile receives a file and stores it in the repository.
func fetchFile(ctx context.Context, stream backupStream, r *backup.Repo, f backup.File, no uint32) error {
	want := &pb.BackupRequest_Want{Want: &pb.BackupWant{Files: []uint32{no}}}
	if err := stream.Send(&pb.BackupRequest{What: want}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return r.Put(ctx, f, func(w io.Writer) error {
		for {
			res, err := stream.Recv()
			if err != nil {
				return err
			}
			c := res.GetChunk()
			if c == nil || c.GetFile() != no {
				return fmt.Errorf("backup: the server did not send %s", f.Path)
			}
			if _, err := w.Write(c.GetData()); err != nil {
				return err
			}
			if c.GetLast() {
				return nil
			}
		}
	})
}
