package session

import (
	"strings"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
)

// A SortPlan describes how a sort would run, and its predicted cost.
type SortPlan = plan.Plan

// Rates contains the rates of one worker, from which a plan predicts times.
type Rates = plan.Rates

// A Phase is one stage of a sort. In a plan, Bytes and Seconds are predictions. In a report, they
// are measurements, and Predicted is the prediction.
type Phase = plan.Stage

// A Change describes a change of strategy during a run. Planned is the strategy that was planned or
// requested, Why is the reason why it was impossible, and Ran is the strategy that replaced it.
type Change = engine.Change

// A Report describes a finished sort or merge.
type Report struct {
	Records        int64    `json:"records"`       // number of records read
	RecordsOut     int64    `json:"records_out"`   // number of records written
	BytesRead      int64    `json:"bytes_read"`    // record bytes from the inputs, decompressed
	BytesWritten   int64    `json:"bytes_written"` // record bytes to the output, before compression
	BytesSpilled   int64    `json:"bytes_spilled"` // bytes written to temporary files
	Seconds        float64  `json:"seconds"`
	Device         string   `json:"device"`
	Strategy       Strategy `json:"strategy"`                  // the strategy that ran
	FallbackReason string   `json:"fallback_reason,omitempty"` // why the CPU replaced the chosen GPU
	Verified       bool     `json:"verified"`                  // whether Options.Verify was set, and found no error
	ChecksumIn     string   `json:"checksum_in,omitempty"`     // with Options.Verify, checksum of the input records
	ChecksumOut    string   `json:"checksum_out,omitempty"`    // with Options.Verify, checksum of the output records
	Summary        *Summary `json:"summary,omitempty"`         // with Options.Verify, a summary of the output

	Detail Detail `json:"-"`
}

// Detail describes how a run went.
type Detail struct {
	BytesKept   int64     `json:"bytes_kept"`        // part of BytesRead that a checkpoint had already processed
	SpillCodec  string    `json:"spill_codec"`       // compression of temporary data; "": nothing was spilled
	MemoryLimit int64     `json:"memory_limit"`      // bytes
	PeakMemory  int64     `json:"peak_memory"`       // bytes of anonymous memory, with Options.MeasureMemory; 0: unknown
	Algorithm   string    `json:"algorithm"`         // the algorithm of the device
	Chunks      int       `json:"chunks"`            // number of chunks or partitions that were sorted
	FanIn       int       `json:"fan_in"`            // number of runs in the last merge; 0: no merge
	MergeLevels int       `json:"merge_levels"`      // number of merge levels; 0: no merge
	Limiting    string    `json:"limiting"`          // the phase that took longest
	Changes     []Change  `json:"changes,omitempty"` // changes of strategy
	Phases      []Phase   `json:"phases"`
	Plan        *SortPlan `json:"plan,omitempty"`      // the plan with its predictions
	Corrected   float64   `json:"corrected,omitempty"` // Plan.Seconds, scaled by the error of the first phase
}

// A Summary describes the sorted records of one part. Summaries of consecutive parts can be
// combined.
type Summary = format.Summary

// A CheckReport is the result of Check. Summaries of the parts of a file can be added up. The whole
// file is sorted if each part is sorted and precedes the next.
type CheckReport struct {
	Summary
	Sorted bool `json:"sorted"`

	// The first record that is out of order, as in DisorderError.
	Record int64  `json:"record,omitempty"`
	Byte   int64  `json:"byte,omitempty"`
	Key    string `json:"key,omitempty"`
	After  string `json:"after,omitempty"`
}

// report returns the report of the run. The session must be closed.
func (s *session) report() *Report {
	run := s.run
	result := &run.Result
	phases, limiting, corrected := engine.CompareStages(run.Meter.Stages, result.Stages, run.Plan.Seconds)
	r := &Report{
		Records:      run.Input.Records(),
		BytesSpilled: result.BytesSpilled,
		Seconds:      time.Since(s.start).Seconds(),
		Device:       run.Plan.Device,
		Strategy:     result.Strategy,
		Verified:     result.Verified,
		ChecksumIn:   result.ChecksumIn,
		ChecksumOut:  result.ChecksumOut,
		Summary:      result.Summary,
		Detail: Detail{
			BytesKept:   result.BytesKept,
			SpillCodec:  result.SpillCodec,
			MemoryLimit: s.opt.MemoryBytes,
			PeakMemory:  s.peak,
			Algorithm:   strings.Join(result.Algorithms, ", "),
			Chunks:      result.Chunks,
			FanIn:       result.FanIn,
			MergeLevels: result.MergeLevels,
			Changes:     result.Changes,
			Plan:        run.Plan,
			Phases:      phases,
			Limiting:    limiting,
			Corrected:   corrected,
		},
	}
	r.BytesRead = r.Records * int64(run.Input.Header.Layout().RecordSize)
	if run.Output != nil {
		r.RecordsOut = run.Output.Records()
		r.BytesWritten = r.RecordsOut * int64(run.Output.Size)
	}
	return r
}
