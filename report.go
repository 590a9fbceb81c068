package extsort

import (
	"strings"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
)

// SortPlan is what a sort would do and what that is expected to cost. It is as little stable as Detail is.
type SortPlan = plan.Plan

// Rates are what a plan is based on, of one worker.
type Rates = plan.Rates

// Phase is a stage by Name, with the Bytes and Seconds that a plan predicts, or a run took beside what was Predicted.
type Phase = plan.Stage

// Change is a strategy that was Planned, or asked for, and turned out not to be possible: Why, and which one Ran.
type Change = engine.Change

// Report tells what a sort or a merge did. Its fields are stable, but for those of Detail.
type Report struct {
	Records        int64    `json:"records"`       // read
	RecordsOut     int64    `json:"records_out"`   // written
	BytesRead      int64    `json:"bytes_read"`    // record bytes from the inputs, decompressed
	BytesWritten   int64    `json:"bytes_written"` // record bytes to the output, before compression
	BytesSpilled   int64    `json:"bytes_spilled"` // bytes written to temporary files
	Seconds        float64  `json:"seconds"`
	Device         string   `json:"device"`
	Strategy       Strategy `json:"strategy"`                  // that ran
	FallbackReason string   `json:"fallback_reason,omitempty"` // why the CPU sorted where a GPU had been chosen
	Verified       bool     `json:"verified"`
	ChecksumIn     string   `json:"checksum_in,omitempty"`  // with Options.Verify, of the records that were read
	ChecksumOut    string   `json:"checksum_out,omitempty"` // and of those of the output
	Summary        *Summary `json:"summary,omitempty"`      // and what else is to be known of these

	Detail Detail `json:"-"`
}

// Detail tells how a run went. It is not stable: any version may have other fields, or other values in them.
type Detail struct {
	BytesKept   int64     `json:"bytes_kept"`        // of those read, what a checkpoint had of a run that was interrupted
	SpillCodec  string    `json:"spill_codec"`       // compression of spill, where it is less so; "": nothing was spilled
	MemoryLimit int64     `json:"memory_limit"`      // bytes
	PeakMemory  int64     `json:"peak_memory"`       // bytes of anonymous memory, with Options.MeasureMemory; 0: not known
	Algorithm   string    `json:"algorithm"`         // of the device
	Chunks      int       `json:"chunks"`            // chunks or parts that were sorted
	FanIn       int       `json:"fan_in"`            // runs of the last merge; 0: none
	MergeLevels int       `json:"merge_levels"`      // 0: no merge
	Limiting    string    `json:"limiting"`          // the phase that took the longest
	Changes     []Change  `json:"changes,omitempty"` // of the strategy
	Phases      []Phase   `json:"phases"`
	Plan        *SortPlan `json:"plan,omitempty"`      // what was predicted
	Corrected   float64   `json:"corrected,omitempty"` // Plan.Seconds, by what the first phase took
}

// Summary is what is to be known of sorted records so that they can be one part of a whole.
type Summary = format.Summary

// CheckReport tells what Check saw. Summaries of the parts of a file add up. The whole is sorted if all parts are, and
// each precedes the next.
type CheckReport struct {
	Summary
	Sorted bool `json:"sorted"`

	// Of the first record that is out of order, as in DisorderError.
	Record int64  `json:"record,omitempty"`
	Byte   int64  `json:"byte,omitempty"`
	Key    string `json:"key,omitempty"`
	After  string `json:"after,omitempty"`
}

// report tells what the run as a whole was, once the session is closed.
func (s *session) report() *Report {
	run, result := s.run, &s.run.Result
	phases, limiting, corrected := engine.Beside(run.Meter.Stages, result.Stages, run.Plan.Seconds)
	r := &Report{
		Records: run.Input.Records(), BytesSpilled: result.BytesSpilled, Seconds: time.Since(s.start).Seconds(),
		Device: run.Plan.Device, Strategy: result.Strategy, Verified: result.Verified, ChecksumIn: result.ChecksumIn,
		ChecksumOut: result.ChecksumOut, Summary: result.Summary,
		Detail: Detail{
			BytesKept: result.BytesKept, SpillCodec: result.SpillCodec, MemoryLimit: s.opt.MemoryBytes, PeakMemory: s.peak,
			Algorithm: strings.Join(result.Algorithms, ", "), Chunks: result.Chunks, FanIn: result.FanIn,
			MergeLevels: result.MergeLevels, Changes: result.Changes, Plan: run.Plan,
			Phases: phases, Limiting: limiting, Corrected: corrected,
		},
	}
	r.BytesRead = r.Records * int64(run.Input.Header.Layout().RecordSize)
	if run.Output != nil {
		r.RecordsOut = run.Output.Records()
		r.BytesWritten = r.RecordsOut * int64(run.Output.Size)
	}
	return r
}

// Progress is told how a run goes. Begin and End are called by one goroutine at a time; Add from many. One that has the
// method Expect of a Tracker is told of the phases to come, too.
type Progress interface {
	Begin(phase string, totalBytes int64) // totalBytes < 0: not known
	Add(bytes int64)
	End()
}

// Snapshot says how far a run is. Each phase processes about all bytes of the input, so that the bytes of all phases
// are a multiple of those.
type Snapshot struct {
	Phase        string // the running phase; "" before the first
	PhaseIndex   int    // its number, from 1
	Phases       int    // the number of phases, as planned
	PhaseDone    int64  // bytes of the running phase
	PhaseTotal   int64  // its size in bytes; -1: not known
	PhaseElapsed time.Duration
	Done         int64 // bytes of all phases so far
	Total        int64 // bytes of all phases; -1: not known
	Elapsed      time.Duration
	Remaining    time.Duration // at the rate so far, to the second; -1: not known
}

// Tracker is a Progress that can be asked at any time how far the run is. The zero value is ready for one run.
type Tracker struct{ engine engine.Tracker }

// Snapshot is how far the run is.
func (t *Tracker) Snapshot() Snapshot { return Snapshot(t.engine.Snapshot()) }

// Expect is told of the phases to come.
func (t *Tracker) Expect(phases []Phase) { t.engine.Expect(phases) }

// Begin implements Progress.
func (t *Tracker) Begin(phase string, totalBytes int64) { t.engine.Begin(phase, totalBytes) }

// Add implements Progress.
func (t *Tracker) Add(bytes int64) { t.engine.Add(bytes) }

// End implements Progress.
func (t *Tracker) End() { t.engine.End() }
