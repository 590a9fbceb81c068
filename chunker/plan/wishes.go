package plan

import (
	"slices"

	"github.com/extsort/extsort/format"
)

// A wish is a use of memory that gets its part of the limit before the chunks do. The budget shows
// it as a line.
type wish struct {
	name string // of the line
	why  string // the reason, as the line shows it

	// shared is the line of the budget that the wish shares with others; nil: it has one of its
	// own.
	shared *line

	// bytes returns how much memory it can use. It also chooses the sizes that follow from the
	// remaining memory.
	bytes func(d *division) int64

	// share limits the wish to 1/share of the remaining memory; 0: no limit.
	share int64

	// grant stores how much memory the wish got; nil: this is not stored.
	grant func(s *Sizes, bytes int64)
}

// A division is a memory limit that is being divided.
type division struct {
	f        *Facts
	reserved reserved
	left     int64 // memory that no wish has got yet
	sizes    Sizes
	lines    []line
}

// fulfill grants wishes in their order. Each one gets a part of the memory that the earlier ones
// left.
func (d *division) fulfill(wishes []wish) {
	for _, w := range wishes {
		bytes := w.bytes(d)
		if w.share > 0 && bytes > d.left/w.share {
			bytes = d.left / w.share
		}
		if w.grant != nil {
			w.grant(&d.sizes, bytes)
		}
		d.spend(w, bytes)
	}
}

// spend adds memory that a wish got to its line.
func (d *division) spend(w wish, bytes int64) {
	d.left -= bytes
	if bytes <= 0 {
		return
	}
	of := line{For: w.name, Why: w.why}
	if w.shared != nil {
		of = *w.shared
	}
	i := slices.IndexFunc(d.lines, func(l line) bool { return l.For == of.For })
	if i < 0 {
		i = len(d.lines)
		d.lines = append(d.lines, of)
	}
	d.lines[i].Bytes += bytes
}

// requestLine is the line for the memory of all I/O requests. Their number and size depend on the
// files that they read or write.
var requestLine = &line{
	For: "I/O requests",
	Why: "reading ahead and writing behind: remote inputs and outputs, and files past the page cache",
}

// processWishes are the wishes that come first: they depend on the limit only.
var processWishes = []wish{
	{
		name: "runtime",
		why:  "the program's data, stacks, and the Go heap with its garbage",
		bytes: func(d *division) int64 {
			return runtimeBytes + d.f.Request.MemoryBytes/runtimePart
		},
	},
	{
		name:  "driver",
		why:   "what the driver of a device in the host's memory allocates for itself",
		share: 2,
		bytes: func(d *division) int64 {
			if !d.f.unified() {
				return 0
			}
			return driverBytes
		},
	},
	{
		name:  "unused: touching it takes longer than it saves",
		why:   "the plan is faster with less memory",
		bytes: func(d *division) int64 { return d.reserved.unused },
		grant: func(s *Sizes, bytes int64) { s.UnusedBytes = bytes },
	},
}

// streamWishes are the wishes of inputs and outputs. They depend on the number of workers.
var streamWishes = []wish{
	{
		name:   "parts of a remote output",
		why:    "a store takes parts of a minimum size, and one is filled while another is sent",
		shared: requestLine,
		bytes: func(d *division) int64 {
			d.sizes.PartBytes, d.sizes.Parts = d.f.uploadParts(d.left)
			return int64(d.sizes.Parts) * int64(d.sizes.PartBytes)
		},
	},
	{
		name:   "requests for remote inputs",
		why:    "a network is busy only with many requests at the same time",
		shared: requestLine,
		share:  requestShare,
		bytes: func(d *division) int64 {
			if !d.f.Remote {
				return 0
			}
			return RemoteRequests * RemoteRequestBytes
		},
		grant: func(s *Sizes, bytes int64) { s.RequestBytes = bytes },
	},
	{
		name:  "not needed, because few records are written",
		why:   "chunks keep only the first records",
		bytes: func(d *division) int64 { return unneeded(d.f, d.left) },
	},
	{
		name:  "compression of inputs and output",
		why:   "one decompressor, or one for each input that is read at the same time, and a compressor for each worker",
		share: 2,
		bytes: func(d *division) int64 {
			reading := decoderBytes(d.f)
			codecs := func(n int) int64 { return reading + format.CodecMemory(d.f.Output.Codec, n) }
			d.sizes.CodecWorkers = mostWorkers(d.sizes.Workers, d.left/2, codecs)
			return codecs(d.sizes.CodecWorkers)
		},
	},
}

// blockWishes are the wishes that depend on the size of blocks.
var blockWishes = []wish{
	{
		name:  "index of temporary files",
		why:   "the rest of the index is in a file",
		share: indexPart,
		bytes: func(d *division) int64 { return d.indexBytes() },
		grant: func(s *Sizes, bytes int64) { s.IndexBytes = bytes },
	},
	{
		name:  "compression of temporary files",
		why:   "a compressor for each block that is compressed at the same time",
		share: 2,
		bytes: func(d *division) int64 {
			coders := func(n int) int64 { return spillCodecMemory(d.f.Request.SpillCodec, n, d.sizes.BlockBytes) }
			d.sizes.SpillCoders = mostWorkers(d.sizes.Workers, d.left/8, coders)
			return coders(d.sizes.SpillCoders)
		},
	},
	{
		name:   "direct I/O requests",
		why:    "reading ahead and writing behind, past a page cache that is too small for the temporary files",
		shared: requestLine,
		share:  queueShare,
		bytes: func(d *division) int64 {
			d.sizes.Queue = d.f.queue(d.left)
			return d.sizes.Queue.memory()
		},
	},
	{
		name:  "unique",
		why:   "each worker copies the records that it keeps",
		share: 4,
		bytes: func(d *division) int64 {
			if !d.f.Request.Unique {
				return 0
			}
			records := d.sizes.BlockBytes / d.f.recordSize()
			block := d.sizes.BlockBytes + records*d.f.Request.ExtraBytes
			return int64(d.sizes.Workers) * int64(block)
		},
	},
	{
		name:  "transformed records",
		why:   "each worker reads records and makes others of them",
		share: 4,
		bytes: func(d *division) int64 {
			if d.f.Request.Transforms == 0 {
				return 0
			}
			return int64(d.sizes.Workers) * int64(d.sizes.BlockBytes+d.f.Request.Transforms*TransformBytes)
		},
	},
}
