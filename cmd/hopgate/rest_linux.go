package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetProgram takes the pages of the program file out of the process's memory that the start has used, or that the kernel has mapped beside such. They
// stay in the page cache, so using one again takes a minor fault, and no read. forgetProgram leaves mappings with pages that differ from the file.
func forgetProgram() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return eachUnchanged(f, exe, func(from, to uintptr) error {
		if _, _, fault := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); fault != 0 {
			return fault
		}
		return nil
	})
}

// eachUnchanged calls f with the mappings of a file that can be neither written to nor hold pages of their own, from a list like /proc/self/smaps.
func eachUnchanged(smaps io.Reader, file string, f func(from, to uintptr) error) error {
	var from, to uintptr
	of := false // whether the mapping is one of the file's
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		line := lines.Text()
		var lo, hi uintptr
		var perms string
		if n, _ := fmt.Sscanf(line, "%x-%x %s ", &lo, &hi, &perms); n == 3 {
			from, to = lo, hi
			of = strings.HasSuffix(line, " "+file) && !strings.Contains(perms, "w")
			continue
		}
		if rest, ok := strings.CutPrefix(line, "Anonymous:"); ok && of && strings.TrimSpace(rest) == "0 kB" {
			if err := f(from, to); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}
