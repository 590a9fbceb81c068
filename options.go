package extsort

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/extsort/extsort/format"
)

// Strategy is a way in which sorted chunks become one sorted output.
type Strategy string

// The strategies. InCore and Copy cannot be asked for: they are what happens when all records fit one chunk, or are
// in order as they stand.
const (
	Auto      Strategy = "auto"
	MergeRuns Strategy = "merge"     // chunks by position, then a k-way merge
	Partition Strategy = "partition" // parts by key range, each sorted, one after another
	Spread    Strategy = "spread"    // a share for each of several devices, merged out of their memories
	Reread    Strategy = "reread"    // chunks by key range, each taken from the input that is read once more for it
	InCore    Strategy = "in-core"
	Copy      Strategy = "copy" // the input is in order already, or in reverse order
)

// Options says what to sort and how. The zero value of each field is its default.
type Options struct {
	Inputs []string    // files; "-" is Stdin; none: Stdin
	Record format.Spec // what a record is

	Output string    // file, replaced as a whole or not at all; "" or "-": Stdout
	Stdin  io.Reader // default: os.Stdin
	Stdout io.Writer // default: os.Stdout

	Reverse bool  // the opposite order; still stable
	Unique  bool  // of records with equal keys keep the first
	Limit   int64 // write only the first Limit records of the order; 0: all

	MemoryBytes  int64    // host memory for the whole run; 0: what is sensible on this machine or in its cgroup
	TempDirs     []string // folders for spill, used in parallel; none: TMPDIR, else /var/tmp
	Workers      int      // threads; 0: all processors
	BatchSize    int      // most runs merged at once; 0: what memory and open files allow
	Devices      []string // auto, cpu, gpu, number or name, as Devices lists them; none: auto
	DeviceMemory int64    // use no more than this of each device's memory; 0: all

	Strategy      Strategy
	Algorithm     string // on the device; "": the device's choice
	SpillCompress string // auto, none, delta, s2, zstd; "": auto
	Compress      string // none, gzip, zstd, s2; "": by the suffix of Output

	Verify   bool     // checksum of what was read equals that of what was written, and the output is in order
	Brief    bool     // Check computes no checksum, and reads no further than where it finds the first record out of order
	Progress Progress // told of the phases as they go; nil: nobody

	// Warn gets a line when something is not as asked but the sort goes on, for example when a device fails
	// and the CPU takes over. nil: nobody.
	Warn func(message string)

	faults faults // seams for fault injection, see faults_test.go
}

// Progress is told how a run goes. Begin and End are called by one goroutine at a time; Add from many.
type Progress interface {
	Begin(phase string, totalBytes int64) // totalBytes < 0: not known
	Add(bytes int64)
	End()
}

// validate reports every fault of the options at once.
func (o *Options) validate() error {
	faults := []error{o.Record.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(slices.Contains([]Strategy{"", Auto, MergeRuns, Partition, Spread, Reread}, o.Strategy),
		"strategy %q: use auto, merge, partition, spread or reread", o.Strategy)
	check(slices.Contains([]string{"", "auto", "none", "delta", "s2", "zstd"}, o.SpillCompress),
		"spill compression %q: use auto, none, delta, s2 or zstd", o.SpillCompress)
	check(o.Limit >= 0, "limit %d: must be at least 1", o.Limit)
	check(o.Workers >= 0, "parallel %d: must be at least 1", o.Workers)
	check(o.BatchSize == 0 || o.BatchSize >= 2, "batch size %d: must be at least 2", o.BatchSize)
	check(o.MemoryBytes == 0 || o.MemoryBytes >= MinMemory, "memory limit %s: the least is %s",
		humanBytes(o.MemoryBytes), humanBytes(MinMemory))
	check(o.DeviceMemory >= 0, "device memory %d: must not be negative", o.DeviceMemory)
	return errors.Join(faults...)
}
