package extsort

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/session"
)

// A Job describes a sort. Input, Record and Output are required; the zero value of every other
// field is its default.
type Job struct {
	Input   Input
	Record  Record
	Reverse bool      // reverse the order of the keys; records with equal keys keep their input order
	Select  Selection // the records to write, and in which form; nil: all records
	Output  Output

	// KeepKey writes the key that KeyField.Compute describes after each record, as a little-endian
	// u64, or u128 if it has more than 64 bits. In a structured NumPy array it is a field of this
	// name.
	KeepKey string

	Resources Resources
	Tuning    Tuning

	// Checkpoint is a directory that keeps finished runs and the progress of the merge. After a
	// crash, the same job continues from there. The directory is created if it does not exist, and
	// removed at the end. An existing directory must be empty or contain a checkpoint of the same
	// job, and neither inputs nor outputs may be in it. The output must have a path, the inputs must
	// be uncompressed and not be readers, and Resources.TempDirs must be empty.
	Checkpoint string

	// Verify checks that the output is in order and has the same checksum as the input. The report
	// then has a Summary.
	Verify bool

	Progress func(Progress) // receives the progress about five times a second, and at the end; it must not block
	Logger   *slog.Logger   // receives a warning if the job continues although something unexpected happened
}

// A MergeJob describes a merge of sorted inputs. Input, Record and Output are required. Its fields
// have the same meaning as in Job. A merge runs on the CPU, and cannot select Positions or
// Shuffled.
type MergeJob struct {
	Input   Input // with Part, one part of the merged records
	Record  Record
	Reverse bool
	Select  Selection
	Output  Output

	// Cuts is the result of the function Cuts for n = Input.Part.Count. If it is nil, the merge
	// computes it.
	Cuts [][]int64

	Resources Resources // TempDirs are only used if not all inputs can be merged at once
	Tuning    Tuning    // only MergeWidth and SpillCompression

	Verify   bool
	Progress func(Progress)
	Logger   *slog.Logger
}

// A CheckJob describes a check. Input and Record are required. Fields without a comment have the
// same meaning as in Job.
type CheckJob struct {
	Input   Input // exactly one file or stream
	Record  Record
	Reverse bool
	Unique  bool // adjacent records with equal keys are out of order, too
	Brief   bool // stop at the first record out of order; compute no checksum and no first and last key

	Resources Resources // only Memory and Workers

	Progress func(Progress)
	Logger   *slog.Logger
}

// MinMemory is the smallest memory limit of a job, in bytes.
const MinMemory = 16 << 20

// ParseMemory parses a memory limit for Resources.Memory, for example from a flag: a number of
// bytes with an optional suffix K, M, G, T, KB, MB …, or a percentage of the memory of the machine
// or its cgroup.
func ParseMemory(s string) (int64, error) {
	bytes, err := session.ParseMemory(s)
	return bytes, publicErrors(err)
}

// Resources limits the resources of a job. The zero value uses the whole machine.
type Resources struct {
	// Memory limits the host memory that the job allocates, in bytes. It does not include other
	// memory of the program. The minimum is MinMemory. The default depends on the memory of the
	// machine or its cgroup.
	Memory int64

	TempDirs []string // directories for temporary files, used in parallel; none: TMPDIR if set, otherwise /var/tmp
	Workers  int      // number of threads, at most 256, or 4 for each processor if that is more; 0: GOMAXPROCS

	Devices      []string // auto, cpu, gpu, or indexes or names of Devices; none: auto, the fastest
	DeviceMemory int64    // maximum memory to use on each device, in bytes; 0: all of it

	// MeasurePeak measures Report.PeakMemory, 50 times a second.
	MeasurePeak bool
}

// Tuning overrides choices of the cost model. It never changes the output.
type Tuning struct {
	Strategy   Strategy // "": the strategy predicted to be fastest
	Algorithm  string   // one of Device.Algorithms; "": chosen by the device
	DigitBits  int      // bits per pass of OpenCL algorithms with a variable digit; 0: chosen by the device
	MergeWidth int      // maximum number of runs merged at once; 0: limited only by memory and open files

	// SpillCompression is the compression of temporary files: CompressionNone, CompressionS2,
	// CompressionZstd or "delta", which stores differences of keys. By default, it depends on the
	// data and the disks.
	SpillCompression Compression
}

