package merge

import (
	"bytes"
	"context"
	"math"
	"math/bits"

	"github.com/extsort/extsort/format"
)

// queue holds the blocks of one input that are in memory and not yet merged, the first of them from at on.
type queue struct {
	blocks []*block
	at     int
}

// cutter cuts what is in memory of all inputs into spans, one after the other.
type cutter struct {
	keyer   *format.Keyer
	queues  []queue
	search  *searcher
	records int64 // in all spans up to now
}

func newCutter(k *format.Keyer, inputs int) *cutter {
	return &cutter{keyer: k, queues: make([]queue, inputs), search: newSearcher(k)}
}

func (c *cutter) add(b *block) {
	q := &c.queues[b.input]
	q.blocks = append(q.blocks, b)
}

// cut makes a span of all records before the splitter (key, input, here): in the inputs before that one all
// records up to key, in those after it all below key, and of the input itself what is in memory.
// REQUIRES: of each input at least one record is in memory that is not before the splitter, or nothing is left
// of it, and only its last block in memory holds such records.
func (c *cutter) cut(key []byte, input int) *span {
	c.search.seek(key)
	s := &span{first: c.records}
	for i := range c.queues {
		q := &c.queues[i]
		if len(q.blocks) == 0 {
			continue
		}
		last, from := q.blocks[len(q.blocks)-1], 0
		if len(q.blocks) == 1 {
			from = q.at
		}
		switch {
		case i < input:
			c.take(s, q, c.search.upperBound(last.stretch, from))
		case i > input:
			c.take(s, q, c.search.lowerBound(last.stretch, from))
		default:
			c.take(s, q, len(last.keys))
		}
	}
	c.records += s.records
	return s
}

// rest makes a span of everything that is in memory.
func (c *cutter) rest() *span {
	s := &span{first: c.records}
	for i := range c.queues {
		if q := &c.queues[i]; len(q.blocks) > 0 {
			c.take(s, q, len(q.blocks[len(q.blocks)-1].keys))
		}
	}
	c.records += s.records
	return s
}

// take moves the records of q into s, those of its last block up to index end.
func (c *cutter) take(s *span, q *queue, end int) {
	kept := q.blocks[:0]
	for i, b := range q.blocks {
		to := len(b.keys)
		if i == len(q.blocks)-1 {
			to = end
		}
		s.addPart(b, b.stretch, q.at, to, c.search.size)
		if to < len(b.keys) {
			kept, q.at = append(kept, b), to
			continue
		}
		q.at = 0
		b.release()
	}
	clear(q.blocks[len(kept):])
	q.blocks = kept
}

// sender hands spans to workers, in pieces that keep all of them busy.
type sender struct {
	spans   chan<- *span
	search  *searcher
	records int64 // in a piece, about
}

func newSender(opt *Options, spans chan<- *span) *sender {
	d := &sender{spans: spans, search: newSearcher(opt.Keyer), records: int64(max(opt.BlockBytes/opt.recordSize(), 1))}
	if opt.Workers == 1 {
		d.records = math.MaxInt64 / 2 // nobody waits for a piece
	}
	return d
}

// send hands s to workers, if there is anything in it.
func (d *sender) send(ctx context.Context, s *span) error {
	if s.records == 0 {
		return nil
	}
	for _, piece := range s.divided(d.search, d.records) {
		select {
		case d.spans <- piece:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// disorder is the index of the first record of recs that belongs before the one it follows, or -1.
func disorder(k *format.Keyer, keys []uint64, recs []byte) int {
	wide, size := k.KeySize() > 8, k.Layout().RecordSize
	if !wide && !fall(keys) {
		return -1
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] < keys[i] {
			continue
		}
		if keys[i-1] > keys[i] || wide && k.Compare(recs[(i-1)*size:i*size], recs[i*size:(i+1)*size]) > 0 {
			return i
		}
	}
	return -1
}

// fall reports whether a key is less than the one before it. No branch depends on which ones are equal.
func fall(keys []uint64) bool {
	var fallen uint64
	for i := 1; i < len(keys); i++ {
		_, less := bits.Sub64(keys[i], keys[i-1], 0)
		fallen |= less
	}
	return fallen != 0
}

// keyAbove reports whether the key of rec is above key.
func keyAbove(k *format.Keyer, rec, key []byte) bool {
	var stack [64]byte
	return bytes.Compare(k.Append(stack[:0], rec), key) > 0
}
