// Command pack packages a chart into a folder, as helm package does.
package main

import (
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: pack CHART FOLDER")
	}
	chart, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	_, err = util.Save(chart, args[1])
	return err
}
