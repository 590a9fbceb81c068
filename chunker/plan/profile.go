package plan

import (
	"cmp"
	"math"
)

// A Profile contains the rates of a machine, from which a plan predicts the cost of each strategy.
// Each rate is for one worker. The powers and the numbers of workers say how it grows with more
// workers. `extsort tune` writes the profile of a machine.
type Profile struct {
	Machine string `json:"machine"` // the machine, and how and when it was measured

	ReadBytes  float64 `json:"read_bytes"`  // bytes/s from the page cache
	WriteBytes float64 `json:"write_bytes"` // bytes/s to new pages of the page cache
	SpillBytes float64 `json:"spill_bytes"` // bytes/s to and from temporary files in the page cache
	CopyBytes  float64 `json:"copy_bytes"`  // bytes/s in memory
	DiskBytes  float64 `json:"disk_bytes"`  // bytes/s of a disk that was not measured, each way

	Touch   float64 `json:"touch_seconds"`   // a byte of memory that is touched for the first time
	Sort    float64 `json:"sort_seconds"`    // a key of 8 bytes, in memory
	Move    float64 `json:"move_seconds"`    // in addition for a small record that is sorted whole
	Count   float64 `json:"count_seconds"`   // a record whose key is counted and written again
	Gather  float64 `json:"gather_seconds"`  // to fetch a record at random, not counting its bytes
	Scatter float64 `json:"scatter_seconds"` // to classify a record and send it to its part
	Plain   float64 `json:"plain_seconds"`   // in addition if a record can't be moved as a word
	Merge   float64 `json:"merge_seconds"`   // a bare key of up to 8 bytes, for each level
	Refer   float64 `json:"refer_seconds"`   // the same for a key with a reference to its record
	Follow  float64 `json:"follow_seconds"`  // to make such a reference and to follow it
	Pack    float64 `json:"pack_seconds"`    // a number that is packed or unpacked

	Start    float64 `json:"start_seconds"`     // of a run
	Sync     float64 `json:"sync_seconds"`      // to make an output durable, not counting its bytes
	Block    float64 `json:"block_seconds"`     // a block that is read back, not counting its bytes
	Cut      float64 `json:"cut_seconds"`       // cutting one run at the end of a block
	Part     float64 `json:"part_seconds"`      // a part, not counting its records
	GPUStart float64 `json:"gpu_start_seconds"` // context, pinned memory, kernels, driver

	SortPower float64 `json:"sort_power"` // n workers sort n^SortPower times as fast as one
	LookPower float64 `json:"look_power"` // n workers read cached data n^LookPower times as fast
	Writers   float64 `json:"writers"`    // number of workers beyond which writing gets no faster
	Spillers  float64 `json:"spillers"`   // number of workers beyond which spilling gets no faster

	LinkBytes    float64 `json:"link_bytes"`     // bytes/s to and from an unmeasured GPU
	GPUSortBytes float64 `json:"gpu_sort_bytes"` // bytes/s of keys that such a GPU sorts
}

// DefaultProfile returns the profile of a machine that has not been measured. Other machines have
// other rates, but the fastest strategy depends on ratios of rates.
func DefaultProfile() *Profile {
	return &Profile{
		Machine:   "2-core EPYC (Zen 5), extsort tune, 2026-11",
		ReadBytes: 12e9, WriteBytes: 2.9e9, SpillBytes: 4.5e9, CopyBytes: 20e9, DiskBytes: 2e9,
		Touch: 0.7e-9, Sort: 4.6e-9, Move: 2e-9, Count: 0.4e-9, Gather: 17e-9, Scatter: 1.4e-9, Plain: 8e-9,
		Merge: 1.8e-9, Refer: 4e-9, Follow: 5e-9, Pack: 1e-9,
		Start: 1e-3, Sync: 2e-3, Block: 30e-6, Cut: 2e-6, Part: 0.5e-3, GPUStart: 0.35,
		SortPower: 0.8, LookPower: 0.65, Writers: 4, Spillers: 2,
		LinkBytes: 24e9, GPUSortBytes: 20e9,
	}
}

// Rates are the part of a profile that reports show.
type Rates struct {
	Machine            string  `json:"machine"`
	Measured           bool    `json:"measured"` // by extsort tune on this machine
	ReadBytes          float64 `json:"read_bytes_per_second"`
	WriteBytes         float64 `json:"write_bytes_per_second"`
	CopyBytes          float64 `json:"copy_bytes_per_second"`
	SortNanoseconds    float64 `json:"sort_ns_per_key"`
	GatherNanoseconds  float64 `json:"gather_ns_per_record"`
	ScatterNanoseconds float64 `json:"scatter_ns_per_record"`
	MergeNanoseconds   float64 `json:"merge_ns_per_key_and_level"`
	DiskBytes          float64 `json:"disk_bytes_per_second"`
}

