package spill

import (
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/blockio"
)

// uncacheable is implemented by files of a Store that support direct I/O: with offsets, lengths
// and memory that are multiples of SpillAlign.
type uncacheable interface {
	// Uncache switches the file to direct I/O. It returns false if the file system does not
	// support that.
	Uncache() bool

	// Allocate reserves disk space for a range that will be written.
	Allocate(offset, bytes int64) error
}

// readsAtOnce is the number of blocks that one worker reads concurrently with direct I/O.
const readsAtOnce = 4

// Props implements blockio.File.
func (v *volume) Props() blockio.Props {
	if v.direct {
		return blockio.Props{Align: plan.SpillAlign}
	}
	return blockio.Props{Cached: true}
}

// ReadAt implements blockio.File.
func (v *volume) ReadAt(p []byte, offset int64) (int, error) { return v.file.ReadAt(p, offset) }

// WriteAt implements blockio.WritableFile.
func (v *volume) WriteAt(p []byte, offset int64) (int, error) { return v.file.WriteAt(p, offset) }

// newReader returns a Reader of the blocks [from, to) of a run, with direct I/O. Its units are the
// blocks.
func (s *Spill) newReader(run *Run, from, to int) *blockio.Reader {
	return blockio.NewReader(s.opt.Requests, blockio.ReaderOptions{
		Units: int64(to - from),
		Locate: func(i, _ int64) (blockio.Range, int64, error) {
			b, err := run.entry(from + int(i))
			if err != nil {
				return blockio.Range{}, 1, err
			}
			return blockio.Range{File: s.volumes[b.Volume], Off: b.Offset, Bytes: int64(b.Bytes)}, 1, nil
		},
	})
}
