package chunker

import (
	"context"
	"encoding/binary"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// ScatterMemory is the memory in bytes that Scatter allocates.
func ScatterMemory(parts, workers, blockBytes int) int64 {
	return int64(workers) * (int64(parts)*int64(blockBytes) + unitBytes*5/2)
}

// unitBytes is what a worker reads at once: it stays in the second-level cache with its keys (as much again for
// 8-byte records) and its parts.
const unitBytes = 256 << 10

// Scatter sends every record of data to the part that the classifier says, in one pass: each worker reads its
// own stretch of the input, collects the records of each part in a buffer of blockBytes and spills the
// buffer when it is full. The blocks of a part are kept in the order of the stretches, so that its records
// have the order of the input.
func Scatter(ctx context.Context, k *format.Keyer, data Dataset, c *Classifier, spill *Spill, workers, blockBytes int) ([]*Part, error) {
	sources := data.Split(workers)
	scatterers := make([]*scatterer, len(sources))
	group, ctx := errgroup.WithContext(ctx)
	for i, src := range sources {
		group.Go(func() (err error) {
			if scatterers[i], err = newScatterer(k, c, spill, blockBytes); err != nil {
				return err
			}
			defer scatterers[i].memory.Free()
			return scatterers[i].run(ctx, src)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	parts := make([]*Part, c.Parts())
	for p := range parts {
		parts[p] = joinPart(spill, scatterers, p)
	}
	return parts, nil
}

// joinPart makes part p of what the workers have of it, in their order.
func joinPart(spill *Spill, scatterers []*scatterer, p int) *Part {
	part := &Part{Least: ^uint64(0)}
	var blocks []Block
	for _, s := range scatterers {
		for _, b := range s.blocks[p] {
			b.First = endOf(blocks)
			blocks = append(blocks, b)
		}
		part.Least, part.Greatest = min(part.Least, s.least[p]), max(part.Greatest, s.greatest[p])
	}
	part.Run = spill.run(blocks)
	return part
}

// scatterer is one worker of Scatter.
type scatterer struct {
	keyer      *format.Keyer
	classifier *Classifier
	spill      *Spill
	size       int // bytes of a record
	unit       []byte
	keys       []uint64
	parts      []uint16

	memory          *arena.Memory // of the buffers
	buffers         [][]byte      // records of each part that are not yet spilled
	blocks          [][]Block     // of each part
	extents         []extent      // where the next blocks of each part go
	least, greatest []uint64      // prefix of each part
}

func newScatterer(k *format.Keyer, c *Classifier, spill *Spill, blockBytes int) (*scatterer, error) {
	size := k.Layout().RecordSize
	records := max(unitBytes/size, 1)
	s := &scatterer{
		keyer: k, classifier: c, spill: spill, size: size,
		unit: make([]byte, records*size), keys: make([]uint64, records), parts: make([]uint16, records),
		buffers: make([][]byte, c.Parts()), blocks: make([][]Block, c.Parts()), extents: make([]extent, c.Parts()),
		least: make([]uint64, c.Parts()), greatest: make([]uint64, c.Parts()),
	}
	block := max(blockBytes/size, 1) * size
	var err error
	if s.memory, err = arena.Alloc(c.Parts() * block); err != nil {
		return nil, err
	}
	for p := range s.buffers {
		s.buffers[p] = s.memory.Bytes()[p*block : p*block : (p+1)*block]
		s.least[p] = ^uint64(0)
	}
	return s, nil
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
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.scatter(n); err != nil {
			return err
		}
	}
}

// scatter sends the n records of the unit to their parts.
func (s *scatterer) scatter(n int) error {
	keys, parts := s.keys[:n], s.parts[:n]
	s.keyer.Prefixes(keys, s.unit[:n*s.size])
	s.classifier.Classify(parts, keys)
	for i, p := range parts {
		s.least[p], s.greatest[p] = min(s.least[p], keys[i]), max(s.greatest[p], keys[i])
		s.buffers[p] = appendRecord(s.buffers[p], s.unit[i*s.size:(i+1)*s.size])
		if len(s.buffers[p]) == cap(s.buffers[p]) {
			if err := s.flush(int(p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendRecord appends to a buffer that has room. Eight bytes are one store in place of a call.
func appendRecord(buffer, record []byte) []byte {
	if len(record) == 8 {
		return binary.NativeEndian.AppendUint64(buffer, binary.NativeEndian.Uint64(record))
	}
	return append(buffer, record...)
}

func (s *scatterer) flushAll() error {
	for p := range s.buffers {
		if err := s.flush(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *scatterer) flush(p int) error {
	if len(s.buffers[p]) == 0 {
		return nil
	}
	b, err := s.spill.putIn(&s.extents[p], s.buffers[p])
	if err != nil {
		return err
	}
	s.blocks[p] = append(s.blocks[p], b)
	s.buffers[p] = s.buffers[p][:0]
	return nil
}
