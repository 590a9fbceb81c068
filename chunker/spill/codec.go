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
// tries all codecs on some blocks, and then uses the one that saves the most time, if any does. It
// goes on trying now and then, because the first blocks may not be typical: those of a run contain
// its smallest keys, and the part that fills its first block first is that of the most frequent key.
// Spilled data that stays in the page cache is copied faster than any codec can compress it.
type codecChoice struct {
	codec   format.Compression // None until auto has decided for the first time
	coder   *format.BlockCoder
	rate    float64 // bytes per second, for writing and for reading back
	workers float64 // number of workers that compress or decompress concurrently

	mu     sync.Mutex
	trials []trial // for auto; otherwise nil
	seen   int     // number of blocks seen
}

// A trial sums up the blocks on which a codec was tried.
type trial struct {
	codec   format.Compression
	in, out int64   // sizes before and after, in bytes
	seconds float64 // time to compress them
}

const (
	// auto decides for the first time after firstTrials blocks that it tried, with betweenTrials
	// blocks from one to the next. From then on, there are betweenLater blocks from one to the next,
	// and it decides again after each.
	firstTrials   = 4
	betweenTrials = 16
	betweenLater  = 128
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

// mayCompress reports whether choose may return a codec.
func (c *codecChoice) mayCompress() bool {
	return c.trials != nil || c.codec != format.None
}

// choose returns the codec for the next block. It may use the buffer.
func (c *codecChoice) choose(buffer *[]byte, recs []byte) format.Compression {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.trials == nil {
		return c.codec
	}
	const decided = (firstTrials - 1) * betweenTrials // block of the first decision
	between := betweenTrials
	if c.seen > decided {
		between = betweenLater
	}
	if c.seen%between == 0 {
		for i := range c.trials {
			c.measure(&c.trials[i], buffer, recs)
		}
	}
	if c.seen >= decided {
		c.decide()
	}
	c.seen++
	return c.codec
}

// measure compresses a block and adds the result to a trial. It compresses twice and takes the
// shorter time, because another process may have interrupted one of the two.
func (c *codecChoice) measure(t *trial, buffer *[]byte, recs []byte) {
	var seconds [2]float64
	var packed []byte
	for i := range seconds {
		start := time.Now()
		packed, _ = c.compress(buffer, recs, t.codec)
		seconds[i] = time.Since(start).Seconds()
	}

	t.seconds += min(seconds[0], seconds[1])
	t.in += int64(len(recs))
	t.out += int64(len(packed))
}

// decide chooses the codec that would have saved the most time in all blocks tried so far.
func (c *codecChoice) decide() {
	c.codec = format.None
	most := 0.0
	for i := range c.trials {
		if saved := c.savedSeconds(&c.trials[i]); saved > most {
			most = saved
			c.codec = c.trials[i].codec
		}
	}
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