// Rates returns the part of the profile that reports show.
func (p *Profile) Rates() Rates {
	return Rates{
		Machine: p.Machine, Measured: p.Machine != DefaultProfile().Machine,
		ReadBytes: p.ReadBytes, WriteBytes: p.WriteBytes, CopyBytes: p.CopyBytes, DiskBytes: p.DiskBytes,
		SortNanoseconds: 1e9 * p.Sort, GatherNanoseconds: 1e9 * p.Gather,
		ScatterNanoseconds: 1e9 * p.Scatter, MergeNanoseconds: 1e9 * p.Merge,
	}
}

// work is the amount of each kind of work in a stage of a strategy, or the price of a unit of each
// in seconds. The cost of a stage is the sum of its amounts, each times its price.
type work [kindsOfWork]float64

// The kinds of work, with their units. Other work is converted to units of one of these kinds: see
// equivalents.
const (
	reads    = iota // records read from the input
	touches         // records whose memory is touched for the first time
	sorts           // records sorted in memory
	scatters        // records sent to their parts
	merges          // records, times the levels of two-way merges
	spills          // records copied to temporary files or back, in the page cache
	blocks          // blocks read back from temporary files
	writes          // records written to the output
	waits           // bytes that the run waits for until a disk has them
	fixed           // seconds that do not depend on the number of records
	kindsOfWork
)

// equivalents convert work that has no kind of its own to units of another kind. They are
// calculated from the same rates as the prices.
type equivalents struct {
	look   float64 // in reads: reading a record that a pass may leave out
	sift   float64 // in scatters: checking the order of a record
	tally  float64 // in scatters: counting a record
	follow float64 // in merges: moving a record by reference in a merge
	cut    float64 // in blocks: cutting a run at the end of a block
	number float64 // in blocks: packing or unpacking a number

	// in waits: writing a record to temporary files on a disk, and reading it back; 0 if the files
	// stay in the page cache
	store, fetch float64
}

// cost returns the seconds that w takes at these prices.
func (w work) cost(prices work) (seconds float64) {
	for kind, amount := range w {
		seconds += amount * prices[kind]
	}
	return seconds
}

const (
	MoveCopies    = 8 // copies of a small record that is sorted whole
	ScatterCopies = 3 // copies of a record that is sent to its part

	newPages = 0.2 // fraction of the pages of an output that were not used recently
)

// price returns the price of each kind of work on this machine for these facts and a number of
// workers. It also returns the equivalents of other work.
func (p *Profile) price(f *Facts, workers int) (prices work, eq equivalents) {
	size, n := float64(f.recordSize()), float64(workers)
	scaling := math.Pow(n, p.SortPower)
	readers := n
	if !f.Seekable { // one worker keeps the order
		readers = 1
	}
	scatter := p.Scatter + ScatterCopies*size/p.CopyBytes
	plain := 0.0
	if !movesWords(int(size)) {
		plain = p.Plain
	}

	prices = work{
		reads:    p.read(f, size, n),
		touches:  p.touch(f, size, n),
		sorts:    p.sort(f, size, n),
		scatters: (scatter + plain) / readers,
		merges:   p.Merge / n,
		spills:   size / p.SpillBytes / min(n, p.Spillers),
		blocks:   p.Block / n,
		writes:   size/p.WriteBytes/min(n, p.Writers) + newPages*size*p.Touch/scaling,
		waits:    1 / p.on(f, f.Output.Disk).Write,
		fixed:    1,
	}
	eq = equivalents{
		look:   p.look(f, size, n) / prices[reads],
		sift:   siftScatters * scatter / scaling / prices[scatters],
		tally:  scatter / n / prices[scatters],
		cut:    p.Cut / p.Block,
		number: p.Pack / p.Block,
	}
	if !bare(f) {
		prices[merges] = p.Refer / n
		eq.follow = (p.Follow + size/p.CopyBytes) / p.Refer
	}
	if f.leavesCache() {
		store, fetch := p.spilling(f)
		eq.store = size * store / prices[waits]
		eq.fetch = size * fetch / prices[waits]
	}
	if f.onGPUs() {
		prices[sorts] = p.sortOnGPUs(p.gpus(f.Devices), size, prices)
	}
	return prices, eq
}

// start returns the seconds that a run takes to start.
func (p *Profile) start(f *Facts) float64 {
	if f.onGPUs() {
		return p.Start + p.GPUStart
	}
	return p.Start
}

// copies returns the seconds that all workers together take to copy a record, for instance to the
// memory of a request.
func (p *Profile) copies(f *Facts, workers int) float64 {
	return float64(f.recordSize()) / p.CopyBytes / float64(workers)
}

