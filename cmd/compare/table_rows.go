package main

import (
	"path"
	"slices"
	"strings"
)

// tableWorkloads are the kinds of data of the table, in its order.
var tableWorkloads = []workload{
	{"u64", "64-bit keys, uniform", []string{"-t", "u64"}, 8, 8, "uniform"},
	{"u32", "32-bit keys, uniform", []string{"-t", "u32"}, 4, 4, "uniform"},
	{"zipf", "64-bit keys, zipf", []string{"-t", "u64"}, 8, 8, "zipf"},
	{"sorted", "64-bit keys, already sorted", []string{"-t", "u64"}, 8, 8, "sorted"},
	{"nearly-sorted", "64-bit keys, nearly sorted", []string{"-t", "u64"}, 8, 8, "nearly-sorted"},
	{"100-byte", "100-byte records, 10-byte keys", []string{"-R", "100", "-k", "0:bytes10"}, 100, 10, "uniform"},
	{"16-byte", "16-byte records, 64-bit keys", []string{"-R", "16", "-k", "0:u64"}, 16, 8, "uniform"},
	{"bytes20", "20-byte keys, uniform", []string{"-t", "bytes20"}, 20, 20, "uniform"},
}

// A share is a memory limit in proportion to the size of the data.
type share struct {
	name            string
	factor, divisor int64 // the limit is size × factor / divisor
}

var tableShares = []share{{"in-core", 4, 1}, {"quarter", 1, 4}, {"sixteenth", 1, 16}}

// limit returns the limit for data of this size. REQUIRES: the share is in proportion to the
// data.
func (s share) limit(bytes int64) int64 {
	return max(bytes*s.factor/max(s.divisor, 1), leastMemory)
}

// Places other than the disk, whose name is that of its file system.
const (
	inPipe  = "pipe"
	inTmpfs = "tmpfs"
)

// A row is one line of the table. Its place is where input, output and spill files are: the name
// of a file system, or pipe, whose files are on the disk.
type row struct {
	workload workload
	share    share
	place    string
}

func (r row) name() string {
	return r.workload.Name + "/" + r.share.name + "/" + r.place
}
func (r row) inTmpfs() bool { return r.place == inTmpfs }

// A rowPattern has the parts workload, memory and place, in the syntax of path.Match. Missing
// parts match everything.
type rowPattern string

func (p rowPattern) valid() bool {
	_, err := path.Match(string(p), "")
	return err == nil && p != "" && strings.Count(string(p), "/") < 3
}

func (p rowPattern) matches(name string) bool {
	parts := strings.Split(string(p), "/")
	of := strings.Split(name, "/")
	fits, _ := path.Match(
		string(p), strings.Join(of[:min(len(parts), len(of))], "/"),
	)
	return fits
}

// allRows returns the rows for these places, in the order of the table. The places of a workload
// are adjacent, so that its input in tmpfs can be removed early.
func allRows(places []string) []row {
	var rows []row
	for _, w := range tableWorkloads {
		for _, p := range places {
			for _, s := range tableShares {
				rows = append(rows, row{w, s, p})
			}
		}
	}
	return rows
}

// matchingRows returns the rows that match one of the patterns.
func matchingRows(rows []row, patterns []string) []row {
	if len(patterns) == 0 {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			return rowPattern(p).matches(r.name())
		})
	})
}

// tableOrder returns a sort key for the name of a row, according to the order of the table.
func tableOrder(name string) []int {
	parts := append(strings.Split(name, "/"), "", "")
	all := slices.Concat(tableWorkloads, confinedWorkloads)
	return []int{
		slices.IndexFunc(all, func(w workload) bool {
			return w.Name == parts[0]
		}),
		slices.Index([]string{inPipe, inTmpfs}, parts[2]),
		slices.IndexFunc(tableShares, func(s share) bool {
			return s.name == parts[1]
		}),
	}
}

// An entrant is a contender in a row.
type entrant struct {
	contender
	strategy string // forced strategy; "": none
	runs     int
}

// The names of entrants. The report finds their runs by these names.
const (
	plainCopy  = "cp"
	syncedCopy = "cp+sync"
)

func (v version) auto() string {
	return v.Name + " auto"
}
func (v version) forced(strategy string) string {
	return v.Name + " " + strategy
}
func (v version) redirected() string {
	return v.Name + " > out"
}

// forcible are the strategies that --strategy accepts and that need only one device. They exclude
// sift and tally: on data far from sorted, or with many distinct keys, they read in vain, and
// another strategy sorts the data.
var forcible = []string{"merge", "partition", "reread"}

// entrants returns all entrants of a row: the yardsticks, each version, the last version with
// each strategy forced, and in tmpfs the first version with redirected output.
func (s settings) entrants(r row) []entrant {
	all := []entrant{
		{contender: r.copier(plainCopy, false), runs: s.runs},
		{contender: r.copier(syncedCopy, true), runs: s.runs},
	}
	way := toFile
	if r.place == inPipe {
		way = throughPipes
	}
	all = append(all, r.ownEntrants(s, way)...)
	if r.inTmpfs() {
		first := s.table.versions[0]
		c := sorter(first.redirected(), toStdout, s.sortLine(r, first))
		all = append(all, entrant{contender: c, runs: s.runs})
	}
	return all
}

// ownEntrants returns each version, and the last version with each strategy forced.
func (r row) ownEntrants(s settings, way route) []entrant {
	var all []entrant
	versions := s.table.versions
	for _, v := range versions {
		all = append(all, entrant{
			contender: sorter(v.auto(), way, s.sortLine(r, v)),
			runs:      s.runs,
		})
	}
	last := versions[len(versions)-1]
	for _, strategy := range forcible {
		line := s.sortLine(r, last, "--strategy", strategy)
		all = append(
			all,
			entrant{sorter(
				last.forced(strategy), way, line,
			), strategy, s.table.forcedRuns},
		)
	}
	return all
}

// sortLine returns the command line of a version without its files. extsort reports its plan only
// with --explain.
func (s settings) sortLine(r row, v version, more ...string) command {
	more = append([]string{"--stats=json", "--explain"}, more...)
	memory := r.share.limit(s.bytes)
	if s.table.confined {
		memory = s.memories[0]
	}
	return sortLine(v.tool(), r.workload, memory, s.devices, more...)
}

// copier returns a yardstick: cp, or two cats in rows with pipes.
func (r row) copier(name string, sync bool) contender {
	c := copier(name, sync)
	if r.place != inPipe {
		return c
	}
	plain := c.script
	c.script = func(in, out string) script {
		s := plain(in, out)
		s[0] = pipeline{commands: []command{{"cat", in}, {"cat"}}, output: out}
		return s
	}
	return c
}
