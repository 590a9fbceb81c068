package extsort

import (
	"context"
	"iter"

	"github.com/extsort/extsort/internal/session"
)

// A Strategy is a way to sort data, which may be larger than memory.
type Strategy = session.Strategy

// The strategies. InCore and Copy cannot be requested: a sort uses them if all records fit in one chunk, or if the
// input is already in order.
const (
	Auto      = session.Auto
	MergeRuns = session.MergeRuns // cuts the input into chunks by position, sorts them, and merges the sorted runs
	Partition = session.Partition // distributes records to partitions by key, then sorts one partition after another
	Spread    = session.Spread    // gives each of several devices a share, then merges the shares from their memories
	Reread    = session.Reread    // multi-pass: reads the whole input once for each key range
	InCore    = session.InCore    // sorts one chunk, which is not spilled
	Copy      = session.Copy      // copies an input that is already in order, or in reverse order
	Sift      = session.Sift      // reads a nearly sorted input twice; records out of order wait in memory
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about this much.
const MinMemory = session.MinMemory

// NoRecords is the value of Limit for an output without records. The inputs are opened, but no record is read.
const NoRecords = session.NoRecords

// MaxKeptHeader is the maximum number of bytes that KeepHeader can copy before the records. The same maximum applies to
// the bytes after the records.
const MaxKeptHeader = session.MaxKeptHeader

// MaxSplitFiles is the maximum number of files that an output can be split into. All of them are open until the end.
const MaxSplitFiles = session.MaxSplitFiles

type (
	// Options describes what to sort and how.
	Options = session.Options

	// MergeOptions describes what to merge and how.
	MergeOptions = session.MergeOptions

	// CheckOptions describes what to check and how.
	CheckOptions = session.CheckOptions

	// A Source is one input: the file Name, or At, or Reader. Sort does not close At or Reader.
	Source = session.Source

	// A Sink is a custom output.
	Sink = session.Sink

	// A Part selects one of several equal parts: Part{K: k, N: n} is the k-th of n parts, counted from 0. The zero Part
	// selects everything.
	Part = session.Part
)

type (
	// A Report describes a finished sort or merge. Its fields are stable, except those of Detail.
	Report = session.Report

	// Detail describes how a run went. It is not stable: its fields and their values may change in any version.
	Detail = session.Detail

	// A CheckReport is the result of Check.
	CheckReport = session.CheckReport

	// A Summary describes the sorted records of one part. Summaries of consecutive parts can be combined.
	Summary = session.Summary

	// A SortPlan describes how a sort would run, and its predicted cost. Like Detail, it may change in any version.
	SortPlan = session.SortPlan

	// A Phase is one stage of a sort. In a plan, Bytes and Seconds are predictions. In a report, they are measurements,
	// and Predicted is the prediction.
	Phase = session.Phase

	// A Change describes a change of strategy during a run.
	Change = session.Change

	// Rates are the rates of one worker from which a plan predicts times.
	Rates = session.Rates

	// Progress receives the progress of a run.
	Progress = session.Progress

	// A Snapshot describes the progress of a run.
	Snapshot = session.Snapshot

	// A Tracker is a Progress that returns the state of a run at any time. The zero value is ready for one run.
	Tracker = session.Tracker

	// A DeviceList lists the devices of this machine that a sort can use.
	DeviceList = session.DeviceList
)

// These errors can be recognized with errors.As or errors.AsType. All other errors wrap their cause, and name the
// operation, the file and the byte offset.
type (
	// An OptionError reports an invalid value of an option. Its Field names the option.
	OptionError = session.OptionError

	// A LayoutError reports that Options.Record is contradictory or incomplete.
	LayoutError = session.LayoutError

	// A PartialRecordError reports that an input ends in the middle of a record.
	PartialRecordError = session.PartialRecordError

	// A PanicError reports a panic in the library, or in a Reader, a Writer or a callback of the caller. Such a panic does
	// not end the program: the call returns this error, which contains the stack.
	PanicError = session.PanicError

	// A MemoryError reports that Options.MemoryBytes is too small. It contains a value that is sufficient.
	MemoryError = session.MemoryError

	// A DisorderError reports the first record that is out of order. Check returns it, and Merge returns it for an input.
	DisorderError = session.DisorderError
)

// Sort sorts the inputs into the output. It returns soon after ctx is cancelled, even while it waits for input. If
// Options.Stdin is not a file, a Read of it may then still be blocked, and the bytes of that Read are lost.
func Sort(ctx context.Context, opt Options) (*Report, error) { return session.Sort(ctx, opt) }

// Plan returns the plan that Sort would follow with these options. It reads a sample of each input file and writes
// nothing. It does not read from pipes, because these bytes would be missing in a later sort: a FIFO, a Source with a
// Reader, or standard input that is not a file. For a pipe, the plan assumes random keys in random order.
func Plan(ctx context.Context, opt Options) (*SortPlan, error) { return session.Plan(ctx, opt) }

// PlanFor returns the plan for an input that does not exist yet and has the given number of records. It assumes an
// uncompressed file on a disk, uniformly random keys in random order, and enough space for temporary files. It ignores
// the inputs in opt.
func PlanFor(ctx context.Context, opt Options, records int64) (*SortPlan, error) {
	return session.PlanFor(ctx, opt, records)
}

// Merge merges sorted inputs. If an input is not sorted, Merge returns a *DisorderError. If keys are equal, records of
// earlier inputs come first.
func Merge(ctx context.Context, opt MergeOptions) (*Report, error) { return session.Merge(ctx, opt) }

// Cuts returns the positions at which to cut sorted inputs, so that Merge can merge them in n parts. For the result c,
// part k consists of the records c[k][i] to c[k+1][i]-1 of each input i. The sizes of the parts differ by at most one
// record. Records are ordered by key, input and position. With Unique or Duplicates, records with equal keys are in the
// same part. Cuts reads only single records. With opt.Part, it returns only the cuts of that share of the parts; the
// first of them is c[0].
func Cuts(ctx context.Context, opt MergeOptions, n int64) ([][]int64, error) {
	return session.Cuts(ctx, opt, n)
}

// Check reports whether the input is in order. If it is not, Check returns a *DisorderError together with a valid
// report. With Brief, that report covers only the records up to the first one that is out of order.
func Check(ctx context.Context, opt CheckOptions) (*CheckReport, error) {
	return session.Check(ctx, opt)
}

// Records sorts the inputs and iterates over the sorted records instead of writing them. Each record is valid only
// until the next iteration. If the sort fails, the last element is a nil record with the error. Breaking out of the
// loop cancels the sort. The fields Output, Stdout, Sink and Compress of opt must be empty.
func Records(ctx context.Context, opt Options) iter.Seq2[[]byte, error] {
	return session.Records(ctx, opt)
}

// SortSlice sorts the records of a slice in place and returns the result. The result is shorter than the slice if
// Unique or Limit leaves records out. With Count, the records grow, and the result may be a different slice. The slice
// replaces the inputs and the output in opt. In addition to MemoryBytes, SortSlice needs as much memory as the slice
// has.
func SortSlice(ctx context.Context, records []byte, opt Options) ([]byte, error) {
	return session.SortSlice(ctx, records, opt)
}

// Devices lists the devices that a sort can use. It returns soon after ctx is cancelled, with an incomplete list.
func Devices(ctx context.Context) DeviceList { return session.Devices(ctx) }

// ParseMemory parses a memory limit. The limit is a size in the syntax of format.ParseLimit, or a percentage of the
// memory of the machine or its cgroup.
func ParseMemory(s string) (int64, error) { return session.ParseMemory(s) }
