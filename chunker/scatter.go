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

// Scatter sends every record of data to the partition chosen by the classifier, in a single pass.
// Each worker reads one section of the input after another. It collects the records of each
// partition in a buffer and spills the buffer when it is full. The blocks of a partition are
// stored in the order of the sections, so a partition keeps the order of the input.
func Scatter(
	ctx context.Context,
	k *format.Keyer,
	data Dataset,
	c *Classifier,
	store *spill.Spill,
	opt plan.Scatter,
) ([]*Partition, error) {
	return scatterTo(ctx, data, c, store, opt, func() (*scatterer, error) {
		return newScatterer(k, c, store, opt)
	})
}

// ScatterCombined is Scatter for records that g combines. Records with equal keys are combined in
// the buffers, and each partition contains results. REQUIRES: g.CombinesRuns
func ScatterCombined(
	ctx context.Context,
	g *format.Aggregation,
	data Dataset,
	c *Classifier,
	store *spill.Spill,
	opt plan.Scatter,
) ([]*Partition, error) {
	return scatterTo(ctx, data, c, store, opt, func() (*scatterer, error) {
		s, err := newScatterer(g.Keyer(), c, store, opt)
		if err == nil {
			s.combine(g)
		}
		return s, err
	})
}

// scatterTo is Scatter with the given workers.
func scatterTo(
	ctx context.Context,
	data Dataset,
	c *Classifier,
	store *spill.Spill,
	opt plan.Scatter,
	newWorker func() (*scatterer, error),
) ([]*Partition, error) {
	sources := data.Split(max(opt.Workers, opt.Sections))
	scatterers := make([]*scatterer, min(opt.Workers, len(sources)))
	var next atomic.Int64
	err := device.Each(ctx, len(scatterers), func(ctx context.Context, i int) (err error) {
		s, err := newWorker()
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
	partitions := make([]*Partition, c.Partitions)
	for p := range partitions {
		if partitions[p], err = joinPartition(store, scatterers, p); err != nil {
			return nil, err
		}
	}

	return partitions, nil
}

// joinPartition joins the pieces of partition p that the workers have written.
func joinPartition(
	store *spill.Spill,
	scatterers []*scatterer,
	p int,
) (partition *Partition, err error) {
	partition = &Partition{AllEqual: true}
	pieces := make([]*spill.Appender, len(scatterers))
	for i, s := range scatterers {
		pieces[i] = &s.pieces[p]
		partition.AllEqual = partition.AllEqual && !s.keysDiffer[p]
	}

	sameKeys := false
	if partition.Run, sameKeys, err = store.Join(pieces); err != nil {
		return nil, err
	}
	partition.AllEqual = partition.AllEqual && sameKeys
	return partition, nil
}

// A scatterer is one worker of Scatter.
type scatterer struct {
	keyer       *format.Keyer
	classifier  *Classifier
	store       *spill.Spill
	recordBytes int // record size in bytes
	unit        []byte
	keys        []uint64
	partitions  []uint32

	section     int64            // the section being read
	memory      *arena.Memory    // memory of the buffers
	buffers     buffers          // records not spilled yet
	bufferBytes int              // size of each buffer
	combining   *combining       // combines the records in the buffers; nil: they stay as they are
	pieces      []spill.Appender // the spilled records of each partition
	keysDiffer  []bool           // whether a block of the partition contains different keys
}

func newScatterer(
	k *format.Keyer,
	c *Classifier,
	store *spill.Spill,
	opt plan.Scatter,
) (*scatterer, error) {
	size := k.Layout().RecordSize
	records := max(opt.UnitBytes/max(size, 8), 1)
	opt.BlockBytes = max(opt.BlockBytes/size, 1) * size
	memory, err := arena.Alloc(int(opt.BufferBytes(c.Partitions)))
	if err != nil {
		return nil, err
	}
	return &scatterer{
		keyer: k, classifier: c, store: store, recordBytes: size,
		// aligned, so that it can be viewed as words
		unit: arena.ByteView(make([]uint64, (records*size+7)/8))[:records*size],
		keys: make([]uint64, records), partitions: make([]uint32, records),
		memory: memory, buffers: newBuffers(
			memory.Bytes(),
			c.Partitions,
			opt.BlockBytes,
			size,
		),
		pieces: make([]spill.Appender, c.Partitions), keysDiffer: make([]bool, c.Partitions),
		bufferBytes: opt.BlockBytes,
	}, nil
}

// combine makes the worker combine records. REQUIRES: it has not read any
func (s *scatterer) combine(g *format.Aggregation) {
	plain := newPlainBuffers(s.memory.Bytes(), s.classifier.Partitions, s.bufferBytes, s.recordBytes)
	s.buffers = plain
	s.combining = &combining{newCombiner(g), plain}
}

func (s *scatterer) run(ctx context.Context, src device.Source) error {
	for {
		_, n, err := src.Next(len(s.keys), func(_ int64, n int) []byte {
			return s.unit[:n*s.recordBytes]
		})
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

// scatter sends the n records of the unit to their partitions.
func (s *scatterer) scatter(n int) error {
	keys, partitions, recs := s.keys[:n], s.partitions[:n], s.unit[:n*s.recordBytes]
	s.keyer.Prefixes(keys, recs)
	s.classifier.Classify(partitions, keys)
	for len(partitions) > 0 {
		done, full := s.buffers.Append(recs, partitions)
		if full < 0 {
			return nil
		}
		if s.combining == nil || !s.combining.empty(full) {
			if err := s.flush(full); err != nil {
				return err
			}
		}
		partitions, recs = partitions[done:], recs[done*s.recordBytes:]
	}
	return nil
}

func (s *scatterer) flushAll() error {
	for p := range s.pieces {
		for finished := false; !finished; {
			finished = s.buffers.Finish(p)
			if s.combining != nil {
				s.combining.empty(p)
			}
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
	s.keysDiffer[p] = s.keysDiffer[p] || keysDiffer(s.keyer, recs)
	s.buffers.Clear(p)
	return nil
}

// keysDiffer reports whether recs contains different keys.
func keysDiffer(k *format.Keyer, recs []byte) bool {
	size := k.Layout().RecordSize
	for at := size; at < len(recs); at += size {
		if k.Compare(recs[:size], recs[at:at+size]) != 0 {
			return true
		}
	}
	return false
}

// buffers collect the records of each partition for one worker of Scatter. This is a
// radix.Appender if records are moved as words, or else plainBuffers.
type buffers interface {
	// Append appends records to the buffers of their partitions until it has appended all of them
	// or a buffer is full. done is the number of appended records. full is the partition whose
	// buffer must be emptied before the next call, or -1 if all records were appended.
	Append(recs []byte, partitions []uint32) (done, full int)
	// Finish ends a partition: Buffered then returns the rest of it. If Finish returns false, the
	// buffer must be emptied before another call.
	Finish(partition int) bool
	Buffered(partition int) []byte
	Clear(partition int)
}

// newBuffers returns a buffer of block bytes (a multiple of the record size) for each partition.
// Its memory has the size given by plan.Scatter.BufferBytes.
func newBuffers(memory []byte, partitions, block, size int) buffers {
	if radix.CanAppend(block) && partitions <= plan.MaxLines {
		switch size { // as plan.Profile assumes
		case 4:
			return radix.NewAppender[uint32](memory, partitions, block)
		case 8:
			return radix.NewAppender[uint64](memory, partitions, block)
		case 16:
			return radix.NewAppender[[2]uint64](memory, partitions, block)
		}
	}
	return newPlainBuffers(memory, partitions, block, size)
}

// plainBuffers collect records of any size.
type plainBuffers struct {
	memory      []byte
	bufferBytes int   // size of a buffer in bytes
	recordBytes int   // record size in bytes
	filled      []int // number of bytes in the buffer of each partition
}

func newPlainBuffers(memory []byte, partitions, block, size int) *plainBuffers {
	return &plainBuffers{
		memory:      memory,
		bufferBytes: block,
		recordBytes: size,
		filled:      make([]int, partitions),
	}
}

func (b *plainBuffers) Append(
	recs []byte, partitions []uint32,
) (done, full int) {
	memory := b.memory
	size := b.recordBytes
	for i, partition := range partitions {
		p := int(partition)
		at := b.filled[p]
		copy(memory[p*b.bufferBytes+at:], recs[i*size:(i+1)*size])
		b.filled[p] = at + size
		if at+size == b.bufferBytes {
			return i + 1, p
		}
	}

	return len(partitions), -1
}

func (b *plainBuffers) Finish(int) bool { return true }
func (b *plainBuffers) Buffered(partition int) []byte {
	return b.memory[partition*b.bufferBytes:][:b.filled[partition]]
}
func (b *plainBuffers) Clear(partition int) { b.filled[partition] = 0 }
