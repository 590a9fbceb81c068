package plan

import (
	"slices"

	"github.com/extsort/extsort/format"
)

// Facts is what is known before a sort begins: of the data, of what is asked for, of where the output and the spill
// go, and of the devices. Whoever gathers them does not change them afterwards.
type Facts struct {
	Keyer            *format.Keyer // layout of a record, and the order of the keys
	Records          int64         // in the inputs; -1: not known before their end
	Seekable         bool          // every input is a regular file: it can be read at any place, and again
	Remote           bool          // an input is read over a network, and so only once
	InPlace          bool          // the output is written over an input: see Properties.ReadsAllFirst
	Decoders         []int64       // memory of the decompressor of each input
	ConcurrentInputs bool          // inputs are read at the same time, not one after another
	ReadRate         float64       // bytes/s that a trial read from places all over the input; 0: there was none
	FromDisk         bool          // what that read first, here and there, came slower than from the page cache
	Disk             Disk          // of the first input
	Sample           Sample

	Request    Request
	Output     Output
	Spill      Spill
	Checkpoint *Checkpoint // nil: none was asked for
	Memory     int64       // bytes of the machine or its cgroup; 0: not asked, since nothing depends on it
	Devices    []Device

	unused     int64 // bytes of the memory limit that a plan leaves alone
	spillIndex int64 // bytes that the index of the chosen strategy needs; 0: not known yet
}

// Request is what the user asks for, with the defaults filled in.
type Request struct {
	Strategy    Strategy
	Unique      bool  // fewer records are written than read: one for all with equal keys, at most
	ExtraBytes  int   // bytes that are written beside each record; negative: a part of it is written
	Transformed bool  // what is sorted is made of the records as they are read
	ReadSize    int   // bytes of a record as it is read; differs from that of the Keyer if the records are Transformed
	Limit       int64 // 0: all records; negative: none
	MemoryBytes int64 // the memory limit of the run
	Workers     int
	BatchSize   int    // most runs that are merged at once; 0: what memory allows
	SpillCodec  string // one of SpillCodecNames
	Algorithm   string
	DigitBits   int // that a pass sorts by; 0: the device's choice

	ChunkRecords int64 // most records of a chunk; 0: what memory allows. Tests sort little data as much by it
	BlockBytes   int   // size of blocks; 0: what suits the memory
}

// Output is where the sorted records go.
type Output struct {
	File   bool // a regular file that nobody reads before it is complete; else a stream, which may end in an input
	Set    bool // several files: a record has its place when those before it have theirs
	OnDisk bool
	Disk   Disk
	Remote bool // an object of a store, which is sent in parts
	Codec  format.Compression
}

// Spill is where runs and parts go that do not fit memory.
type Spill struct {
	Dirs   []string
	OnDisk bool
	Free   int64 // bytes that there is room for; -1: not known
	Output int64 // bytes of the output, for which the same file systems have room besides
	Disk   Disk  // of the first folder
}

// lacks reports whether there is too little room for so many bytes.
func (s *Spill) lacks(bytes int64) bool { return s.Free >= 0 && bytes > s.Free }

// Disk is the rates of a disk, in bytes/s, of as many requests as a sort has in flight; 0: not measured.
type Disk struct {
	ID     string  `json:"-"`           // tells it from others; "": not known
	Folder string  `json:"folder"`      // by which it was measured
	Fetch  float64 `json:"fetch_bytes"` // read by many requests at a time
	Write  float64 `json:"write_bytes"` // until it is durable
	Mixed  float64 `json:"mixed_bytes"` // each way, where as much is read as is written at the same time
}

// Is reports whether both are the same, as far as that is known.
func (d *Disk) Is(o *Disk) bool { return d.ID != "" && d.ID == o.ID }

// Checkpoint is what is finished of a sort that can be gone on with.
type Checkpoint struct {
	Folder      string `json:"folder"`
	RawFolder   []byte `json:"folder_base64,omitempty"` // the same, where it is not UTF-8
	Runs        int    `json:"runs"`                    // that are finished
	Records     int64  `json:"records"`                 // of the input that they are made of
	StoredBytes int64  `json:"stored_bytes"`            // that they take
	Written     int64  `json:"written"`                 // records of the output, by the last merge
	Complete    bool   `json:"complete"`                // the output is; only the folder is to be removed
}

// begun reports whether there is a run to go on from.
func (c *Checkpoint) begun() bool { return c != nil && c.Runs > 0 }

// Sample is the prefixes of some keys (format.Keyer.Prefix), in the order of their positions, and how many of them are
// greater and less than the one before.
type Sample struct {
	Prefixes          []uint64
	Ascents, Descents int
	Enough            bool // enough keys that their order means something

	sorted []uint64
}

// Sorted is the prefixes in order. They may not change after that.
func (s *Sample) Sorted() []uint64 {
	if len(s.sorted) != len(s.Prefixes) {
		s.sorted = slices.Clone(s.Prefixes)
		slices.Sort(s.sorted)
	}
	return s.sorted
}

