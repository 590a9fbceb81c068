package extsort

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

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/merge/output"
)

// Strategy is a way in which sorted chunks become one sorted output.
type Strategy = plan.Strategy

// The strategies. InCore and Copy cannot be asked for: they are what happens when all records fit one chunk, or are
// in order as they stand.
const (
	Auto      = plan.Auto
	MergeRuns = plan.Merge     // chunks by position, then a k-way merge
	Partition = plan.Partition // parts by key range, each sorted, one after another
	Spread    = plan.Spread    // a share for each of several devices, merged out of their memories
	Reread    = plan.Reread    // multi-pass: chunks by key range, the input is read once more for each
	InCore    = plan.InCore    // one chunk, which is not spilled
	Copy      = plan.Copy      // the input is in order already, or in reverse order
	Sift      = plan.Sift      // the input is nearly in order: it is read twice, and what is not waits in memory
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about this much.
const MinMemory = 16 << 20

// NoRecords is the Limit of an output without records: the inputs are opened, and no record is read.
const NoRecords = -1

// MaxKeptHeader is how many bytes before the records, and how many behind them, can be kept.
const MaxKeptHeader = input.MaxKept

// MaxSplitFiles is the greatest number of files that an output is split into: all are open until they have their names.
const MaxSplitFiles = output.MaxSetFiles

// Options says what to sort and how. The zero value of each field is its default, also in the options of other calls.
type Options struct {
	Inputs     []string    // files; "-" is Stdin; none, and no Sources: Stdin
	Sources    []Source    // more inputs, after those: files and what is none
	Stdin      io.Reader   // default: os.Stdin; of what is no file a Read may still wait after a run that was cancelled
	Record     format.Spec // what a record is
	Raw        bool        // the inputs are records, whatever their first bytes look like: nothing is recognised
	SkipBytes  int64       // the first bytes of each input, decompressed, are no records; places count from behind them
	Records    int64       // each input has this many; the bytes behind them are skipped. 0: all; NoRecords: none
	SkipTail   int64       // the last bytes of each input, decompressed, are no records
	KeepHeader bool        // the output gets what is skipped of the first input; MaxKeptHeader on each side at most
	Part       Part        // only this one of the inputs, all files, by position
	Decompress string      // none, gzip, zstd, s2, lz4 or bzip2; "" or auto: as the first bytes of each input say

	Output string    // file, replaced as a whole or not at all; "" or "-": Stdout
	Stdout io.Writer // default: os.Stdout
	Sink   Sink      // in place of both, what is completed or given up at the end
	// SplitFiles or SplitBytes make of the output several files, Output.000, Output.001 …, cut where the key changes, and
	// Output.index with their first keys. All appear, or none. The suffix of a compression stays at the end of the names.
	SplitFiles int    // so many, of about as many records
	SplitBytes int64  // each has so many, before compression, and what its last key has more
	Compress   string // none, gzip, zstd (or zst), s2; "": by the suffix of Output

	Reverse    bool   // the opposite order; still stable
	Unique     bool   // of records with equal keys keep one
	Keep       string // with Unique, which: first or last in the order of the inputs; "": first
	Count      bool   // with Unique, behind each how many there were, as a little-endian u64
	Argsort    string // u32 or u64: in place of each record its index, from 0 over all inputs, little-endian; no header
	Duplicates bool   // only the first record of each key that occurs more than once
	Limit      int64  // write only the first Limit records of the order; 0: all; NoRecords: none

	Shuffle bool   // a uniformly random order by position, whatever the keys; Record needs none
	Seed    uint64 // of Shuffle: the same gives the same order

	MemoryBytes  int64    // host memory for the whole run; 0: what is sensible on this machine or in its cgroup
	TempDirs     []string // folders for spill, used in parallel; none: TMPDIR, else /var/tmp
	Workers      int      // threads; 0: all processors
	BatchSize    int      // most runs merged at once; 0: what memory and open files allow
	Devices      []string // auto, cpu, gpu, number or name, as Devices lists them; none: auto
	DeviceMemory int64    // use no more than this of each device's memory; 0: all

	// Checkpoint is a folder that keeps finished runs, and how far they have been merged, so that the same sort goes on
	// from there after a crash. It is made, or must be empty, and is removed at the end. The output and all inputs have
	// to be named files, the inputs not compressed. "": nothing outlives the process.
	Checkpoint string

	Strategy      Strategy // "" or Auto: the one that is predicted to be the fastest
	Algorithm     string   // on the device; "": the device's choice
	DigitBits     int      // of a pass, for algorithms of OpenCL devices that leave it open; 0: the device's choice
	SpillCompress string   // auto, none, delta, s2, zstd; "": auto

	Verify   bool     // checksum of what was read equals that of what was written, and the output is in order
	Progress Progress // told of the phases as they go; nil: nobody

	// MeasureMemory reports the peak of the process's memory in Report.Detail.PeakMemory. It takes 50 readings a second.
	MeasureMemory bool

	// Warn gets a line when something is not as asked but the sort goes on, for example when a device fails
	// and the CPU takes over, or an input grew while it was read. nil: nobody.
	Warn     func(message string)
	Logger   *slog.Logger                   // gets the same lines; nil: nobody
	Verified func(first int64, recs []byte) // of the output, gets what Verify looks at, each record once; by many at once

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
	check(slices.Contains([]Strategy{"", Auto, MergeRuns, Partition, Spread, Reread, Sift}, o.Strategy), option.Strategy,
		" %q: use auto, merge, partition, spread, reread or sift", o.Strategy)
	spillCodecs := plan.SpillCodecNames()
	check(o.SpillCompress == "" || slices.Contains(spillCodecs, o.SpillCompress), option.SpillCompress,
		" %q: use %s", o.SpillCompress, english.WordSeries(spillCodecs, "or"))
	check(o.Limit >= NoRecords, option.Limit, " %d: must be at least 1", o.Limit)
	o.validateFrame(check)
	check(o.Workers >= 0, option.Workers, " %d: must be at least 1", o.Workers)
	check(o.BatchSize == 0 || o.BatchSize >= 2, option.BatchSize, " %d: must be at least 2", o.BatchSize)
	if o.MemoryBytes != 0 && o.MemoryBytes < MinMemory {
		least := fmt.Sprintf("raise %v, to %s at least", option.MemoryBytes, humanize.IBytes(MinMemory))
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

// ParseMemory reads a memory limit: a size as format.ParseLimit knows it, or a percentage of the memory of the machine
// or its cgroup.
func ParseMemory(s string) (int64, error) { return profile.ParseMemory(s) }
