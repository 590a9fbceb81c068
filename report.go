package extsort

import (
	"fmt"
	"time"
)

// Report tells what a sort or a merge did.
type Report struct {
	Records        int64    `json:"records"`       // read
	RecordsOut     int64    `json:"records_out"`   // written
	BytesRead      int64    `json:"bytes_read"`    // record bytes from the inputs, decompressed
	BytesWritten   int64    `json:"bytes_written"` // record bytes to the output, before compression
	BytesSpilled   int64    `json:"bytes_spilled"` // bytes written to temporary files
	SpillCodec     string   `json:"spill_codec"`   // compression of those of them that it makes fewer; "": nothing was spilled
	MemoryLimit    int64    `json:"memory_limit"`  // bytes
	PeakMemory     int64    `json:"peak_memory"`   // bytes of anonymous memory, as the system counts it; 0: not known
	Device         string   `json:"device"`        //
	Algorithm      string   `json:"algorithm"`     //
	Strategy       Strategy `json:"strategy"`      //
	Chunks         int      `json:"chunks"`        // chunks or parts that were sorted
	FanIn          int      `json:"fan_in"`        // runs of the last merge; 0: none
	MergeLevels    int      `json:"merge_levels"`  //
	Seconds        float64  `json:"seconds"`       //
	Limiting       string   `json:"limiting"`      // the phase or resource that took the longest
	ChecksumIn     string   `json:"checksum_in,omitempty"`
	ChecksumOut    string   `json:"checksum_out,omitempty"`
	Verified       bool     `json:"verified"`
	FallbackReason string   `json:"fallback_reason,omitempty"`
	Phases         []Phase  `json:"phases"`

	Plan *SortPlan `json:"plan,omitempty"` // what was predicted
}

// Phase is one stretch of a run.
type Phase struct {
	Name    string  `json:"name"`    // read+partition, sort, spill, merge, write, fsync, verify, …
	Seconds float64 `json:"seconds"` // wall-clock
	Bytes   int64   `json:"bytes"`   // record bytes that went through
}

// CheckReport tells what Check saw.
type CheckReport struct {
	Records    int64  `json:"records"`
	Duplicates int64  `json:"duplicates"` // records whose key equals that of the record before
	Checksum   string `json:"checksum"`   // order-independent, 128 bits, hexadecimal
}

// DisorderError says where a file is not in order: Check's verdict, and Merge's complaint about an input.
type DisorderError struct {
	File   string
	Record int64 // index of the first record that is out of order, from 0
	Byte   int64 // its place in the file (decompressed)
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf("%s: record %d (byte %d) is out of order", e.File, e.Record, e.Byte)
}

func since(start time.Time) float64 { return time.Since(start).Seconds() }
