package extsort

import (
	"context"
	"errors"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/session"
)

// A Report describes a finished sort or merge.
type Report struct {
	RecordsRead    int64
	RecordsWritten int64
	BytesRead      int64 // record bytes from the inputs, decompressed
	BytesWritten   int64 // record bytes to the output, before compression
	BytesSpilled   int64 // bytes written to temporary files
	BytesResumed   int64 // the part of BytesRead that an earlier run already processed; see Job.Checkpoint
	Elapsed        time.Duration

	Strategy Strategy // the strategy that ran
	Changes  []string // changes of strategy: why a strategy that was planned or requested did not run
	Device   string   // the names of the devices
	Fallback string   // why the CPU replaced a GPU; "": it did not

	// Verified reports that Job.Verify was set and passed: the output is in order and has the same
	// checksum as the input. A checksum is the sum of the CRC-32 of all records, in hexadecimal. It
	// does not depend on the order of the records. With a selection, the two checksums differ.
	Verified    bool
	ChecksumIn  string
	ChecksumOut string
	Summary     *Summary // of the output; nil without Verify

	// The following fields describe how the job ran. Their meaning may change between versions.
	Algorithm   string // the algorithm of the device
	Chunks      int    // number of chunks or partitions that were sorted
	MergeWidth  int    // number of runs in the last merge; 0: no merge
	MergeLevels int    // number of merge levels; 0: no merge
	SpillCodec  string // compression of temporary files; "": there were none
	MemoryLimit int64  // bytes
	PeakMemory  int64  // bytes of anonymous memory, with Resources.MeasurePeak; 0: unknown
	Phases      []Phase
	Forecast    *Forecast // the plan, with its predictions
}

// A Phase is one phase of a sort or merge.
type Phase struct {
	Name      string
	Bytes     int64         // record bytes that pass through the phase
	Elapsed   time.Duration // 0 in a forecast
	Predicted time.Duration // 0: unknown
}

// A Forecast predicts how a sort runs.
type Forecast struct {
	Strategy    Strategy
	Rejected    map[Strategy]string // why each of the other strategies was not chosen
	Device      string              // the names of the devices
	Algorithm   string              // the requested algorithm; "": chosen by the device
	Records     int64               // -1: unknown
	RecordSize  int                 // bytes
	KeySize     int                 // bytes of the key that are compared
	Chunks      int                 // number of chunks, partitions or passes; 0: unknown
	MergeWidth  int                 // maximum number of runs that are merged at once
	MergeLevels int                 // 0: no merge
	Workers     int
	MemoryLimit int64 // bytes
	TempBytes   int64 // bytes of temporary files; -1: unknown
	TempDirs    []string
	OutputBytes int64         // maximum, before compression; -1: unknown
	Predicted   time.Duration // 0: unknown
	Phases      []Phase
}

// A Summary describes sorted records. Summaries of consecutive parts can be combined: see Append.
type Summary struct {
	Records    int64  `json:"records"`
	Duplicates int64  `json:"duplicates"`          // number of records with the same key as the previous one
	Checksum   string `json:"checksum"`            // sum of the CRC-32 of the records, in hexadecimal, as in valsort
	FirstKey   string `json:"first_key,omitempty"` // normalized, in hexadecimal: compares like the keys
	LastKey    string `json:"last_key,omitempty"`
	First      string `json:"first,omitempty"` // the first key as text
	Last       string `json:"last,omitempty"`
	Order      string `json:"order"` // the layout of a record and the order of its keys
}

// Precedes reports whether the records of next may follow the records of s in a sorted file. If
// unique is set, the last key of s and the first key of next must differ.
func (s *Summary) Precedes(next *Summary, unique bool) bool {
	return (*format.Summary)(s).Precedes((*format.Summary)(next), unique)
}

// Append combines s with the summary of the records that follow. It returns an error if one of the
// two summaries is invalid, or if their records have different layouts or orders.
func (s *Summary) Append(next *Summary) error {
	sum := (*format.Summary)(s)
	if err := sum.Validate(); err != nil {
		return err
	}
	more := (*format.Summary)(next)
	if err := more.Validate(); err != nil {
		return err
	}
	return sum.Add(more)
}

// A CheckReport is the result of Check.
type CheckReport struct {
	// Summary describes the records. With CheckJob.Brief, it contains only the number of records up
	// to the first one that is out of order. A file that is checked in parts is sorted if each part
	// is sorted and precedes the next.
	Summary

	Disorder *DisorderError // the first record that is out of order; nil: the input is sorted
	Elapsed  time.Duration
}