// A Strategy is a way to sort data that may be larger than memory. docs/how-it-works.md explains
// each of them.
type Strategy string

// The strategies. StrategyInCore and StrategyCopy appear in reports but cannot be requested.
const (
	StrategyInCore    Strategy = "in-core"   // sorts one chunk with all records, without temporary files
	StrategyCopy      Strategy = "copy"      // copies an input that is already in order, or in reverse order
	StrategyMerge     Strategy = "merge"     // cuts the input into chunks by position, then merges the sorted chunks
	StrategyPartition Strategy = "partition" // distributes the records to files by key, then sorts each file
	StrategyReread    Strategy = "reread"    // reads the whole input once for each range of keys
	StrategyTally     Strategy = "tally"     // counts or combines the records of few distinct keys in hash tables
	StrategySift      Strategy = "sift"      // copies a nearly sorted input; sorts only the records that are out of order
	StrategySpread    Strategy = "spread"    // sorts a share on each of several devices, then merges the shares
)

// Sort sorts the inputs into the output. After an error, no output appears, and the report is nil
// or describes the part of the job that ran.
func Sort(ctx context.Context, job Job) (*Report, error) {
	opt, err := job.options(needsInput | needsOutput)
	if err != nil {
		return nil, err
	}
	return run(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (*session.Report, error) {
		opt.Progress = progress
		return session.Sort(ctx, opt)
	})
}

// Merge merges sorted inputs. If an input is not sorted, Merge returns a *DisorderError. If keys
// are equal, records of earlier inputs come first.
func Merge(ctx context.Context, job MergeJob) (*Report, error) {
	opt, err := job.options(needsInput | needsOutput)
	if err != nil {
		return nil, err
	}
	return run(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (*session.Report, error) {
		opt.Progress = progress
		return session.Merge(ctx, opt)
	})
}

// Check reports whether an input is in order. Disorder is a result, not an error: see
// CheckReport.Disorder.
func Check(ctx context.Context, job CheckJob) (*CheckReport, error) {
	opt, err := job.options()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	var found *session.CheckReport
	err = runWatched(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (err error) {
		opt.Progress = progress
		found, err = session.Check(ctx, opt)
		return err
	})
	disorder, isDisorder := errors.AsType[*session.DisorderError](err)
	if err != nil && !isDisorder {
		return nil, publicErrors(err)
	}
	report := &CheckReport{Summary: Summary(found.Summary), Elapsed: time.Since(start)}
	if isDisorder {
		report.Disorder = disorderError(disorder)
	}
	return report, nil
}

