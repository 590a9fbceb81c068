package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/merge/output"
)

// A Strategy is a way to sort data, which may be larger than memory.
type Strategy = plan.Strategy

// The strategies. InCore and Copy cannot be requested: a sort uses them if all records fit in one chunk, or if the
// input is already in order.
const (
	Auto      = plan.Auto
	MergeRuns = plan.Merge     // cuts the input into chunks by position, sorts them, and merges the sorted runs
	Partition = plan.Partition // distributes records to partitions by key, then sorts one partition after another
	Spread    = plan.Spread    // gives each of several devices a share, then merges the shares from their memories
	Reread    = plan.Reread    // multi-pass: reads the whole input once for each key range
	InCore    = plan.InCore    // sorts one chunk, which is not spilled
	Copy      = plan.Copy      // copies an input that is already in order, or in reverse order
	Sift      = plan.Sift      // reads a nearly sorted input twice; records out of order wait in memory
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about this much.
const MinMemory = 16 << 20

// NoRecords is the value of Limit for an output without records. The inputs are opened, but no record is read.
const NoRecords = -1

// MaxKeptHeader is the maximum number of bytes that KeepHeader can copy before the records. The same maximum applies to
// the bytes after the records.
const MaxKeptHeader = input.MaxKept

// MaxSplitFiles is the maximum number of files that an output can be split into. All of them are open until the end.
const MaxSplitFiles = output.MaxSetFiles

// Options describes what to sort and how. The zero value of each field is its default. This is also true of
// CheckOptions and MergeOptions.
type Options struct {
	Inputs  []string // names of files; "-" is Stdin. Without Inputs and Sources, Stdin is read
	Sources []Source // additional inputs, read after Inputs: files, readers or io.ReaderAt

	// Stdin is standard input; nil means os.Stdin. If it is not a file, a Read may still be blocked after Sort has been
	// cancelled.
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

	// SplitFiles and SplitBytes split the output into several files (Output.000, Output.001 …) with different key ranges.
	// Output.index lists their first keys. Either all files appear or none. The names keep the suffix of a compression.
	SplitFiles int   // number of files, with about the same number of records each
	SplitBytes int64 // target size of each file before compression; a file may exceed it to keep equal keys together

	Compress string // none, gzip, zstd (or zst), s2 or brotli; "": selected by the suffix of Output

	Reverse    bool   // reverse the order of the keys; the sort is still stable
	Unique     bool   // write one record for each key
	Keep       string // with Unique, the record to write: first or last in input order; "": first
	Count      bool   // with Unique, append the number of records with the key, as a little-endian u64
	Argsort    string // u32 or u64: instead of records, write their positions from 0, little-endian, without a header
	Duplicates bool   // write only the first record of each key that occurs more than once
	Limit      int64  // write only the first Limit records of the result; 0: all; NoRecords: none

	Shuffle bool   // write the records in a uniformly random order; Record needs no key
	Seed    uint64 // the seed of Shuffle; the same seed gives the same order

	MemoryBytes  int64    // limit of host memory for the whole run; 0: a default for this machine or its cgroup
	TempDirs     []string // directories for temporary files, used in parallel; none: TMPDIR if set, otherwise /var/tmp
	Workers      int      // number of threads; 0: all processors
	BatchSize    int      // maximum number of runs merged at once; 0: as many as memory and open files allow
	Devices      []string // auto, cpu, gpu, or a number or name that Devices lists; none: auto
	DeviceMemory int64    // maximum memory to use on each device; 0: all of it

	// Checkpoint is a directory that keeps finished runs and the progress of the merge. After a crash, the same sort
	// continues from there. Sort creates the directory if it does not exist, and removes it at the end. An existing
	// directory must be empty or contain a checkpoint of the same sort. The output and all inputs must be named files, and
	// the inputs must be uncompressed. If Checkpoint is "", temporary files do not outlive the process.
	Checkpoint string

	Strategy      Strategy // "" or Auto: the strategy that is predicted to be the fastest
	Algorithm     string   // the algorithm on the device; "": chosen by the device
	DigitBits     int      // bits per pass, for OpenCL algorithms with a variable digit; 0: chosen by the device
	SpillCompress string   // compression of temporary data: auto, none, delta, s2 or zstd; "": auto

	Verify   bool     // check that the output is in order and has the same checksum as the input
	Progress Progress // receives the progress of the sort; may be nil

	// MeasureMemory records the peak memory of the process in Report.Detail.PeakMemory, by 50 measurements per second.
	MeasureMemory bool

	// Warn receives a message when the sort continues although something unexpected happened. For example, a device
	// failed and the CPU replaced it, or an input grew while it was read. May be nil.
	Warn   func(message string)
	Logger *slog.Logger // receives the same messages; may be nil

	// Verified receives the output records that Verify checks, each record once. Several goroutines call it concurrently.
	Verified func(first int64, recs []byte)

	merge  *MergeOptions // for which these stand: the inputs are sorted, and Part is one of their merge
	faults faults        // seams for fault injection, see faults_test.go
}

// faults are the seams through which tests make operations fail: the dataset that is read, the device that
// sorts, the store that is spilled to and the operations on the output. A nil seam is the real thing. Two more
// make chunks and blocks so small that a few kilobytes are sorted as terabytes are. PlanFor puts in what is not there.
type faults struct {
	wrapDataset func(chunker.Dataset) chunker.Dataset
	wrapDevice  func(device.Device) device.Device
	spillStore  spill.Store
	output      func(operation string) error

	chunkRecords int64 // most records of a chunk, at least those of a block; 0: what memory allows
	blockBytes   int   // size of blocks, 0: what suits the memory
	moreDevices  int   // CPU devices that are opened beside those that were asked for

	readBytes float64 // bytes/s that one worker reads of the input; 0: as a trial says
	remote    bool    // the input is read over a network, whatever it is
}

// validate reports every fault of the options at once.
func (o *Options) validate() error {
	_, err := format.ParseCompression(o.Compress, o.Output)
	faults := []error{o.Record.Validate(), o.recognition().Validate(o.Record), o.validatePart(), err}
	check := func(ok bool, f option.Field, format string, args ...any) {
		if !ok {
			faults = append(faults, option.Errorf(f, format, args...))
		}
	}
	strategies := plan.Requestable()
	check(o.Strategy == "" || slices.Contains(strategies, string(o.Strategy)), option.Strategy,
		" %q: use %s", o.Strategy, english.WordSeries(strategies, "or"))
	spillCodecs := plan.SpillCodecNames()
	check(o.SpillCompress == "" || slices.Contains(spillCodecs, o.SpillCompress), option.SpillCompress,
		" %q: use %s", o.SpillCompress, english.WordSeries(spillCodecs, "or"))
	check(o.Limit >= NoRecords, option.Limit, " %d: must be at least 1", o.Limit)
	o.validateFrame(check)
	check(o.Workers >= 0, option.Workers, " %d: must be at least 1", o.Workers)
	check(o.BatchSize == 0 || o.BatchSize >= 2, option.BatchSize, " %d: must be at least 2", o.BatchSize)
	if o.MemoryBytes != 0 && o.MemoryBytes < MinMemory {
		least := fmt.Sprintf("raise %v, to %s at least", option.MemoryBytes, human.Bytes(MinMemory))
		faults = append(faults, &MemoryError{Limit: o.MemoryBytes, Least: MinMemory, Text: least})
	}
	check(o.Sink == nil || o.Output == "" && o.Stdout == nil, option.Sink, "is the output: leave Output and "+
		"Stdout empty")
	check(o.DigitBits >= 0, option.DigitBits, " %d: must be at least 1", o.DigitBits)
	check(o.DeviceMemory >= 0, option.DeviceMemory, " %d: must not be negative", o.DeviceMemory)
	o.validateForm(check)
	return errors.Join(append(faults, o.validateCheckpoint())...)
}

// validateFrame reports what cannot surround the records.
func (o *Options) validateFrame(check func(ok bool, f option.Field, format string, args ...any)) {
	check(o.SkipBytes >= 0, option.SkipBytes, " %d: must not be negative", o.SkipBytes)
	check(o.SkipTail >= 0, option.SkipTail, " %d: must not be negative", o.SkipTail)
	check(o.Records >= NoRecords, option.Records, " %d: must not be negative", o.Records)
	container := o.Record.Container()
	check(o.Records == 0 || !container.IsArchive, option.Records,
		": an array of an archive (%v %s) says how many records there are", option.Format, o.Record.Format)
	check(o.Records == 0 || !container.HasCount || container.IsArchive, option.Records,
		": %v %s says how many records there are: use %v for bytes after them", option.Format, o.Record.Format,
		option.SkipTail)
	check(o.SkipTail == 0 || !container.IsArchive, option.SkipTail, ": an archive (%v %s) has no tail",
		option.Format, o.Record.Format)
	check(o.SkipBytes == 0 || !container.IsArchive, option.SkipBytes,
		": an array of an archive (%v %s) begins with its own header", option.Format, o.Record.Format)
	check(!o.KeepHeader || o.SkipBytes > 0 || o.SkipTail > 0 || o.Records != 0, option.KeepHeader,
		": needs %v N (the size of the header), or %v or %v", option.SkipBytes, option.Records, option.SkipTail)
	for _, bytes := range []int64{o.SkipBytes, o.SkipTail} {
		check(!o.KeepHeader || bytes <= MaxKeptHeader, option.KeepHeader, ": %d bytes are more than the maximum of %d",
			bytes, MaxKeptHeader)
	}
}

// withDefaults fills in what was left open.
func (o Options) withDefaults() Options {
	if o.Sink != nil {
		o.Stdout = o.Sink
	}
	o.Stdin, o.Stdout = cmp.Or[io.Reader](o.Stdin, os.Stdin), cmp.Or[io.Writer](o.Stdout, os.Stdout)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.MemoryBytes = profile.LimitMemory(o.MemoryBytes, MinMemory, systemMemory)
	if o.Checkpoint != "" {
		o.TempDirs = []string{o.Checkpoint}
	} else if len(o.TempDirs) == 0 {
		o.TempDirs = []string{spill.DefaultFolder()}
	}
	o.Warn = o.warn()
	return o
}

// warn tells all who are to be warned.
func (o *Options) warn() func(message string) {
	told, logger := o.Warn, o.Logger
	return func(message string) {
		message = strings.ReplaceAll(message, "\n", "; ") // several errors that were joined
		if told != nil {
			told(message)
		}
		if logger != nil {
			logger.Warn(message)
		}
	}
}

func (o *Options) recognition() format.Recognition {
	return format.Recognition{Raw: o.Raw, Decompress: o.Decompress}
}

// toStdout reports whether the records go to the stream that the caller gave.
func (o *Options) toStdout() bool { return o.Output == "" || o.Output == stdio }

// ParseMemory parses a memory limit. The limit is a size in the syntax of format.ParseLimit, or a percentage of the
// memory of the machine or its cgroup.
func ParseMemory(s string) (int64, error) { return profile.ParseMemory(s) }
