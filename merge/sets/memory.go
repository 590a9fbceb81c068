package sets

import (
	"github.com/extsort/extsort/merge"
)

// maxBlockBytes limits the size of a block, so that a span fits into the cache of a core.
const maxBlockBytes = 256 << 10

// RecordsPerBlock returns the block size, in records, at which the operation uses about the given
// memory.
func (opt *Options) RecordsPerBlock(memory int64) int {
	largest := 1
	var perRecord int64
	perWorker := 0
	for _, in := range opt.Inputs {
		size := in.Keyer.Layout().RecordSize
		largest = max(largest, size)
		blocks := blocksPerInput * (size + prefixBytes)
		if opt.hasRandomAccess() {
			perWorker += size + prefixBytes
		}
		perRecord += int64(blocks + size)
		if opt.Operation == Union {
			perWorker += merge.TileBytes(in.Keyer, 1)
		}
	}
	out := largest
	if opt.Operation == Join {
		out = opt.Join.Row.Size
		largest = max(largest, out)
	}
	outputs := 1
	if opt.Operation == Compare {
		outputs = 3
	}
	const ofMarks = 3 + 2*4 // worker.ofA, ofB and more, refsA and refsB
	perWorker += outputs*outputBlocks*out + ofMarks
	perRecord += int64(max(opt.Workers, 1)*perWorker + 2*outputs*out)
	return int(max(min(memory/perRecord, int64(maxBlockBytes/largest)), 1))
}
