package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/size"
)

// Check is a command that verifies a graph.
type Check struct {
	// Of verifies a state of the graph, and tells its progress.
	Of     func(cmd *cobra.Command, c *Check, progress func(stage string, records uint64)) (*pb.CheckReport, error)
	Repair bool

	output, progress string
}

// Flags defines the flags of the command.
func (c *Check) Flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.Repair, "repair", false, "repair what follows from the rest of the data; writers wait briefly")
	f.StringVarP(&c.output, "output", "o", "table", "table or json")
	f.StringVar(&c.progress, "progress", "none", "plain: as lines; none")
}

// Run verifies a graph and prints the report. It fails if a fault remains.
func (c *Check) Run(cmd *cobra.Command, _ []string) error {
	if c.output != "table" && c.output != "json" {
		return Usagef("--output %s: must be table or json", c.output)
	}
	if c.progress != "none" && c.progress != "plain" {
		return Usagef("--progress %s: must be plain or none", c.progress)
	}
	rep, err := c.Of(cmd, c, func(stage string, records uint64) {
		if c.progress == "plain" && stage != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "check: %s, %s\n", stage, size.Count(records, "record"))
		}
	})
	if err != nil {
		return err
	}
	if c.output == "json" {
		err = PrintJSON(cmd.OutOrStdout(), rep)
	} else {
		printCheck(cmd.OutOrStdout(), rep)
	}
	if wrong := faults(rep); err == nil && wrong > 0 {
		err = fmt.Errorf("check: %d faults in graph %s", wrong, rep.GetGraph())
	}
	return err
}

// faults counts the remaining faults.
func faults(rep *pb.CheckReport) (n uint64) {
	for _, f := range rep.GetFindings() {
		n += f.GetCount() - f.GetMended()
	}
	return n
}

func printCheck(w io.Writer, r *pb.CheckReport) {
	fmt.Fprintf(w, "graph %s: %s, %s, %s, %s; %s, %s\n", r.GetGraph(), size.Count(r.GetVertices(), "vertex"),
		size.Count(r.GetEdges(), "edge"), size.Count(r.GetIndexEntries(), "index entry"), size.Count(r.GetLargeValues(), "large value"), size.Count(r.GetFiles(), "file"), size.Text(r.GetFileBytes()))
	if len(r.GetFindings()) == 0 {
		fmt.Fprintln(w, "nothing is wrong")
	}
	for _, f := range r.GetFindings() {
		state := "can be repaired with --repair"
		switch {
		case f.GetMended() > 0:
			state = fmt.Sprintf("%d repaired", f.GetMended())
		case !f.GetMendable():
			state = "cannot be repaired"
		}
		fmt.Fprintf(w, "%s: %d, %s\n", f.GetKind(), f.GetCount(), state)
		for _, e := range f.GetExamples() {
			fmt.Fprintf(w, "  %s\n", OneLine(e))
		}
	}
}

// OneLine joins the lines of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// PrintJSON prints an API response as one line of JSON.
func PrintJSON(w io.Writer, res proto.Message) error {
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(res)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil { // protojson varies its spaces
		return err
	}
	_, err = fmt.Fprintln(w, b.String())
	return err
}
