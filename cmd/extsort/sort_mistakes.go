package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// contradictions returns errors in a command line, other than conflicts between two flags.
func (f *sortFlags) contradictions(files []string) (faults []error) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	if f.mode.isCheck() {
		fault(f.mode.check == "diagnose-first" && f.mode.checkQuiet,
			"-c and -C cannot be combined: report or stay silent")
		fault(f.mode.merge, "-c and -m cannot be combined: check or merge")
		if len(files) > 1 && !f.mode.join {
			fault(true, "-c checks one file, and %q is one too many", files[1])
		}
	}
	fault(f.nulls != "", "--nulls is for Parquet and Arrow files: records have no nulls")
	if !f.mode.join {
		faults = append(faults, cmp.Or(f.checkFirstInput(files), f.validateRecord()))
	}
	for _, folder := range f.opt.TempDirs {
		faults = append(faults, checkFolder(folder))
	}
	stdin := slices.Index(files, "-")
	fault(
		stdin >= 0 && slices.Contains(files[stdin+1:], "-"),
		"standard input (-) can be read only once",
	)
	return faults
}

// checkFolder rejects an invalid -T, even for small data that never spills.
func checkFolder(name string) error {
	info, err := os.Stat(name)
	path, ok := errors.AsType[*os.PathError](err)
	if ok {
		return fmt.Errorf("-T %s: %w", name, path.Err)
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("-T %s: not a directory", name)
	}
	return err
}

// checkMemory warns if the memory limit exceeds the memory of the machine. The effective limit is
// then the memory of the machine.
func (f *sortFlags) checkMemory(warn func(message string)) {
	const small = 1 << 30 // smaller limits are not worth checking
	if warn == nil || f.opt.MemoryBytes <= small {
		return
	}
	if has, err := session.ParseMemory("100%"); err == nil &&
		has < f.opt.MemoryBytes {
		warn(
			fmt.Sprintf("-S %s exceeds the memory of this machine: the limit is %s", human.Bytes(f.opt.MemoryBytes),
				human.Bytes(has)),
		)
	}
}
