package plan

import (
	"slices"

	"github.com/extsort/extsort/format"
)

// Facts are everything that is known before a sort begins: the data, the request, the destinations
// of the output and of temporary data, and the devices. They are complete before a plan is chosen
// and do not change afterwards.
type Facts struct {
	Keyer            *format.Keyer // layout of a record, and the order of the keys
	Records          int64         // number of input records; -1: not known before the end
	Seekable         bool          // every input is a regular file, readable at any offset
	Remote           bool          // an input is read over a network, and only once
	InPlace          bool          // the output overwrites an input: see Properties.ReadsAllFirst
	Decoders         []int64       // memory of the decompressor of each input
	ConcurrentInputs bool          // inputs are read at the same time, not one after another
	ReadRate         float64       // bytes/s of a trial read at random offsets; 0: not tried
	FromDisk         bool          // the trial read began slower than the page cache
	Disk             Disk          // of the first input
	Sample           Sample

	Request    Request
	Output     Output
	Spill      Spill
	Checkpoint *Checkpoint // nil: none was requested
	Memory     int64       // bytes of the machine or its cgroup; 0: not needed and not determined
	Devices    []Device
}

// A Request contains the options of the user, with the defaults filled in.
type Request struct {
	Strategy Strategy
	Unique   bool // at most one record is written for each key
	// CombinesRuns is set if a merge combines equal keys in each run.
	CombinesRuns bool
	// TallyBytes is the memory for each distinct key in hash tables; 0: the records cannot be counted
	// or combined in tables.
	TallyBytes  int
	Selects     bool  // a set operation may write fewer records than it reads
	ExtraBytes  int   // bytes written in addition to each record; negative: only a part is written
	Transforms  int   // how many times the records of the input are transformed while they are read
	ReadSize    int   // bytes of an input record; differs from the Keyer's size if there are Transforms
	Limit       int64 // 0: all records; negative: none
	MemoryBytes int64 // the memory limit of the run
	Workers     int
	BatchSize   int    // maximum number of runs merged at once; 0: limited only by memory
	SpillCodec  string // one of SpillCodecNames
	Algorithm   string
	DigitBits   int // bits per pass; 0: the device chooses

	ChunkRecords int64 // maximum number of records in a chunk, for tests; 0: limited only by memory
	BlockBytes   int   // size of blocks; 0: derived from the memory limit
}

// Output describes where the sorted records go.
type Output struct {
	File   bool // a regular file that appears when it is complete; not a stream or an input
	Set    bool // several files: a record has no position until all before it are written
	OnDisk bool
	Disk   Disk
	Remote bool // an object of a store, which is sent in parts
	Codec  format.Compression
}

// Spill describes where temporary data goes.
type Spill struct {
	Dirs   []string
	OnDisk bool
	Free   int64 // free bytes, without those for the output; -1: not known
	Output int64 // bytes that are set aside on the same file systems for the output
	Disk   Disk  // of the first directory
}

// lacks reports whether there is too little room for a number of bytes.
func (s *Spill) lacks(bytes int64) bool { return s.Free >= 0 && bytes > s.Free }

// A Disk contains the rates of a disk in bytes/s, with as many concurrent requests as a sort makes;
// 0: not measured.
type Disk struct {
	ID     string  `json:"-"`           // distinguishes disks; "": not known
	Folder string  `json:"folder"`      // the directory in which it was measured
	Fetch  float64 `json:"fetch_bytes"` // reading
	Write  float64 `json:"write_bytes"` // writing, until the data is durable
	Mixed  float64 `json:"mixed_bytes"` // rate of each when reading and writing at once
}

// Is reports whether both are known to be the same disk.
func (d *Disk) Is(o *Disk) bool { return d.ID != "" && d.ID == o.ID }

// A Checkpoint describes the progress of an earlier run of the same sort.
type Checkpoint struct {
	Folder      string `json:"folder"`
	RawFolder   []byte `json:"folder_base64,omitempty"` // the same, if it is not UTF-8
	Runs        int    `json:"runs"`                    // number of finished runs
	Records     int64  `json:"records"`                 // records of the input in these runs
	StoredBytes int64  `json:"stored_bytes"`            // their size on disk
	Written     int64  `json:"written"`                 // output records of the last merge
	Complete    bool   `json:"complete"`                // only the directory is left to remove
}

// begun reports whether there are runs to continue with.
func (c *Checkpoint) begun() bool { return c != nil && c.Runs > 0 }

// A Sample contains the prefixes of some keys (format.Keyer.Prefix) in the order of their
// positions. Ascents counts the keys that are greater than the key before them, and Descents the
// keys that are less.
type Sample struct {
	Prefixes          []uint64
	Ascents, Descents int
	Enough            bool // there are enough keys to judge their order
}