// NewSample is the sample of keys that have these prefixes.
func NewSample(prefixes []uint64) Sample {
	s := Sample{Prefixes: prefixes}
	for i, key := range prefixes {
		switch before := prefixes[max(i-1, 0)]; {
		case key > before:
			s.Ascents++
		case key < before:
			s.Descents++
		}
	}
	return s
}

// Of large records a sample has fewer: no more than maxSampleBytes hold, but minSample at least.
const (
	maxSampleBytes = 32 << 20
	minSample      = 1 << 10
)

// SampleLimit is how many records of a size a sample has that may have n.
func SampleLimit(n, size int) int { return min(n, max(maxSampleBytes/size, minSample)) }

// Device is a device that can sort chunks.
type Device struct {
	Name      string
	Host      bool    // the host's processors, in the host's memory
	GPU       bool    // a processor of its own behind a link, with its own memory
	Memory    int64   // bytes of its own
	Unified   bool    // but they are the host's, so that its chunks count against the memory limit
	LinkBytes float64 // bytes/s between host and device, each way; 0: not known
	SortBytes float64 // bytes/s of keys; 0: not known

	WholeRecords  bool    // sorts records whole: none is gathered afterwards
	Histogram     bool    // counts keys and makes the records anew: their number takes no memory
	Selects       bool    // can take the records of a key range, for multi-pass sorting
	SelectSeconds float64 // for each record that it leaves out

	// Capacity is how many records a chunk can have. StoredBlock is the size of the blocks in which a chunk of so
	// many records is stored. Both are arithmetic.
	Capacity    func(Chunk) int64
	StoredBlock func(c Chunk, records int64) int
}

// Chunk is what the capacity of a chunk depends on.
type Chunk struct {
	MemoryBytes   int64 // of the host
	BlockBytes    int
	Workers       int
	SourceRecords int64 // records of which the chunk takes a part, see device.Chunk's Select; 0: no more than fit
}

// onHost reports whether the host's processors sort, and nothing else.
func (f *Facts) onHost() bool { return len(f.Devices) == 1 && f.Devices[0].Host }

// unified reports whether a device's memory is the host's, so that its chunks count against the memory limit.
func (f *Facts) unified() bool {
	return slices.ContainsFunc(f.Devices, func(d Device) bool { return d.Unified })
}

func (f *Facts) onGPUs() bool {
	return len(f.Devices) > 0 && !slices.ContainsFunc(f.Devices, func(d Device) bool { return !d.GPU })
}

func (f *Facts) recordSize() int { return f.Keyer.Layout().RecordSize }

// bytes is the size of the data; 0: not known.
func (f *Facts) bytes() int64 { return max(f.Records, 0) * int64(f.recordSize()) }

// First is how many of the first records of a sorted chunk are needed at most; -1: all.
func (f *Facts) First() int64 {
	if f.Request.Limit > 0 && !f.Request.Unique {
		return f.Request.Limit
	}
	return -1
}

// OutputRecords is the number of records that the output will have; -1: not known before the end.
func (f *Facts) OutputRecords() int64 {
	switch {
	case f.Request.Limit < 0:
		return 0
	case f.Records < 0 || f.Request.Unique:
		return -1
	case f.Request.Limit > 0:
		return min(f.Records, f.Request.Limit)
	}
	return f.Records
}

// OutputBytes is the most bytes of records that are written, before compression; -1: not known before the end.
func (f *Facts) OutputBytes() int64 {
	records := f.Records
	if f.Request.Limit != 0 && records >= 0 {
		records = min(records, max(f.Request.Limit, 0))
	}
	if records < 0 {
		return -1
	}
	return records * int64(f.recordSize()+f.Request.ExtraBytes)
}

// Ordered reports whether the data look as if they were in order.
func (f *Facts) Ordered() bool { return f.Seekable && f.Sample.Enough && f.Sample.Descents == 0 }

// Mirrored reports whether the data look as if they were in reverse order, and can be copied from their end.
func (f *Facts) Mirrored() bool {
	all := f.Request.Limit == 0 && !f.Request.Unique
	placed := f.Output.File && !f.Output.Set && f.Output.Codec == format.None
	isMirrored := f.Sample.Enough && f.Sample.Ascents == 0 && !f.Ordered()
	return f.Seekable && isMirrored && all && placed
}

// Reversed reports whether hardly a key is greater than the one before, so that runs do not overlap.
func (f *Facts) Reversed() bool {
	s := f.Sample
	return s.Enough && s.Descents > 0 && s.Ascents <= len(s.Prefixes)/100+1
}

// ReservedBytes is the room that the output takes before anything is spilled; 0: not known, or as in memory none.
func (f *Facts) ReservedBytes() int64 {
	if !f.Output.OnDisk || f.Output.Codec != format.None || f.OutputRecords() < 0 {
		return 0
	}
	return f.OutputBytes()
}
