package chunker

import (
	"slices"
	"sync"
	"time"

	"github.com/extsort/extsort/format"
)

// codecChoice decides whether spill is compressed. A fixed choice always is or never is; auto looks at the first
// blocks and compresses from then on when that pays.
type codecChoice struct {
	codec format.Compression
	coder *format.BlockCoder
	rate  float64 // bytes per second that are written, and read back

	mu      sync.Mutex
	trials  int // blocks still to be tried
	in, out int64
	fastest float64 // seconds per byte of the quickest trial
	buffer  []byte  // of the trials
}

const (
	codecTrials = 4 // blocks that auto tries before it decides

	// diskBytesPerSecond is how fast spill is written and read back when it does not stay in memory: an NVMe
	// disk of the middle class, each way. A block that is compressed saves its difference twice.
	diskBytesPerSecond = 1.5e9

	// cacheBytesPerSecond is the same for spill that stays in memory: it is copied to the page cache and back, by
	// several processors. Zipf-distributed u64, of which s2 leaves a fifth, took 1.3 times as long with it as without.
	cacheBytesPerSecond = 8e9
)

// newCodecChoice makes the choice that opt.Codec names.
func newCodecChoice(opt *SpillOptions) *codecChoice {
	name := opt.Codec
	c := &codecChoice{codec: SpillCodec(name), coder: format.NewBlockCoder(opt.Coders), rate: diskBytesPerSecond}
	if opt.Cached {
		c.rate = cacheBytesPerSecond
	}
	if name == "" || name == "auto" {
		c.trials = codecTrials
	}
	return c
}

// SpillCodec is the compression that spill has, or may come to have, by the name of SpillOptions.Codec.
func SpillCodec(name string) format.Compression {
	switch name {
	case "", "auto", "s2":
		return format.S2
	case "zstd":
		return format.Zstd
	}
	return format.None
}

// choose is the compression of this block; while auto has not decided, it tries the block first.
func (c *codecChoice) choose(recs []byte) format.Compression {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trials > 0 {
		c.try(recs)
	}
	return c.codec
}

func (c *codecChoice) try(recs []byte) {
	start := time.Now()
	packed, _ := c.compress(&c.buffer, recs, c.codec)
	perByte := time.Since(start).Seconds() / float64(len(recs))
	if c.in == 0 || perByte < c.fastest {
		c.fastest = perByte // what the others took longer is the machine's doing
	}
	c.in += int64(len(recs))
	c.out += int64(len(packed))
	if c.trials--; c.trials > 0 {
		return
	}
	c.buffer = nil
	if !c.pays() {
		c.codec = format.None
	}
}

// pays weighs the time to compress and to decompress (about half of that) against what writing and reading less saves.
func (c *codecChoice) pays() bool {
	cost := 1.5 * c.fastest * float64(c.in)
	saved := 2 * float64(c.in-c.out) / c.rate
	return saved > cost
}

// compress packs recs into buffer, or leaves them as they are when they do not become smaller.
func (c *codecChoice) compress(buffer *[]byte, recs []byte, codec format.Compression) ([]byte, format.Compression) {
	room := format.MaxCompressed(len(recs), codec)
	*buffer = slices.Grow((*buffer)[:0], room)[:room]
	packed, err := c.coder.Compress(*buffer, recs, codec)
	if err != nil || len(packed) >= len(recs) {
		return recs, format.None
	}
	return packed, codec
}
