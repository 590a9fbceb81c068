package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
)

// settings are the parsed flags.
type settings struct {
	extsort    string   // command to time; "": build it
	devices    []string // device flags of extsort
	workFolder string   // where the data directory is created
	keepData   bool
	workloads  []workload
	sets       bool    // race set operations instead of sorts
	bytes      int64   // of each workload, or of each input of a set operation
	memories   []int64 // memory limits in bytes
	runs       int
	long       float64  // seconds after which a contender of the race runs only once; 0: no limit
	textLimit  int64    // size of the data in bytes above which sorts of text are skipped
	peers      []string // nil: all
	jsonFile   string
	svgFile    string
	table      tableSettings
}

// tableSettings are the flags of the tables.
type tableSettings struct {
	enabled    bool
	confined   bool  // make the confined table
	limit      int64 // memory limit of a confined run in bytes, including its page cache
	report     bool  // only print the report of the file
	logFile    string
	tmpfs      string
	rows       []string // patterns; empty: all rows
	versions   []version
	forcedRuns int // runs of each forced strategy
	seed       uint64
}

// rawFlags contains flags that are parsed later.
type rawFlags struct {
	size, textLimit, limit, deviceMemory          string
	devices, workloads, memories, peers, versions []string
}

func parseSettings(args []string, stderr io.Writer) (settings, error) {
	var s settings
	var t rawFlags
	f := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	f.SetOutput(stderr)
	s.commonFlags(f, &t)
	s.raceFlags(f, &t)
	s.tableFlags(f, &t)
	f.Usage = func() {
		fmt.Fprintf(
			stderr,
			"Compare the speed of extsort with cp and with other sort programs, and check the outputs.\n\n"+
				"Usage:\n  go run ./cmd/compare [flags]             race against other programs (peers)\n"+
				"  go run ./cmd/compare --sets [flags]      race set operations\n"+
				"  go run ./cmd/compare --table [flags]     the table of workloads\n"+
				"  go run ./cmd/compare --confined [flags]  the table for data larger than memory\n\n%s",
			f.FlagUsages(),
		)
	}
	if err := f.Parse(args); err != nil {
		return s, err
	}
	return s, s.read(t, f.Args())
}

func (s *settings) commonFlags(f *pflag.FlagSet, t *rawFlags) {
	f.StringVar(
		&s.extsort,
		"extsort",
		"",
		"time the command at `PATH`; otherwise build it from this module",
	)
	f.StringSliceVarP(
		&t.devices, "device", "d", nil, "devices on which extsort sorts",
	)
	f.StringVar(
		&t.deviceMemory,
		"device-memory",
		"",
		"limit the memory that extsort uses on each device to `SIZE`",
	)
	f.StringVar(
		&s.workFolder,
		"work",
		defaultDir(),
		"create the data directory in `DIR`, which determines the file system",
	)
	f.BoolVar(&s.keepData, "keep", false, "keep the data at the end")
	f.StringVar(
		&t.size,
		"size",
		"",
		"size of each workload (default 1G; with --confined, 8 times --limit)",
	)
	f.IntVar(&s.runs, "runs", 5, "number of runs of each contender, without the warm-up run")
}

func (s *settings) raceFlags(f *pflag.FlagSet, t *rawFlags) {
	f.StringSliceVar(
		&t.workloads, "workloads", workloadNames(), "race: kinds of data",
	)
	f.BoolVar(&s.sets, "sets", false,
		"race: set operations and joins of two sorted files of --size each, instead of sorts")
	f.StringSliceVar(&t.memories, "memory", nil,
		"race: memory limits; otherwise four times the size, and a quarter of it")
	f.StringVar(&t.textLimit, "text-limit", "256M",
		"race: skip sorts of text for more than `SIZE` of data, because they take long")
	f.Float64Var(&s.long, "long", 0,
		"race: run a contender only once if its first run takes longer than `SECONDS`; 0: no limit")
	f.StringSliceVar(&t.peers, "peers", []string{"all"},
		"race, confined: peers to run: all, none, or some of "+strings.Join(peerNames(), " ")+
			"; confined runs only some of "+strings.Join(confinedPeers, " "))
	f.StringVar(
		&s.jsonFile, "json", "", "race: also write the figures to `FILE`",
	)
	f.StringVar(
		&s.svgFile,
		"svg",
		"",
		"race: draw the medians as bars to `FILE`",
	)
}

func (s *settings) tableFlags(f *pflag.FlagSet, t *rawFlags) {
	f.BoolVar(&s.table.enabled, "table", false, "make the table of workloads")
	f.BoolVar(&s.table.confined, "confined", false,
		"make the table for data larger than memory: processes and page cache in a memory cgroup, "+
			"cold inputs, durable outputs")
	f.StringVar(
		&t.limit,
		"limit",
		"1G",
		"confined: memory of the cgroup; extsort runs with -S of half of it",
	)
	f.BoolVar(
		&s.table.report,
		"report",
		false,
		"tables: only print the report of the file",
	)
	f.StringVar(
		&s.table.logFile,
		"out",
		"",
		"tables: append each run to `FILE`, and skip runs that it contains "+
			" (default table.jsonl or confined.jsonl)",
	)
	f.StringVar(
		&s.table.tmpfs,
		"tmpfs",
		"/dev/shm",
		"table: create the directory for rows in memory in `DIR`",
	)
	f.StringSliceVar(&s.table.rows, "rows", nil,
		"tables: only rows that match one of the `PATTERNS`, such as u64, */quarter or zipf/*/pipe")
	f.StringSliceVar(
		&t.versions,
		"versions",
		nil,
		"tables: commands to compare, as `NAME=PATH`,NAME=PATH",
	)
	f.IntVar(
		&s.table.forcedRuns,
		"forced",
		3,
		"tables: number of runs of the last version with each strategy forced",
	)
	f.Uint64Var(
		&s.table.seed,
		"seed",
		0,
		"tables: seed of the order of the runs; 0: random",
	)
}