// Records sorts the inputs and iterates over the sorted records instead of writing them. Each
// record is valid only until the next iteration. If the sort fails, the last element is a nil
// record with the error. Breaking out of the loop cancels the sort. Job.Output must be empty. If
// report is not nil, the iterator fills it after the last record.
func Records(ctx context.Context, job Job, report *Report) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		faults := job.Output.forbid("Records passes the records to the loop")
		opt, err := job.options(needsInput)
		if err = errors.Join(append(faults, err)...); err != nil {
			yield(nil, err)
			return
		}
		result, err := run(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (*session.Report, error) {
			opt.Progress = progress
			return session.EachRecord(ctx, opt, yield)
		})
		if report != nil && result != nil {
			*report = *result
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// SortBytes sorts the records of a slice in place and returns the result. The result is shorter
// than the slice if Job.Select leaves records out. It is a new slice if Counted makes the records
// longer. Job.Input and Job.Output must be empty. In addition to Resources.Memory, SortBytes needs
// memory for a copy of the slice. After an error, the slice is unchanged.
func SortBytes(ctx context.Context, records []byte, job Job) ([]byte, *Report, error) {
	faults := job.Input.forbid("SortBytes sorts its slice")
	faults = append(faults, job.Output.forbid("SortBytes returns the records")...)

	var sorted bytes.Buffer
	job.Input = Input{
		Sources: []Source{{Name: "the slice", ReaderAt: bytes.NewReader(records), Size: int64(len(records))}},
		Raw:     job.Record.Format == "",
	}
	opt, err := job.options(needsInput)
	if err = errors.Join(append(faults, err)...); err != nil {
		return nil, nil, err
	}

	sorted.Grow(len(records))
	opt.Stdout = &sorted
	report, err := run(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (*session.Report, error) {
		opt.Progress = progress
		return session.Sort(ctx, opt)
	})
	if err != nil {
		return nil, report, err
	}
	// Bytes of the caller can follow the slice in its array.
	return append(records[:0:len(records)], sorted.Bytes()...), report, nil
}

// Plan returns how Sort would run the job. It reads a sample of each input file and writes nothing.
// If Job.Output is empty, the output is assumed to be a stream. Plan reads from neither FIFOs nor
// Readers other than regular files, because these bytes would be missing in a later sort. For such
// inputs, the forecast assumes random keys in random order.
func Plan(ctx context.Context, job Job) (*Forecast, error) {
	opt, err := job.options(needsInput)
	if err != nil {
		return nil, err
	}
	plan, err := session.Plan(ctx, opt)
	return newForecast(plan), publicErrors(err)
}

// PlanFor returns how Sort would run the job for an input that does not exist yet and has the given
// number of records. It assumes an uncompressed file on a disk, uniformly random keys in random
// order, and enough space for temporary files. Job.Input is ignored except for its Part, and
// Job.Output may be empty.
func PlanFor(ctx context.Context, job Job, records int64) (*Forecast, error) {
	opt, err := job.options(0)
	if err != nil {
		return nil, err
	}
	plan, err := session.PlanFor(ctx, opt, records)
	return newForecast(plan), publicErrors(err)
}

// Cuts returns the positions at which to cut sorted inputs, so that Merge can merge them in n
// parts. For the result c, part k consists of the records c[k][i] to c[k+1][i]-1 of each input i.
// The sizes of the parts differ by at most one record, unless job.Select is Unique, Counted or
// Duplicates, which keep records with equal keys in the same part. Records are ordered by key,
// input and position. Cuts reads only a few records of each input. With Input.Part, Cuts returns
// only the cuts for that share of the parts, as c[0], c[1] and so on, so that several processes can
// divide the work. Job.Output may be empty.
func Cuts(ctx context.Context, job MergeJob, n int64) ([][]int64, error) {
	opt, err := job.options(needsInput)
	if err != nil {
		return nil, err
	}
	cuts, err := session.Cuts(ctx, opt, n)
	return cuts, publicErrors(err)
}

// Devices returns the devices that a sort can use: the CPU first, then the OpenCL devices. The note
// explains why there are no OpenCL devices, or how to get them. It may be "".
func Devices(ctx context.Context) (devices []Device, note string) {
	list := session.Devices(ctx)
	for _, info := range list.Devices {
		devices = append(devices, Device{
			Index:      info.Index,
			Name:       info.Name,
			Driver:     info.Driver,
			Kind:       string(info.Kind),
			Units:      info.Units,
			Memory:     info.MemoryBytes,
			Unified:    info.UnifiedMemory,
			Algorithms: info.Algorithms,
		})
	}
	return devices, list.Note
}

// A Device is a processor that can sort.
type Device struct {
	Index      int    // selects it in Resources.Devices; the CPU is 0
	Name       string // the name that the driver reports
	Driver     string // API and driver version
	Kind       string // cpu, gpu, accelerator or opencl-cpu; a sort uses opencl-cpu only if you name it
	Units      int    // processors or compute units
	Memory     int64  // bytes that the data can use; 0: the memory of the host
	Unified    bool   // it shares the memory of the host
	Algorithms []string
}

// needs is the set of fields that a call requires.
type needs int

const (
	needsInput needs = 1 << iota
	needsOutput
)

// options translates the job, and reports all invalid fields at once.
func (j *Job) options(required needs) (session.Options, error) {
	var opt session.Options
	faults := applyFrame(&opt, &j.Input, &j.Record, &j.Output, required)
	if j.Select != nil {
		faults = appendError(faults, j.Select.apply(&opt))
	}
	opt.Reverse = j.Reverse
	j.Resources.apply(&opt)
	j.Tuning.apply(&opt)
	opt.KeepKey = j.KeepKey
	opt.Checkpoint = j.Checkpoint
	opt.Verify = j.Verify
	opt.Logger = j.Logger
	return opt, allFaults(faults, opt.Validate())
}

// options translates the job, and reports all invalid fields at once.
func (j *MergeJob) options(required needs) (session.MergeOptions, error) {
	var all session.Options
	faults := applyFrame(&all, &j.Input, &j.Record, &j.Output, required)
	if j.Select != nil {
		faults = appendError(faults, j.Select.apply(&all))
	}
	if all.Argsort != "" || all.Shuffle {
		faults = append(faults, optionErrorf("Select", "has Positions or Shuffled, which a merge cannot write"))
	}
	all.Reverse = j.Reverse
	j.Resources.apply(&all)
	j.Tuning.apply(&all)
	if len(j.Resources.Devices) > 0 || j.Resources.DeviceMemory != 0 {
		faults = append(faults, optionErrorf("Resources.Devices", "and DeviceMemory must be empty: a merge "+
			"runs on the CPU"))
	}
	if j.Tuning.Strategy != "" || j.Tuning.Algorithm != "" || j.Tuning.DigitBits != 0 {
		faults = append(faults, optionErrorf("Tuning", "has fields for sorts: a merge uses only MergeWidth and "+
			"SpillCompression"))
	}
	all.Verify = j.Verify
	all.Logger = j.Logger

	opt := fields.Shared[session.MergeOptions](all)
	opt.Cuts = j.Cuts
	return opt, allFaults(faults, all.Validate())
}

// options translates the job, and reports all invalid fields at once.
func (j *CheckJob) options() (session.CheckOptions, error) {
	var all session.Options
	faults := applyFrame(&all, &j.Input, &j.Record, &Output{}, needsInput)
	if len(all.Sources) > 1 {
		faults = append(faults, optionErrorf("Input", "has %d files or streams: a check reads one", len(all.Sources)))
	}
	j.Resources.apply(&all)
	all.Reverse = j.Reverse
	all.Logger = j.Logger

	opt := fields.Shared[session.CheckOptions](all)
	opt.Unique = j.Unique
	opt.Brief = j.Brief
	if len(all.Sources) > 0 {
		opt.Input = all.Sources[0]
	}
	return opt, allFaults(faults, all.Validate())
}

// applyFrame sets the options that all jobs share: inputs, record and output.
func applyFrame(opt *session.Options, in *Input, record *Record, out *Output, required needs) []error {
	spec, faults := record.spec()
	opt.Record = spec
	if inputFaults := in.apply(opt); required&needsInput != 0 {
		faults = append(faults, inputFaults...)
	}
	if outputFaults := out.apply(opt); required&needsOutput != 0 || *out != (Output{}) {
		faults = append(faults, outputFaults...)
	}
	return faults
}

// allFaults joins invalid fields that this package and the session have found.
func allFaults(faults []error, ofSession error) error {
	if public := publicErrors(ofSession); public != nil {
		faults = append(faults, public)
	}
	return errors.Join(faults...)
}

func (r *Resources) apply(opt *session.Options) {
	opt.MemoryBytes = r.Memory
	opt.TempDirs = r.TempDirs
	opt.Workers = r.Workers
	opt.Devices = r.Devices
	opt.DeviceMemory = r.DeviceMemory
	opt.MeasureMemory = r.MeasurePeak
}

func (t *Tuning) apply(opt *session.Options) {
	opt.Strategy = session.Strategy(t.Strategy)
	opt.Algorithm = t.Algorithm
	opt.DigitBits = t.DigitBits
	opt.BatchSize = t.MergeWidth
	opt.SpillCompress = string(t.SpillCompression)
}

// run calls a sort or merge and reports its progress while it runs.
func run(ctx context.Context, progress func(Progress),
	call func(context.Context, session.Progress) (*session.Report, error)) (*Report, error) {
	var report *session.Report
	err := runWatched(ctx, progress, func(ctx context.Context, progress session.Progress) (err error) {
		report, err = call(ctx, progress)
		return err
	})
	return newReport(report), publicErrors(err)
}