// bare reports whether a record is its key and fits a word, so that a merge moves it alone.
func bare(f *Facts) bool { return f.Keyer.Layout().IsBare() && f.Keyer.KeySize() <= 8 }

// touch returns the additional seconds that n workers need for a record in memory that is touched
// for the first time: the system has to provide the memory, and on a virtual machine the host has
// to, too.
func (p *Profile) touch(f *Facts, size, n float64) float64 {
	if f.onGPUs() || f.onHost() && f.Devices[0].Histogram {
		return 0
	}
	return size * p.Touch / math.Pow(n, p.SortPower)
}

// sort returns the seconds per record that n workers take to sort in memory.
func (p *Profile) sort(f *Facts, size, n float64) float64 {
	var host Device
	for _, d := range f.Devices {
		host = d
	}
	seconds := p.Sort
	switch {
	case host.Histogram:
		seconds = p.Count
	case host.WholeRecords:
		seconds += p.Move + MoveCopies*size/p.CopyBytes
	case !bare(f):
		seconds += p.Gather + size/p.CopyBytes
	}
	return seconds / math.Pow(n, p.SortPower)
}

// IsDisk reports whether a rate in bytes/s is that of a disk, not of the page cache.
func (p *Profile) IsDisk(rate float64) bool { return rate < p.ReadBytes/cachedPart }

// isCold reports whether the trial read of the input came from a disk.
func (p *Profile) isCold(f *Facts) bool {
	return f.ReadRate > 0 && (f.FromDisk || p.IsDisk(f.ReadRate))
}

// read returns the seconds to read a record. times is the factor by which all workers read the page
// cache faster than one worker does. A disk is as fast with one worker as with several.
func (p *Profile) read(f *Facts, size, times float64) float64 {
	if p.isCold(f) {
		return size / f.ReadRate
	}
	return size / p.ReadBytes / times
}

// look returns the seconds that a pass takes to read a record, which it then selects or leaves out.
func (p *Profile) look(f *Facts, size, n float64) float64 {
	seconds := p.read(f, size, math.Pow(n, p.LookPower))
	for _, d := range f.Devices {
		seconds += d.SelectSeconds / n
	}
	return seconds
}

// on returns the rates of a disk. If a disk was not measured, its reads and writes are assumed not
// to overlap. It is also assumed to be no faster than a trial read from it.
func (p *Profile) on(f *Facts, d Disk) Disk {
	most := p.DiskBytes
	if d.Is(&f.Disk) && p.isCold(f) {
		most = min(most, f.ReadRate)
	}
	d.Write = cmp.Or(d.Write, most)
	d.Fetch = cmp.Or(d.Fetch, most)
	d.Mixed = cmp.Or(d.Mixed, 1/(1/d.Fetch+1/d.Write))
	return d
}

// spilling returns the seconds that it takes to write a byte of temporary data to its disk, and to
// read it back. If the disk reads the input or writes the output at the same time, these are the
// additional seconds.
func (p *Profile) spilling(f *Facts) (store, fetch float64) {
	d := p.on(f, f.Spill.Disk)
	store, fetch = 1/d.Write, 1/d.Fetch
	if d.Is(&f.Disk) && p.isCold(f) {
		store = max(1/d.Mixed-1/d.Fetch, 0)
	}
	if d.Is(&f.Output.Disk) && f.Output.OnDisk {
		fetch = max(1/d.Mixed-1/d.Write, 0)
	}
	return store, fetch
}

// cachedPart separates the page cache from disks: data counts as cached if it is read at
// 1/cachedPart of the page cache's rate or faster.
const cachedPart = 3.6

// gpus returns the combined rates and memory of GPUs.
func (p *Profile) gpus(devices []Device) (sum Device) {
	for _, d := range devices {
		d = p.assume(d)
		sum.LinkBytes, sum.SortBytes, sum.Memory = sum.LinkBytes+d.LinkBytes, sum.SortBytes+d.SortBytes, sum.Memory+d.Memory
	}
	return sum
}

// assume returns a device in which assumed rates replace the missing ones.
func (p *Profile) assume(d Device) Device {
	d.LinkBytes, d.SortBytes = cmp.Or(d.LinkBytes, p.LinkBytes), cmp.Or(d.SortBytes, p.GPUSortBytes)
	return d
}

// sortOnGPUs returns the seconds that a record takes on GPUs. Transfers overlap with reading and
// writing, so only their additional time counts.
func (p *Profile) sortOnGPUs(gpus Device, size float64, pr work) float64 {
	link := size / gpus.LinkBytes
	return size/gpus.SortBytes + max(link-pr[reads], 0) + max(link-pr[writes], 0)
}
