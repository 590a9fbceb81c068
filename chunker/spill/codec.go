package spill

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// codecChoice decides whether and how spill on a disk is compressed. auto tries what there is on some blocks, and takes
// from then on what pays most, if anything does. Spill that stays in the page cache is copied there and back at a rate
// that no codec reaches.
type codecChoice struct {
	codec   format.Compression // None while auto has not decided
	coder   *format.BlockCoder
	rate    float64 // bytes per second that are written, and read back
	workers float64 // that compress and decompress at the same time, in the time that the rate is counted in

	mu     sync.Mutex
	trials []trial // of auto; nil: it has decided
	seen   int     // blocks
	buffer []byte  // of the trials
}

// trial is what became of the blocks that one compression was tried on.
type trial struct {
	codec   format.Compression
	in, out int64   // bytes
	seconds float64 // to compress them
}

const (
	// codecTrials is how many blocks auto tries before it decides, and betweenTrials their distance: the first
	// blocks of a run have its least keys, which may be the most frequent ones.
	codecTrials   = 4
	betweenTrials = 16
)

// newCodecChoice makes the choice that opt.Codec names.
func newCodecChoice(opt *Options, coder *format.BlockCoder) *codecChoice {
	c := &codecChoice{coder: coder, rate: cmp.Or(opt.DiskBytes, plan.DiskBytesPerSecond), workers: float64(opt.Coders)}
	for _, codec := range plan.SpillCodecs(opt.Codec) {
		if coder.Supports(codec) {
			c.trials = append(c.trials, trial{codec: codec})
		}
	}
	if len(c.trials) > 0 && !plan.ChoosesCodec(opt.Codec) {
		c.codec, c.trials = c.trials[0].codec, nil
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
			c.try(&c.trials[i], recs)
		}
	}
	if c.seen > (codecTrials-1)*betweenTrials {
		c.decide()
	}
	return format.None
}

// try compresses a block to see what comes of it, twice, since others may have kept the processor busy once.
func (c *codecChoice) try(t *trial, recs []byte) {
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
	best := slices.MaxFunc(c.trials, func(a, b trial) int { return cmp.Compare(c.gain(&a), c.gain(&b)) })
	if c.gain(&best) > 0 {
		c.codec = best.codec
	}
	c.trials, c.buffer = nil, nil
}

// gain is what writing and reading less saves, less what compressing and decompressing takes, in seconds.
func (c *codecChoice) gain(t *trial) float64 {
	return 2*float64(t.in-t.out)/c.rate - (1+t.codec.DecodeCost())*t.seconds/c.workers
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
