// Package proc starts processes of hopgate and measures the resources that they use.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ProcessorTime returns the CPU time of a process.
func ProcessorTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, comes second; utime and stime, in hundredths of a second, are fields 14 and 15.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, err
}
