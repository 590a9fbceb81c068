package extsort

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
)

// diskCosts is what the planner knows of the disk, which it does not measure: a trial would have to write more than the system
// keeps in memory. The zero value is a disk that nobody waits for.
type diskCosts struct {
	holds   float64 // bytes that the system keeps in memory, written and not yet on the disk, before writers wait
	spills  bool    // spill goes to a disk
	outputs bool    // the output does

	free int64 // bytes for spill; 0: not known

	packed  bool    // sorted runs are packed
	keeps   float64 // of the bytes of a run that is packed
	columns float64 // numbers of a record that are packed one by one
}

const (
	// heldShare is the part of the memory that may be written and not yet on the disk before writers wait: Linux slows them down half
	// way between a tenth and a fifth. 16 GiB of u64 in 512 MiB, on a machine of 125 GiB, took 13.4 to 17.5 s by a merge (14.9 with
	// this, 5.4 without it), 10.2 to 11.5 by one that spilled 10 GiB (10.7), 13.9 to 15.8 by partition (15.9).
	heldShare = 0.15

	// packSeconds is what one number takes to be packed or unpacked.
	packSeconds = 1e-9

	// worthPacking is the most that packing may leave for the planner to count on it: blocks are tried first when they are there.
	worthPacking = 0.95
)

func (j *job) diskCosts() diskCosts {
	var d diskCosts
	if d.holds = heldShare * float64(systemMemory()); d.holds > 0 {
		d.spills = slices.ContainsFunc(j.opt.TempDirs, isOnDisk)
		d.outputs = !j.toStdout() && isOnDisk(filepath.Dir(j.opt.Output))
	}
	if n := j.data.Records(); n > j.capacity {
		d.free = max(0, j.opt.faults.room(j.opt.TempDirs))
		j.foresee(&d, n*int64(j.size))
	}
	return d
}

// foresee tells whether runs will be packed of so many bytes of records, and what that leaves.
func (j *job) foresee(d *diskCosts, bytes int64) {
	packer := format.NewPacker(j.keyer.Layout())
	if packer == nil || len(j.sample.Prefixes) == 0 {
		return
	}
	keys := slices.Clone(j.sample.Prefixes)
	slices.Sort(keys)
	d.keeps, d.columns = packer.Keeps(keys, j.keyer.PrefixBits(), float64(j.capacity)), float64(packer.Columns())
	switch j.opt.SpillCompress {
	case "delta":
		d.packed = d.keeps < 1
	case "", "auto":
		d.packed = d.keeps < worthPacking && (!j.staysInMemory(bytes) || d.isShort(bytes))
	}
}

// isShort reports whether there is too little room for so many bytes of spill.
func (d *diskCosts) isShort(bytes int64) bool { return d.free > 0 && bytes > d.free }

// packedRoom is how much room there must be for so many bytes of packed spill: a tenth more than a sample lets expect.
func packedRoom(stored int64) int64 { return stored + stored/10 }

// leaveOut leaves out the strategies for whose spill there is no room, unless there is for none.
func (d *diskCosts) leaveOut(all []Candidate) {
	need := func(c Candidate) int64 {
		if c.stored > 0 {
			return packedRoom(c.stored)
		}
		return c.temp
	}
	if !slices.ContainsFunc(all, func(c Candidate) bool { return c.possible && !d.isShort(need(c)) }) {
		return
	}
	for i := range all {
		if c := &all[i]; c.possible && d.isShort(need(*c)) {
			c.possible, c.Why = false, fmt.Sprintf("needs %s for spill, and only %s are free", humanBytes(need(*c)), humanBytes(d.free))
		}
	}
}

// packToFit makes less of what is to be spilled, by packing all of it, if there is room for no more.
func (j *job) packToFit(opt *chunker.SpillOptions) {
	p := j.plan
	if p.StoredBytes == 0 || p.TempBytes != opt.ExpectBytes {
		return
	}
	if free := j.opt.faults.room(opt.Folders); free >= 0 && opt.ExpectBytes > free && packedRoom(p.StoredBytes) <= free {
		opt.Codec, opt.ExpectBytes = "delta", packedRoom(p.StoredBytes)
	}
}

// spillCost is writing sorted runs of w, or reading them back, and how many bytes they take.
func (p *planner) spillCost(w work) (seconds, bytes float64) {
	if !p.disk.packed {
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
	return max(0, written-p.disk.holds) / chunker.DiskBytesPerSecond
}
