package chunker

import (
	"slices"
	"sync"
	"time"

	"github.com/extsort/extsort/format"
)

// codecChoice decides whether spill is compressed. A fixed choice always is or never is; auto tries some blocks and compresses
// from then on when that pays.
type codecChoice struct {
	codec format.Compression // that there may be
	coder *format.BlockCoder
	rate  float64 // bytes per second that are written, and read back

	mu      sync.Mutex
	auto    bool // it has not decided yet
	seen    int  // blocks
	in, out int64
	seconds float64 // that the trials took
	buffer  []byte  // of the trials
}

const (
	// codecTrials is how many blocks auto tries before it decides, and betweenTrials how far they lie apart. The first blocks of a
	// run have its least keys; where these are frequent, as with a Zipf distribution, no others are so quickly compressed.
	codecTrials   = 4
	betweenTrials = 16

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
	c.auto = name == "" || name == "auto"
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

// choose is the compression of this block: none while auto has not decided.
func (c *codecChoice) choose(recs []byte) format.Compression {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.auto {
		return c.codec
	}
	if c.seen++; c.seen%betweenTrials == 1 {
		c.try(recs)
	}
	if c.seen > (codecTrials-1)*betweenTrials {
		c.decide()
	}
	return format.None
}

// try compresses a block to see what comes of it, twice: what one of them took longer is the machine's doing.
func (c *codecChoice) try(recs []byte) {
	var seconds [2]float64
	var packed []byte
	for i := range seconds {
		start := time.Now()
		packed, _ = c.compress(&c.buffer, recs, c.codec)
		seconds[i] = time.Since(start).Seconds()
	}
	c.seconds += min(seconds[0], seconds[1])
	c.in += int64(len(recs))
	c.out += int64(len(packed))
}

func (c *codecChoice) decide() {
	c.auto, c.buffer = false, nil
	if !c.pays() {
		c.codec = format.None
	}
}

// pays weighs the time to compress and to decompress (about half of that) against what writing and reading less saves.
func (c *codecChoice) pays() bool {
	saved := 2 * float64(c.in-c.out) / c.rate
	return saved > 1.5*c.seconds
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
