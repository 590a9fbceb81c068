package chunker

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// Scatter sends every record of data to the part chosen by the classifier, in a single pass. Each
// worker reads one section of the input after another. It collects the records of each part in a
// buffer and spills the buffer when it is full. The blocks of a part are stored in the order of
// the sections, so a part keeps the order of the input.
func Scatter(
	ctx context.Context, k *format.Keyer, data Dataset, c *Classifier, store *spill.Spill,
	opt plan.Scatter,
) ([]*Part, error) {
	sources := data.Split(max(opt.Workers, opt.Sections))
	scatterers := make([]*scatterer, min(opt.Workers, len(sources)))
	var next atomic.Int64
	err := device.Each(ctx, len(scatterers), func(ctx context.Context, i int) (err error) {
		s, err := newScatterer(k, c, store, opt)
		if err != nil {
			return err
		}
		scatterers[i] = s
		defer s.memory.Free()
		for s.section = next.Add(1) - 1; err == nil &&
			s.section < int64(len(sources)); s.section = next.Add(1) - 1 {
			err = s.run(ctx, sources[s.section])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parts := make([]*Part, c.Parts)
	for p := range parts {
		if parts[p], err = joinPart(store, scatterers, p); err != nil {
			return nil, err
		}
	}

	return parts, nil
}

// joinPart joins the pieces of part p that the workers have written.
func joinPart(store *spill.Spill, scatterers []*scatterer, p int) (part *Part, err error) {
	part = &Part{AllEqual: true}
	pieces := make([]*spill.Appender, len(scatterers))
	for i, s := range scatterers {
		pieces[i] = &s.pieces[p]
		part.AllEqual = part.AllEqual && !s.differ[p]
	}

	sameKeys := false
	if part.Run, sameKeys, err = store.Join(pieces); err != nil {
		return nil, err
	}
	part.AllEqual = part.AllEqual && sameKeys
	return part, nil
}

// A scatterer is one worker of Scatter.
type scatterer struct {
	keyer      *format.Keyer
	classifier *Classifier
	store      *spill.Spill
	size       int // record size in bytes
	unit       []byte
	keys       []uint64
	parts      []uint32

	section int64            // the section being read
	memory  *arena.Memory    // memory of the buffers
	buffers buffers          // records that are not spilled yet
	pieces  []spill.Appender // the spilled records of each part
	differ  []bool           // whether a block of the part contains different keys
}

func newScatterer(
	k *format.Keyer, c *Classifier, store *spill.Spill, opt plan.Scatter,
) (*scatterer, error) {
	size := k.Layout().RecordSize
	records := max(opt.UnitBytes/max(size, 8), 1)
	opt.BlockBytes = max(opt.BlockBytes/size, 1) * size
	memory, err := arena.Alloc(int(opt.BufferBytes(c.Parts)))
	if err != nil {
		return nil, err
	}
	return &scatterer{
		keyer: k, classifier: c, store: store, size: size,
		// aligned, so that it can be viewed as words
		unit: arena.ByteView(make([]uint64, (records*size+7)/8))[:records*size],
		keys: make([]uint64, records), parts: make([]uint32, records),
		memory: memory, buffers: newBuffers(memory.Bytes(), c.Parts, opt.BlockBytes, size),
		pieces: make([]spill.Appender, c.Parts), differ: make([]bool, c.Parts),
	}, nil
}

func (s *scatterer) run(ctx context.Context, src device.Source) error {
	for {
		_, n, err := src.Next(len(s.keys), func(int64, int) []byte { return s.unit })
		if err != nil {
			return err
		}
		if n == 0 {
			return s.flushAll()
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := s.scatter(n); err != nil {
			return err
		}
	}
}

// scatter sends the n records of the unit to their parts.
func (s *scatterer) scatter(n int) error {
	keys, parts, recs := s.keys[:n], s.parts[:n], s.unit[:n*s.size]
	s.keyer.Prefixes(keys, recs)
	s.classifier.Classify(parts, keys)
	for len(parts) > 0 {
		done, full := s.buffers.Append(recs, parts)
		if full < 0 {
			return nil
		}
		if err := s.flush(full); err != nil {
			return err
		}
		parts, recs = parts[done:], recs[done*s.size:]
	}
	return nil
}

func (s *scatterer) flushAll() error {
	for p := range s.pieces {
		for finished := false; !finished; {
			finished = s.buffers.Finish(p)
			if err := s.flush(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scatterer) flush(p int) error {
	recs := s.buffers.Buffered(p)
	if len(recs) == 0 {
		return nil
	}
	if err := s.store.Append(&s.pieces[p], s.section, recs); err != nil {
		return err
	}
	s.differ[p] = s.differ[p] || differ(s.keyer, recs)
	s.buffers.Empty(p)
	return nil
}

// differ reports whether recs contains different keys.
func differ(k *format.Keyer, recs []byte) bool {
	size := k.Layout().RecordSize
	for at := size; at < len(recs); at += size {
		if k.Compare(recs[:size], recs[at:at+size]) != 0 {
			return true
		}
	}
	return false
}

// buffers collect the records of each part for one worker of Scatter. This is a radix.Appender if
// records are moved as words, or else plainBuffers.
type buffers interface {
	// Append appends records to the buffers of their parts until one buffer, full, must be
	// emptied. It has then taken done records. If it takes all of them, full is -1.
	Append(recs []byte, parts []uint32) (done, full int)
	// Finish ends a part: Buffered then returns the rest of it. If Finish returns false, the
	// buffer must be emptied before another call.
	Finish(part int) bool
	Buffered(part int) []byte
	Empty(part int)
}

// newBuffers returns a buffer of block bytes (a multiple of the record size) for each part. Its
// memory has the size given by plan.Scatter.BufferBytes.
func newBuffers(memory []byte, parts, block, size int) buffers {
	if radix.CanAppend(block) && parts <= plan.MaxLines {
		switch size { // see plan.MovesWords
		case 4:
			return radix.NewAppender[uint32](memory, parts, block)
		case 8:
			return radix.NewAppender[uint64](memory, parts, block)
		case 16:
			return radix.NewAppender[[2]uint64](memory, parts, block)
		}
	}
	return &plainBuffers{
		memory: memory,
		block:  block,
		size:   size,
		filled: make([]int, parts),
	}
}

// plainBuffers collect records of any size.
type plainBuffers struct {
	memory []byte
	block  int   // size of a buffer in bytes
	size   int   // record size in bytes
	filled []int // number of bytes in the buffer of each part
}

func (b *plainBuffers) Append(recs []byte, parts []uint32) (done, full int) {
	memory := b.memory
	size := b.size
	for i, part := range parts {
		p := int(part)
		at := b.filled[p]
		copy(memory[p*b.block+at:], recs[i*size:(i+1)*size])
		b.filled[p] = at + size
		if at+size == b.block {
			return i + 1, p
		}
	}

	return len(parts), -1
}

func (b *plainBuffers) Finish(int) bool { return true }
func (b *plainBuffers) Buffered(part int) []byte {
	return b.memory[part*b.block:][:b.filled[part]]
}
func (b *plainBuffers) Empty(part int) { b.filled[part] = 0 }
