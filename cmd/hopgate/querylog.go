package main

import (
	"io"
	"os"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// openQueryLog begins the query log, if there is one. Its options can change, but for those of its files.
func (s *serving) openQueryLog() {
	o, _ := telemetry.ParseQueryLog(s.c.QueryLogOptions) // Validate has parsed them
	var out io.Writer = os.Stderr
	switch s.c.QueryLog {
	case "":
		return
	case "stderr":
	default:
		file := &lumberjack.Logger{Filename: s.c.QueryLog, MaxSize: int(o.Size >> 20), MaxBackups: o.Files}
		s.onClose(file.Close)
		out = file
	}
	l := telemetry.NewQueryLog(s.engine.Watch(), out, o)
	s.onClose(l.Close)
	s.reloader.on(func(c *config.Config) {
		o, _ := telemetry.ParseQueryLog(c.QueryLogOptions)
		l.Set(o)
	}, "query-log-options")
}