// Sorted returns a sorted copy of the prefixes.
func (s *Sample) Sorted() []uint64 {
	sorted := slices.Clone(s.Prefixes)
	slices.Sort(sorted)
	return sorted
}

// NewSample returns the sample of keys with these prefixes.
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

// A sample has at most maxSampleBytes of records, but at least minSample records.
const (
	maxSampleBytes = 32 << 20
	minSample      = 1 << 10
)

// SampleLimit returns how many of n keys a sample may have, given the size of a record.
func SampleLimit(n, size int) int { return min(n, max(maxSampleBytes/size, minSample)) }

// A Device is a device that can sort chunks.
type Device struct {
	Name      string
	Host      bool    // the host's processors, in the host's memory
	GPU       bool    // a processor behind a link, with its own memory
	Memory    int64   // bytes of its own memory
	Unified   bool    // this memory is the host's, so chunks count towards the memory limit
	LinkBytes float64 // bytes/s between host and device, each way; 0: not known
	SortBytes float64 // bytes/s of keys; 0: not known

	WholeRecords  bool    // sorts whole records, so that none are gathered afterwards
	Histogram     bool    // counts keys and writes them out again, in constant memory
	Selects       bool    // can take only the records of a key range, for multi-pass sorting
	SelectSeconds float64 // seconds for each record that it leaves out

	// Capacity returns the number of records that a chunk can hold. StoredBlock returns the size of
	// the blocks in which a chunk with the given number of records is stored. Neither has side
	// effects.
	Capacity    func(Chunk) int64
	StoredBlock func(c Chunk, records int64) int
}

// A Chunk contains the values that the capacity of a chunk depends on.
type Chunk struct {
	MemoryBytes   int64 // of the host
	BlockBytes    int
	Workers       int
	SourceRecords int64 // records to select from (see device.Chunk.Select); 0: takes all
}

// onHost reports whether only the host's processors sort.
func (f *Facts) onHost() bool { return len(f.Devices) == 1 && f.Devices[0].Host }

// unified reports whether a device uses the memory of the host.
func (f *Facts) unified() bool {
	return slices.ContainsFunc(f.Devices, func(d Device) bool { return d.Unified })
}

// onGPUs reports whether all devices are GPUs.
func (f *Facts) onGPUs() bool {
	return len(f.Devices) > 0 && !slices.ContainsFunc(f.Devices, func(d Device) bool { return !d.GPU })
}

func (f *Facts) recordSize() int { return f.Keyer.Layout().RecordSize }

// bytes returns the size of the data, or 0 if it is not known.
func (f *Facts) bytes() int64 { return max(f.Records, 0) * int64(f.recordSize()) }

// First returns how many records from the start of a sorted chunk are needed at most, or -1 if all
// may be needed.
func (f *Facts) First() int64 {
	if f.Request.Limit > 0 && !f.Request.Unique {
		return f.Request.Limit
	}
	return -1
}

// OutputRecords returns the number of records in the output, or -1 if it is not known before the
// end.
func (f *Facts) OutputRecords() int64 {
	switch {
	case f.Request.Limit < 0:
		return 0
	case f.Records < 0 || f.Request.Unique || f.Request.Selects:
		return -1
	case f.Request.Limit > 0:
		return min(f.Records, f.Request.Limit)
	}
	return f.Records
}

// outputBytes returns the maximum size of the output records, uncompressed, or -1 if it is not
// known before the end.
func (f *Facts) outputBytes() int64 {
	records := f.Records
	if f.Request.Limit != 0 && records >= 0 {
		records = min(records, max(f.Request.Limit, 0))
	}
	if records < 0 {
		return -1
	}
	return records * int64(f.recordSize()+f.Request.ExtraBytes)
}

// ordered reports whether the sample is in order.
func (f *Facts) ordered() bool { return f.Seekable && f.Sample.Enough && f.Sample.Descents == 0 }

// Mirrored reports whether the sample is in reverse order, and the data can be copied from their
// end.
func (f *Facts) Mirrored() bool {
	all := f.Request.Limit == 0 && !f.Request.Unique
	placed := f.Output.File && !f.Output.Set && f.Output.Codec == format.None
	isMirrored := f.Sample.Enough && f.Sample.Ascents == 0 && !f.ordered()
	return f.Seekable && isMirrored && all && placed
}

// Reversed reports whether hardly any key is greater than the one before, so that runs do not
// overlap.
func (f *Facts) Reversed() bool {
	s := f.Sample
	return s.Enough && s.Descents > 0 && s.Ascents <= len(s.Prefixes)/100+1
}

// ReservedBytes returns the disk space that is reserved for the output before anything is spilled.
// It is 0 if the size is not known, or if the output is not on a disk.
func (f *Facts) ReservedBytes() int64 {
	if !f.Output.OnDisk || f.Output.Codec != format.None || f.OutputRecords() < 0 {
		return 0
	}
	return f.outputBytes()
}
