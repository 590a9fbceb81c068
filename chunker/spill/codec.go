package spill

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// codecChoice decides whether spilled blocks are compressed, and how. With the codec "auto" it
// tries all codecs on some blocks, and then uses the one that saves the most time, if any does.
// Spilled data that stays in the page cache is copied faster than any codec can compress it.
type codecChoice struct {
	codec   format.Compression // None until auto has decided
	coder   *format.BlockCoder
	rate    float64 // bytes per second, for writing and for reading back
	workers float64 // number of workers that compress or decompress concurrently

	mu     sync.Mutex
	trials []trial // for auto; nil after it has decided
	seen   int     // number of blocks seen
	buffer []byte  // buffer of the trials
}

// A trial sums up the blocks on which a codec was tried.
type trial struct {
	codec   format.Compression
	in, out int64   // sizes before and after, in bytes
	seconds float64 // time to compress them
}

const (
	// codecTrials is the number of blocks that auto tries before it decides, and betweenTrials is
	// the distance between these blocks. The first blocks of a run contain its smallest keys,
	// which may be the most frequent ones and therefore not typical.
	codecTrials   = 4
	betweenTrials = 16
)

// newCodecChoice returns the choice that opt.Codec specifies.
func newCodecChoice(opt *Options, coder *format.BlockCoder) *codecChoice {
	c := &codecChoice{
		coder:   coder,
		rate:    cmp.Or(opt.DiskBytes, plan.DiskBytesPerSecond),
		workers: float64(opt.Coders),
	}
	for _, codec := range plan.SpillCodecs(opt.Codec) {
		if coder.Supports(codec) {
			c.trials = append(c.trials, trial{codec: codec})
		}
	}

	if len(c.trials) > 0 && !plan.ChoosesCodec(opt.Codec) {
		c.codec = c.trials[0].codec
		c.trials = nil
	}

	return c
}

func (c *codecChoice) choose(recs []byte) format.Compression {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.trials == nil {
		return c.codec
	}
	if c.seen++; c.seen%betweenTrials == 1 {
		for i := range c.trials {
			c.measure(&c.trials[i], recs)
		}
	}
	if c.seen > (codecTrials-1)*betweenTrials {
		c.decide()
	}
	return format.None
}

// measure compresses a block and adds the result to a trial. It compresses twice and takes the
// shorter time, because another process may have interrupted one of the two.
func (c *codecChoice) measure(t *trial, recs []byte) {
	var seconds [2]float64
	var packed []byte
	for i := range seconds {
		start := time.Now()
		packed, _ = c.compress(&c.buffer, recs, t.codec)
		seconds[i] = time.Since(start).Seconds()
	}

	t.seconds += min(seconds[0], seconds[1])
	t.in += int64(len(recs))
	t.out += int64(len(packed))
}

func (c *codecChoice) decide() {
	best := slices.MaxFunc(c.trials, func(a, b trial) int {
		return cmp.Compare(c.savedSeconds(&a), c.savedSeconds(&b))
	})
	if c.savedSeconds(&best) > 0 {
		c.codec = best.codec
	}
	c.trials, c.buffer = nil, nil
}

// savedSeconds returns the time saved by writing and reading less, minus the time for compressing
// and decompressing, in seconds.
func (c *codecChoice) savedSeconds(t *trial) float64 {
	return 2*float64(t.in-t.out)/c.rate - (1+t.codec.DecodeCost())*t.seconds/c.workers
}

// compress compresses recs into buffer. If that does not make them smaller, it returns recs
// unchanged.
func (c *codecChoice) compress(
	buffer *[]byte, recs []byte, codec format.Compression,
) ([]byte, format.Compression) {
	room := format.MaxCompressed(len(recs), codec)
	*buffer = slices.Grow((*buffer)[:0], room)[:room]
	packed, err := c.coder.Compress(*buffer, recs, codec)
	if err != nil || len(packed) >= len(recs) {
		return recs, format.None
	}
	return packed, codec
}