// read parses the raw flags and returns all errors in the flags.
func (s *settings) read(t rawFlags, operands []string) error {
	var faults faults
	if len(operands) > 0 {
		faults.add("unexpected operand %q", operands[0])
	}
	s.table.limit, s.textLimit = faults.size("--limit", t.limit), faults.size(
		"--text-limit", t.textLimit,
	)
	s.bytes = faults.size("--size", cmp.Or(t.size, s.table.defaultSize()))
	s.workloads, s.memories = faults.workloads(t.workloads), faults.memories(t.memories, s.bytes)
	s.peers, s.devices = faults.peers(t.peers), faults.devices(t)
	faults.confine(s)
	if s.runs < 1 {
		faults.add("--runs %d: at least one run must count", s.runs)
	}
	if s.bytes < 1<<10 {
		faults.add(
			"--size %s: at least 1K is needed for a meaningful time",
			t.size,
		)
	}
	s.table.versions = faults.versions(t.versions, s.extsort)
	faults.unite(s)
	for _, pattern := range s.table.rows {
		if !rowPattern(pattern).valid() {
			faults.add(
				"--rows %s: not a pattern of one to three parts", pattern,
			)
		}
	}
	return errors.Join(faults...)
}

// defaultSize returns the default size of the data.
func (s tableSettings) defaultSize() string {
	if s.confined {
		return exactSize(8 * s.limit)
	}
	return "1G"
}

// defaultDir returns a directory for large files. /tmp is in memory on many systems.
func defaultDir() string {
	dir := os.Getenv("TMPDIR")
	if dir != "" {
		return dir
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}

// faults collects the errors in the flags, so that all of them are reported at once.
type faults []error

func (f *faults) add(text string, args ...any) {
	*f = append(*f, fmt.Errorf(text, args...))
}

func (f *faults) size(name, text string) int64 {
	n, err := format.ParseSize(text)
	if err != nil {
		f.add("%s: %w", name, err)
	}
	return n
}

func (f *faults) workloads(names []string) []workload {
	var found []workload
	for _, name := range names {
		at := slices.IndexFunc(allWorkloads, func(w workload) bool {
			return w.Name == name
		})
		if at < 0 {
			f.add(
				"unknown workload %q: use %s",
				name,
				strings.Join(workloadNames(), " "),
			)
			continue
		}
		found = append(found, allWorkloads[at])
	}
	return found
}

// memories parses the memory limits, largest first. The default is one that holds all data and
// one that does not.
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

// leastMemory is the minimum memory limit of extsort.
const leastMemory = 16 << 20

// confine sets the settings of a confined table.
func (f *faults) confine(s *settings) {
	if !s.table.confined {
		s.table.logFile = cmp.Or(s.table.logFile, "table.jsonl")
		return
	}
	s.table.logFile = cmp.Or(s.table.logFile, "confined.jsonl")
	s.memories = []int64{s.table.limit / 2}
	if s.table.enabled {
		f.add("--table and --confined cannot be combined")
	}
	if s.peers == nil {
		s.peers = confinedPeers
	}
	for _, name := range s.peers {
		if !slices.Contains(confinedPeers, name) {
			f.add(
				"--peers %s: --confined accepts only %s",
				name,
				strings.Join(confinedPeers, " "),
			)
		}
	}
	if s.memories[0] < leastMemory {
		f.add(
			"--limit: at least %s, as extsort needs half of it",
			binarySize(2*leastMemory),
		)
	}
}

// unite sets the settings of a race of set operations.
func (f *faults) unite(s *settings) {
	if !s.sets {
		return
	}
	if s.table.enabled || s.table.confined {
		f.add("--sets is a race: leave out --table and --confined")
	}
	known := slices.Sorted(maps.Keys(setPeers))
	if s.peers == nil {
		s.peers = known
	}
	for _, name := range s.peers {
		if !slices.Contains(known, name) {
			f.add("--peers %s: --sets accepts only %s", name, strings.Join(known, " "))
		}
	}
}

// devices returns the device flags for extsort.
func (f *faults) devices(t rawFlags) []string {
	var flags []string
	for _, d := range t.devices {
		flags = append(flags, "-d", d)
	}
	if t.deviceMemory != "" {
		flags = append(
			flags,
			"--device-memory",
			exactSize(f.size("--device-memory", t.deviceMemory)),
		)
	}
	return flags
}

func (f *faults) peers(names []string) []string {
	switch {
	case slices.Equal(names, []string{"all"}):
		return nil
	case slices.Equal(names, []string{"none"}):
		return []string{}
	}
	for _, name := range names {
		if !slices.Contains(peerNames(), name) {
			f.add(
				"unknown peer %q: use all, none, or some of %s",
				name,
				strings.Join(peerNames(), " "),
			)
		}
	}
	return names
}

// versions parses the commands that the table compares. The default is the command of the race.
func (f *faults) versions(texts []string, extsort string) []version {
	if len(texts) == 0 {
		return []version{{Name: "extsort", path: extsort}}
	}
	if extsort != "" {
		f.add("--extsort and --versions cannot be combined")
	}
	var found []version
	for _, text := range texts {
		name, path, _ := strings.Cut(text, "=")
		if name == "" || path == "" || strings.ContainsAny(name, " |/") {
			f.add("--versions %s: use NAME=PATH", text)
			continue
		}
		if slices.ContainsFunc(found, func(v version) bool { return v.Name == name }) {
			f.add("--versions: %s is named twice", name)
		}
		found = append(found, version{Name: name, path: filepath.Clean(path)})
	}
	return found
}
