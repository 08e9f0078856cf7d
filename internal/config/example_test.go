package config_test

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/hopgate/hopgate/internal/config"
)

// A flag overrides the environment, which overrides the default.
func ExampleLoad() {
	flags := pflag.NewFlagSet("hopgate", pflag.ContinueOnError)
	config.Flags(flags)
	if err := flags.Parse([]string{"--shards", "4"}); err != nil {
		fmt.Println(err)
		return
	}
	c, err := config.Load(flags, []string{"HOPGATE_SHARDS=2", "HOPGATE_MEMORY=1GiB"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Shards, &c.Memory, c.HTTP)
	// Output: 4 1GiB 127.0.0.1:8080
}
