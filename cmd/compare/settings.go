package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
)

// settings are what the flags say.
type settings struct {
	extsort   string // the command to time; "": build it
	devices   []string
	dir       string // where the folder of the data is made
	keep      bool
	workloads []workload
	bytes     int64   // of each workload
	memories  []int64 // limits, in bytes
	runs      int
	textLimit int64    // bytes of data above which nobody sorts text
	peers     []string // nil: all
	jsonFile  string
	svgFile   string
}

func parseSettings(args []string, stderr io.Writer) (settings, error) {
	s := settings{}
	var bytes, textLimit string
	var workloads, memories, peers []string
	f := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.extsort, "extsort", "", "time the command at this `PATH`; otherwise it is built from this module")
	f.StringSliceVarP(&s.devices, "device", "d", nil, "have extsort sort on these devices")
	f.StringVar(&s.dir, "dir", defaultDir(), "make the folder of the data in `DIR`: choose the file system")
	f.BoolVar(&s.keep, "keep", false, "leave the data there at the end")
	f.StringSliceVar(&workloads, "workloads", workloadNames(), "the kinds of data")
	f.StringVar(&bytes, "size", "1G", "bytes of each workload")
	f.StringSliceVar(&memories, "memory", nil, "memory limits; otherwise four times the size and a quarter of it")
	f.IntVar(&s.runs, "runs", 5, "runs of each contender that count; one more comes first and does not")
	f.StringVar(&textLimit, "text-limit", "256M", "have text sorted only up to this `SIZE` of data, since it takes long")
	f.StringSliceVar(&peers, "peers", []string{"all"}, "run of the peers only these: all, none, or of "+strings.Join(peerNames(), " "))
	f.StringVar(&s.jsonFile, "json", "", "write the figures to this `FILE`, too")
	f.StringVar(&s.svgFile, "svg", "", "draw the medians as bars into this `FILE`")
	f.Usage = func() {
		fmt.Fprintf(stderr, "Time extsort beside cp and other programs that sort, and check every output.\n\nUsage:\n  go run ./cmd/compare [flags]\n\n%s",
			f.FlagUsages())
	}
	if err := f.Parse(args); err != nil {
		return s, err
	}
	var faults faults
	if f.NArg() > 0 {
		faults.add(fmt.Errorf("unexpected operand %q", f.Arg(0)))
	}
	s.bytes, s.textLimit = faults.size("--size", bytes), faults.size("--text-limit", textLimit)
	s.workloads, s.memories = faults.workloads(workloads), faults.memories(memories, s.bytes)
	s.peers = faults.peers(peers)
	if s.runs < 1 {
		faults.add(fmt.Errorf("--runs %d: at least one run must count", s.runs))
	}
	if s.bytes < 1<<10 {
		faults.add(fmt.Errorf("--size %s: at least 1K is needed for a time that means something", bytes))
	}
	return s, errors.Join(faults...)
}

// defaultDir is a folder for large files: /tmp is memory on many systems.
func defaultDir() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}

// faults gathers what is wrong with the flags, so that all of it is told at once.
type faults []error

func (f *faults) add(err error) { *f = append(*f, err) }

func (f *faults) size(name, text string) int64 {
	n, err := format.ParseSize(text)
	if err != nil {
		f.add(fmt.Errorf("%s: %w", name, err))
	}
	return n
}

func (f *faults) workloads(names []string) []workload {
	var found []workload
	for _, name := range names {
		at := slices.IndexFunc(allWorkloads, func(w workload) bool { return w.Name == name })
		if at < 0 {
			f.add(fmt.Errorf("unknown workload %q: use %s", name, strings.Join(workloadNames(), " ")))
			continue
		}
		found = append(found, allWorkloads[at])
	}
	return found
}

// memories are the limits, largest first. Without any named there is one that holds everything and one that does not.
func (f *faults) memories(texts []string, bytes int64) []int64 {
	limits := []int64{max(4*bytes, leastMemory), max(bytes/4, leastMemory)}
	if len(texts) > 0 {
		limits = nil
	}
	for _, text := range texts {
		limits = append(limits, f.size("--memory", text))
	}
	slices.Sort(limits)
	limits = slices.Compact(limits)
	slices.Reverse(limits)
	return limits
}

// leastMemory is the smallest limit that extsort takes.
const leastMemory = 16 << 20

func (f *faults) peers(names []string) []string {
	switch {
	case slices.Equal(names, []string{"all"}):
		return nil
	case slices.Equal(names, []string{"none"}):
		return []string{}
	}
	for _, name := range names {
		if !slices.Contains(peerNames(), name) {
			f.add(fmt.Errorf("unknown peer %q: use all, none, or of %s", name, strings.Join(peerNames(), " ")))
		}
	}
	return names
}
