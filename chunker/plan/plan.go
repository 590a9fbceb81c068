// Package plan decides how to sort. It turns facts and a profile of the machine into a plan. It is
// pure: it opens no file and measures nothing, so the same facts always give the same plan.
//
// Only the root package of this module is stable: this package may change in any version.
//
//	Facts ─┬─▶ Divide ──▶ Sizes (Budget, blocks, workers) ─┐
//	       └─▶ candidates: amounts of work ◀───────────────┘
//	Profile ─▶ prices ─▶ cost of each candidate ─▶ Plan: the candidates in the order in which to try them
//
// Some conditions are known only during a run, such as the length of a stream. For each of them, a
// candidate has a Transition, which says what happens then. The engine makes no decisions of its
// own.
package plan

// A Plan describes how a sort runs, and its expected cost.
type Plan struct {
	Records      int64    `json:"records"`     // -1: not known before the end of the input
	RecordSize   int      `json:"record_size"` // bytes
	KeySize      int      `json:"key_size"`    // bytes of a normalized key
	Layout       string   `json:"layout"`
	MemoryLimit  int64    `json:"memory_limit"`            // bytes
	UnusedMemory int64    `json:"unused_memory,omitempty"` // bytes that stay untouched to save time
	Device       string   `json:"device"`
	Unified      bool     `json:"unified_memory,omitempty"` // a device uses host memory
	Algorithm    string   `json:"algorithm"`
	Workers      int      `json:"workers"`
	Strategy     Strategy `json:"strategy"`
	ChunkRecords int64    `json:"chunk_records"`        // maximum records in a chunk
	Chunks       int      `json:"chunks"`               // number of chunks or parts; 0: not known
	FanIn        int      `json:"fan_in"`               // maximum runs merged at once
	MergeLevels  int      `json:"merge_levels"`         // 0: no merge
	BlockBytes   int      `json:"block_bytes"`          // block size of temporary data and output
	DigitBits    int      `json:"digit_bits,omitempty"` // bits per pass; 0: the device chooses
	TempBytes    int64    `json:"temp_bytes"`           // size of the temporary data; -1: not known
	StoredBytes  int64    `json:"stored_bytes"`         // its compressed size; 0: not compressed
	KeptBytes    int64    `json:"kept_bytes"`           // size of the last chunk, if kept in memory
	OutputBytes  int64    `json:"output_bytes"`         // maximum, uncompressed; -1: not known
	TempDirs     []string `json:"temp_dirs"`
	RawTempDirs  [][]byte `json:"temp_dirs_base64,omitempty"` // the same, if one is not UTF-8

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // finished work; nil: none was requested

	Seconds float64 `json:"seconds"` // predicted for all stages; 0: not known

	Rates      Rates       `json:"rates"` // of this machine
	Stages     []Stage     `json:"stages"`
	Budget     Budget      `json:"budget"`
	Considered []Candidate `json:"considered"` // all strategies, in the order of trial

	Sizes Sizes `json:"-"`
}

// A Stage is one stage of a run. In a plan Seconds is a prediction. In a report Seconds is
// measured, Predicted is the prediction, and Corrected is the prediction multiplied by the error of
// the earlier stages.
type Stage struct {
	Name      string  `json:"name"`
	Bytes     int64   `json:"bytes"` // record bytes that the stage processes
	Seconds   float64 `json:"seconds"`
	Predicted float64 `json:"predicted,omitempty"`
	Corrected float64 `json:"corrected,omitempty"`
}

// A Candidate is a strategy with its cost and with everything that the engine needs to run it.
type Candidate struct {
	Strategy    Strategy     `json:"strategy"`
	Possible    bool         `json:"possible"`
	Seconds     float64      `json:"seconds"` // predicted
	Why         string       `json:"why"`     // for instance: "does not fit in one chunk"
	Transitions []Transition `json:"transitions,omitempty"`

	ChunkRecords  int64   `json:"-"` // maximum number of records in a chunk
	InFlight      int     `json:"-"` // number of chunks that share the chunk memory; 0: only one
	Chunks        int     `json:"-"` // number of chunks, parts or passes
	Levels        int     `json:"-"` // number of merge levels
	ScatterPasses int     `json:"-"` // number of passes that send records to parts
	PassShare     float64 `json:"-"` // fraction of records that the first pass of a Reread selects
	MaxPassShare  float64 `json:"-"` // largest fraction that a pass may select
	WantedRecords int64   `json:"-"` // estimated number of first records to write; -1: all
	SelectedShare float64 `json:"-"` // fraction of records that a Merge of the first ones selects; 0: all
	SelectedHigh  uint64  `json:"-"` // greatest prefix of these records
	TempBytes     int64   `json:"-"` // size of the records that are spilled; -1: not known
	RoomBytes     int64   `json:"-"` // their maximum disk space, in whole pages; -1: not known
	StoredBytes   int64   `json:"-"` // their size after compression; 0: they are not compressed
	KeptBytes     int64   `json:"-"` // size of the last chunk, if it is kept in memory
	KeptRecords   int64   `json:"-"` // records in a chunk if the last one stays in memory; else 0
	Stages        []Stage `json:"-"`
	Shares        []Share `json:"-"` // the share of each device
	BlockRecords  int     `json:"-"` // number of records whose order is checked together

	fetchedRecords float64 // records read back from temporary data: see runRecords.stored
	indexBytes     int64   // memory for the index of all spilled blocks; 0: the budget has enough
}

// Impossible is the error of a strategy that cannot sort this input. No record is lost: the Restart
// transition of its candidate names the candidate to try next.
type Impossible struct{ Why string }

func (i *Impossible) Error() string { return i.Why }
