package plan

import (
	"cmp"
	"errors"
	"math"
)

// Spread gives each of several devices a share of the records, and merges the sorted shares from
// their memories.
const Spread Strategy = "spread"

// spreading is the row of Spread.
var spreading = Properties{
	Name:          Spread,
	Way:           "share the records among several devices, then merge them",
	stages:        []stageText{readStage, writeStage},
	Requestable:   true,
	ManyDevices:   true,
	ReadsAllFirst: true,
	weigh:         (*chooser).spread,
	canForce:      func(*chooser, *Candidate) bool { return true },
	refuse: func(c *chooser) error {
		if _, fit := c.shares(); !fit {
			return errSpread
		}
		return nil
	},
}

// A Share is the part of the data that one of several devices sorts.
type Share struct {
	Device  int   // index in Facts.Devices
	Records int64 // shares are consecutive
	Chunk
}

const (
	// maxShareBlock is the maximum size of a block: that of a staging slot of a device, so that
	// each block is copied in one piece. maxShareRecords is the maximum number of records in a
	// block, because each key takes 8 bytes during the merge.
	maxShareBlock   = 4 << 20
	maxShareRecords = 1 << 19
	minShareBlocks  = 16 // least number of blocks in the host memory of a chunk
)

var errSpread = errors.New("strategy spread: needs several devices that together hold all data, and files as input")

// spread returns the candidate that sorts on all devices at once. It is possible if the data fits
// in the combined memory of the devices, but not in that of one device. Each device sorts a
// consecutive share of the input. So each device loads at the rate of its own link, and its amount
// of work does not depend on the keys. The sorted shares are merged on their way to the output;
// nothing is spilled.
func (c *chooser) spread() Candidate {
	shares, fit := c.shares()
	a := Candidate{Shares: shares, Chunks: len(shares), Levels: 1}
	switch {
	case !fit:
		a.Why = "needs several devices that together hold all data"
	case !c.f.onGPUs():
		a.Why = "the devices are not GPUs"
	case c.f.Records <= c.capacity:
		a.Why = "one device holds all data"
	default:
		a.Possible, a.Why = true, "each device sorts a share; the shares are merged into the output"
	}
	n := c.known()
	merging := n * (math.Log2(float64(max(a.Chunks, 2))) + c.eq.follow)
	a.Stages = []Stage{
		c.stage(StageRead, work{reads: n, sorts: n / 2, fixed: c.profile.start(c.f)}),
		c.stage(StageWrite, work{sorts: n / 2, merges: merging, writes: c.written()}),
	}
	return c.withDiskTime(a, c.written(), 0)
}

// shares divides the data among the devices in proportion to their capacity. fit is false if they
// cannot hold all of it.
func (c *chooser) shares() (all []Share, fit bool) {
	if len(c.f.Devices) < 2 || c.f.Records < 0 || !c.f.Seekable {
		return nil, false
	}
	s := Share{Chunk: c.share()}
	var limits []int64
	room := 0.0
	for _, d := range c.f.Devices {
		n := d.Capacity(s.Chunk)
		if c.f.Request.ChunkRecords > 0 {
			n = min(n, c.f.Request.ChunkRecords)
		}
		limits, room = append(limits, n), room+float64(n)
	}
	left := c.f.Records
	for i, limit := range limits {
		s.Device, s.Records = i, min(limit, left, int64(float64(left)*(float64(limit)/max(room, 1)))+1)
		if left, room = left-s.Records, room-float64(limit); s.Records > 0 {
			all = append(all, s)
		}
	}
	return all, left == 0
}

func (c *chooser) share() Chunk {
	size, devices := c.f.recordSize(), len(c.f.Devices)
	memory := c.sizes.Budget.Chunks() / int64(2*devices)
	block := min(maxShareBlock, memory/minShareBlocks, int64(maxShareRecords*size))
	block = cmp.Or(int64(c.f.Request.BlockBytes), block)
	return Chunk{memory, int(max(block/int64(size), 1)) * size, max(1, c.sizes.Workers/devices), 0}
}
