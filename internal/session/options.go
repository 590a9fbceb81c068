package session

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge/output"
)

// A Strategy is a way to sort data, which may be larger than memory.
type Strategy = plan.Strategy

// The strategies. InCore and Copy cannot be requested: a sort uses them if all records fit in one
// chunk, or if the input is already in order.
const (
	Auto      = plan.Auto
	MergeRuns = plan.Merge     // cuts the input into chunks by position, sorts them, and merges the sorted runs
	Partition = plan.Partition // distributes records to partitions by key, then sorts one partition after another
	Spread    = plan.Spread    // gives each of several devices a share, then merges the shares from their memories
	Reread    = plan.Reread    // multi-pass: reads the whole input once for each key range
	InCore    = plan.InCore    // sorts one chunk, which is not spilled
	Copy      = plan.Copy      // copies an input that is already in order, or in reverse order
	Tally     = plan.Tally     // counts or combines the records of few distinct keys in hash tables
	Sift      = plan.Sift      // reads a nearly sorted input twice; records out of order wait in memory
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about
// this much.
const MinMemory = 16 << 20

// NoRecords is the value of Limit for an output without records. The inputs are opened, but no
// record is read.
const NoRecords = -1

// MaxKeptHeader is the maximum number of bytes that KeepHeader can copy before the records. The
// same maximum applies to the bytes after the records.
const MaxKeptHeader = input.MaxKept

// MaxSplitFiles is the maximum number of files that an output can be split into. All of them are
// open until the end.
const MaxSplitFiles = output.MaxSetFiles

// Options describes what to sort and how. The zero value of each field is its default. This is also
// true of CheckOptions and MergeOptions.
type Options struct {
	Inputs  []string // names of files; "-" is Stdin. Without Inputs and Sources, Stdin is read
	Sources []Source // additional inputs, read after Inputs: files, readers or io.ReaderAt

	// Stdin is standard input; nil means os.Stdin. If it is not a file, a Read may still be blocked
	// after Sort has been cancelled.
	Stdin io.Reader

	Record     format.Spec // the layout of a record
	Raw        bool        // treat the inputs as records, even if they look like files of another format
	SkipBytes  int64       // length of the header of each decompressed input; offsets in messages start after it
	Records    int64       // number of records in each input; the bytes after them are skipped. 0: all; NoRecords: none
	SkipTail   int64       // number of bytes to skip at the end of each decompressed input
	KeepHeader bool        // copy the skipped bytes of the first input to the output; see MaxKeptHeader
	Part       Part        // sort only this slice of the inputs, by position; all inputs must be files
	Decompress string      // none, gzip, zstd, s2, lz4, bzip2 or brotli (see format/brotli); "" or auto: detected

	Output string    // name of a file, which appears completely or not at all; "" or "-": Stdout
	Stdout io.Writer // standard output; nil: os.Stdout
	Sink   Sink      // custom output, instead of Output and Stdout

	// SplitFiles and SplitBytes split the output into several files (Output.000, Output.001 …) with
	// different key ranges. Output.index lists their first keys. Either all files appear or none. A
	// suffix that selects a compression stays at the end of each name.
	SplitFiles int   // number of files, with about the same number of records each
	SplitBytes int64 // target size of each file before compression; a file may exceed it to keep equal keys together

	Compress string // none, gzip, zstd (or zst), s2 or brotli; "": selected by the suffix of Output

	Reverse    bool   // reverse the order of the keys; the sort is still stable
	Unique     bool   // write one record for each key
	Keep       string // with Unique, the record to write: first or last in input order; "": first
	Count      bool   // with Unique, append the number of records with the key, as a little-endian u64
	Argsort    string // u32 or u64: instead of records, write their positions from 0, little-endian, without a header
	Duplicates bool   // write only the first record of each key that occurs more than once
	// With Unique, Sort combines these fields of the records with equal keys, as format.Aggregates
	// describes. If all are empty, it keeps one record unchanged.
	Sum, Min, Max, First, Last []string

	// KeepKey is the name of a field after each output record that contains the computed key, as a
	// little-endian u64 or u128. If it is "", computed keys are not written.
	KeepKey string

	Limit int64 // write only the first Limit records of the result; 0: all; NoRecords: none

	Shuffle bool   // write the records in a uniformly random order; Record needs no key
	Seed    uint64 // the seed of Shuffle; the same seed gives the same order

	MemoryBytes  int64    // limit of host memory for the whole run; 0: a default for this machine or its cgroup
	TempDirs     []string // directories for temporary files, used in parallel; none: TMPDIR if set, otherwise /var/tmp
	Workers      int      // number of threads (option.CheckWorkers); 0: all processors
	BatchSize    int      // maximum number of runs merged at once; 0: limited only by memory and open files
	Devices      []string // auto, cpu, gpu, or a number or name that Devices lists; none: auto
	DeviceMemory int64    // maximum memory to use on each device; 0: all of it

	// Checkpoint is a directory that keeps finished runs and the progress of the merge. After a
	// crash, the same sort continues from there. Sort creates the directory if it does not exist,
	// and removes it at the end. An existing directory must be empty or contain a checkpoint of the
	// same sort. The output and all inputs must be named files, and the inputs must be
	// uncompressed. If Checkpoint is "", temporary files do not outlive the process.
	Checkpoint string

	Strategy      Strategy // "" or Auto: the strategy predicted to be fastest
	Algorithm     string   // the algorithm on the device; "": chosen by the device
	DigitBits     int      // bits per pass, for OpenCL algorithms with a variable digit; 0: chosen by the device
	SpillCompress string   // compression of temporary data: auto, none, delta, s2 or zstd; "": auto

	Verify   bool     // check that the output is in order and has the same checksum as the input
	Progress Progress // receives the progress of the sort; may be nil

	// MeasureMemory records the peak memory of the process in Report.Detail.PeakMemory, measured 50
	// times a second.
	MeasureMemory bool

	// Warn receives a message when the sort continues although something unexpected happened. For
	// example, a device failed and the CPU replaced it, or an input grew while it was read. May be
	// nil.
	Warn   func(message string)
	Logger *slog.Logger // receives the same messages; may be nil

	// Verified receives the output records that Verify checks, each record once. Several goroutines
	// call it concurrently.
	Verified func(first int64, recs []byte)

	computed computedKeys

	aggregation *format.Aggregation // with Unique: combines records with equal keys; known once the inputs are open

	// appended are the results that are appended to each record as it is read; none: they are appended when
	// records are combined, in the output
	appended []format.Column

	omitHeader bool // write only the records, without a header

	merge  *MergeOptions // set if these are the options of a merge; Part then selects a part of the merged records
	faults faults        // seams for tests; see faults_test.go
}

// faults are seams for tests. They make operations fail, and make chunks and blocks so small that a
// sort of a few kilobytes takes the same paths as a sort of terabytes. The zero value changes
// nothing. Plan and PlanFor also use them to replace inputs that they must not read.
type faults struct {
	wrapDataset func(chunker.Dataset) chunker.Dataset // the dataset that is read
	wrapDevice  func(device.Device) device.Device     // each device that sorts
	spillStore  spill.Store                           // where temporary files are created
	output      func(operation string) error          // called before each operation on the output

	chunkRecords int64 // maximum number of records in a chunk, at least one block; 0: limited by memory
	blockBytes   int   // size of blocks; 0: chosen for the memory limit
	moreDevices  int   // number of CPU devices to open in addition to the requested devices

	readBytes float64 // bytes/s at which one worker reads the input; 0: measured by a trial
	remote    bool    // treat the input as read over a network
}

// withDefaults returns the options with defaults in place of zero values.
func (o Options) withDefaults() Options {
	if o.Sink != nil {
		o.Stdout = struct{ io.Writer }{o.Sink} // hides Abort, so that a blocked Write can be abandoned
	}
	o.Stdin = cmp.Or[io.Reader](o.Stdin, os.Stdin)
	o.Stdout = cmp.Or[io.Writer](o.Stdout, os.Stdout)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.MemoryBytes = profile.LimitMemory(o.MemoryBytes, MinMemory, systemMemory)
	if o.Checkpoint != "" {
		o.TempDirs = []string{o.Checkpoint}
	} else if len(o.TempDirs) == 0 {
		o.TempDirs = []string{spill.DefaultFolder()}
	}
	o.Warn = warnTo(o.Warn, o.Logger)
	return o
}

// warnTo returns a function that sends each warning to callback and to logger, as one line. Both
// may be nil.
func warnTo(callback func(message string), logger *slog.Logger) func(message string) {
	return func(message string) {
		message = strings.ReplaceAll(message, "\n", "; ") // joined errors have several lines
		if callback != nil {
			callback(message)
		}
		if logger != nil {
			defer safely.Attribute("Logger")
			logger.Warn(message)
		}
	}
}

// recognition returns the options for recognizing the format and compression of the inputs.
func (o *Options) recognition() format.Recognition {
	return format.Recognition{Raw: o.Raw, Decompress: o.Decompress}
}

// toStdout reports whether the output is Stdout or Sink, not a named file.
func (o *Options) toStdout() bool { return o.Output == "" || o.Output == stdio }

// ParseMemory parses a memory limit. The limit is a size in the syntax of format.ParseLimit, or a
// percentage of the memory of the machine or its cgroup.
func ParseMemory(s string) (int64, error) { return profile.ParseMemory(s) }