// Progress is the state of a running job. Each phase processes about the same number of bytes as
// the input contains, so Total is a multiple of the input's size.
type Progress struct {
	Phase        string // the running phase; "" before the first
	PhaseIndex   int    // its number, from 1
	Phases       int    // the number of phases, as planned
	PhaseDone    int64  // bytes of the running phase
	PhaseTotal   int64  // its size in bytes; -1: unknown
	PhaseElapsed time.Duration
	Done         int64 // bytes of all phases so far
	Total        int64 // bytes of all phases; -1: unknown
	Elapsed      time.Duration
	Remaining    time.Duration // predicted, in whole seconds; -1: unknown
}

// progressInterval is the time between two calls of a Progress function.
const progressInterval = 200 * time.Millisecond

// runWatched runs call. While it runs, watch calls report periodically from another goroutine, and
// once more at the end. If report panics, the context of call is cancelled.
func runWatched(ctx context.Context, report func(Progress), call func(context.Context, session.Progress) error) error {
	if report == nil {
		return call(ctx, nil)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var tracker session.Tracker
	show := func() {
		defer safely.Attribute("Progress")
		report(Progress(tracker.Snapshot()))
	}
	done := make(chan struct{})
	var group safely.Group
	group.Go(func() error {
		err := safely.Call(func() error {
			ticker := time.NewTicker(progressInterval)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					show()
				case <-done:
					show()
					return nil
				}
			}
		})
		if err != nil {
			cancel(err)
		}
		return err
	})
	err := func() error {
		defer close(done)
		return call(ctx, &tracker)
	}()
	panicked := group.Wait()
	if panicked != nil && errors.Is(err, panicked) {
		return err
	}
	return errors.Join(err, panicked)
}

// newReport translates the report of a session. r may be nil.
func newReport(r *session.Report) *Report {
	if r == nil {
		return nil
	}
	report := &Report{
		RecordsRead:    r.Records,
		RecordsWritten: r.RecordsOut,
		BytesRead:      r.BytesRead,
		BytesWritten:   r.BytesWritten,
		BytesSpilled:   r.BytesSpilled,
		BytesResumed:   r.Detail.BytesKept,
		Elapsed:        seconds(r.Seconds),
		Strategy:       Strategy(r.Strategy),
		Device:         r.Device,
		Fallback:       r.FallbackReason,
		Verified:       r.Verified,
		ChecksumIn:     r.ChecksumIn,
		ChecksumOut:    r.ChecksumOut,
		Summary:        (*Summary)(r.Summary),
		Algorithm:      r.Detail.Algorithm,
		Chunks:         r.Detail.Chunks,
		MergeWidth:     r.Detail.FanIn,
		MergeLevels:    r.Detail.MergeLevels,
		SpillCodec:     r.Detail.SpillCodec,
		MemoryLimit:    r.Detail.MemoryLimit,
		PeakMemory:     r.Detail.PeakMemory,
		Forecast:       newForecast(r.Detail.Plan),
	}
	for _, change := range r.Detail.Changes {
		report.Changes = append(report.Changes, change.String())
	}
	for _, stage := range r.Detail.Phases {
		report.Phases = append(report.Phases, Phase{
			Name:      stage.Name,
			Bytes:     stage.Bytes,
			Elapsed:   seconds(stage.Seconds),
			Predicted: seconds(stage.Predicted),
		})
	}
	return report
}

// newForecast translates a plan. p may be nil.
func newForecast(p *plan.Plan) *Forecast {
	if p == nil {
		return nil
	}
	forecast := &Forecast{
		Strategy:    Strategy(p.Strategy),
		Rejected:    map[Strategy]string{},
		Device:      p.Device,
		Algorithm:   p.Algorithm,
		Records:     p.Records,
		RecordSize:  p.RecordSize,
		KeySize:     p.KeySize,
		Chunks:      p.Chunks,
		MergeWidth:  p.FanIn,
		MergeLevels: p.MergeLevels,
		Workers:     p.Workers,
		MemoryLimit: p.MemoryLimit,
		TempBytes:   p.TempBytes,
		TempDirs:    p.TempDirs,
		OutputBytes: p.OutputBytes,
		Predicted:   seconds(p.Seconds),
	}
	for _, candidate := range p.Considered {
		if candidate.Strategy != p.Strategy {
			forecast.Rejected[Strategy(candidate.Strategy)] = candidate.Why
		}
	}
	for _, stage := range p.Stages {
		forecast.Phases = append(forecast.Phases, Phase{
			Name:      stage.Name,
			Bytes:     stage.Bytes,
			Predicted: seconds(stage.Seconds),
		})
	}
	return forecast
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
