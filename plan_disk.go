package extsort

import (
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
	packer := format.NewPacker(j.keyer.Layout())
	if packer == nil || len(j.sample.Prefixes) == 0 {
		return d
	}
	keys := slices.Clone(j.sample.Prefixes)
	slices.Sort(keys)
	d.keeps, d.columns = packer.Keeps(keys, j.keyer.PrefixBits(), float64(j.capacity)), float64(packer.Columns())
	switch j.opt.SpillCompress {
	case "delta":
		d.packed = d.keeps < 1
	case "", "auto":
		d.packed = d.keeps < worthPacking && !j.staysInMemory(j.data.Records()*int64(j.size))
	}
	return d
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
