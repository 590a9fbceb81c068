package extsort

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// diskCosts is what the planner knows of the disk, whose rate it does not measure: a trial would have to write more than the system
// keeps in memory. The zero value is a disk that nobody waits for and that has room for everything.
type diskCosts struct {
	holds   float64 // bytes that the system keeps in memory, written and not yet on the disk, before writers wait
	spills  bool    // spill goes to a disk
	outputs bool    // the output does

	limited bool  // there is room for no more spill than that:
	free    int64 // bytes

	packing packing
	stays   int64   // bytes of spill that stay in memory, in all likelihood, where packing does not pay
	keeps   float64 // what packing leaves of a run, as a part of it
	columns float64 // numbers of a record that are packed one by one
}

// packing says whether sorted runs are packed.
type packing uint8

const (
	neverPacked packing = iota
	packedIfItPays
	alwaysPacked
)

const (
	// heldShare is the part of the memory that may be written and not yet on the disk before writers wait: Linux slows them down half
	// way between a tenth and a fifth. 16 GiB of u64 in 512 MiB, on a machine of 125 GiB, took 13.4 to 17.5 s by a merge (14.9 with
	// this, 5.4 without it), 10.2 to 11.5 by one that spilled 10 GiB (10.7), 13.9 to 15.8 by partition (15.9).
	heldShare = 0.15

	// waitedFrom is the least output of a sort in core, in bytes, for which it is asked what the system keeps in memory.
	waitedFrom = 64 << 20

	// packSeconds is what one number takes to be packed or unpacked.
	packSeconds = 1e-9

	// worthPacking is the most that packing may leave for the planner to count on it: blocks are tried first when they are there.
	worthPacking = 0.95
)

func (j *job) diskCosts() diskCosts {
	var d diskCosts
	if j.data.Records()*int64(j.size) < waitedFrom && j.data.Records() <= j.capacity {
		return d
	}
	if d.holds = heldShare * float64(systemMemory()); d.holds > 0 {
		d.spills = j.spillsToDisk()
		d.outputs = !j.toStdout() && isOnDisk(filepath.Dir(j.opt.Output))
	}
	if j.data.Records() <= j.capacity {
		return d // nothing will be spilled, or how much is not known
	}
	if free := j.opt.faults.store().Free(j.opt.TempDirs); free >= 0 {
		d.limited, d.free = true, free
	}
	d.stays = j.cachedSpill()
	j.foreseePacking(&d)
	return d
}

// foreseePacking tells what packing would leave of the runs.
func (j *job) foreseePacking(d *diskCosts) {
	packer := format.NewPacker(j.keyer.Layout())
	if packer == nil || len(j.sample.Prefixes) == 0 {
		return
	}
	keys := slices.Clone(j.sample.Prefixes)
	slices.Sort(keys)
	d.keeps, d.columns = packer.Keeps(keys, j.keyer.PrefixBits(), float64(j.capacity)), float64(packer.Columns())
	switch {
	case j.opt.SpillCompress == "delta" && d.keeps < 1:
		d.packing = alwaysPacked
	case plan.ChoosesCodec(j.opt.SpillCompress) && d.keeps < worthPacking:
		d.packing = packedIfItPays
	}
}

// planSpill fills in what a merge spills, in blocks of so many bytes: bytes of records, packed if that pays or if there is no room
// for them otherwise.
func (d *diskCosts) planSpill(c *Candidate, bytes int64, block int) {
	c.temp, c.room = bytes, roomFor(bytes, block)
	short := d.isShort(c.room)
	if d.packing != alwaysPacked && (d.packing == neverPacked || !short && bytes <= d.stays) {
		return
	}
	c.stored = int64(d.keeps * float64(bytes))
	packed := roomFor(c.stored, int(d.keeps*float64(block)))
	c.room, c.packAll = packed+packed/foreseenWithin, short
}

const (
	// foreseenWithin is the part by which what packing leaves may be more than a sample of the keys lets expect: as widths are whole
	// bits, it is half a bit of 9 with u32.
	foreseenWithin = 12

	// blockFill is how full the blocks of a run are at least, on average: a device stores buckets whole.
	blockFill = 5.0 / 8
)

// roomFor is how much a file system needs for bytes in blocks of at most so many bytes, each of which takes whole pages.
func roomFor(bytes int64, block int) int64 {
	return bytes + int64(float64(bytes)*plan.SpillAlign/(blockFill*float64(max(block, 1))))
}

// isShort reports whether there is less room than that.
func (d *diskCosts) isShort(room int64) bool { return d.limited && room > d.free }

// leaveOut leaves out the strategies for whose spill there is no room, unless there is for none.
func (d *diskCosts) leaveOut(all []Candidate) {
	fits := func(c Candidate) bool { return c.possible && !d.isShort(c.room) }
	if !slices.ContainsFunc(all, fits) {
		return
	}
	for i := range all {
		if c := &all[i]; c.possible && !fits(*c) {
			c.possible, c.Why = false, fmt.Sprintf("needs %s for spill, and %s are free", humanBytes(c.room), humanBytes(d.free))
		}
	}
}

// spillCost is writing what c spills of w, or reading it back, and how many bytes that are.
func (p *planner) spillCost(c *Candidate, w work) (seconds, bytes float64) {
	if c.stored == 0 {
		return w.spillCost(p.rates), w.bytes()
	}
	packing := w.records * p.disk.columns * packSeconds / w.workers
	w.size *= p.disk.keeps
	return w.spillCost(p.rates) + packing, w.bytes()
}

// waitCost is how long the disk takes for what the system does not keep in memory of the output and of so many bytes of spill.
func (p *planner) waitCost(w work, spill float64) float64 {
	written := 0.0
	if p.disk.spills {
		written += spill
	}
	if p.disk.outputs {
		written += w.bytes()
	}
	return max(0, written-p.disk.holds) / plan.DiskBytesPerSecond
}
