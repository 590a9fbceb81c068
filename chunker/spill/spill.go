package spill

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
	"github.com/zeebo/xxh3"
)

// Options configures a Spill.
type Options struct {
	Store   Store // nil means Disk
	Folders []string
	Codec   string // one of plan.SpillCodecNames; "" means auto
	Keyer   *format.Keyer

	// Checkpoint is also the Store, if finished runs are to be kept. Otherwise it is nil.
	Checkpoint *Checkpoint

	// ExpectBytes is the expected size of the spilled data, which must fit on the disks; -1 if
	// not known.
	ExpectBytes int64
	// IndexBytes limits the memory for the indexes of runs. Longer indexes are stored in a file.
	// 0 means no limit.
	IndexBytes int64
	// OutputBytes is the space that the output needs on the same file systems.
	OutputBytes int64
	// CachedBytes is the amount of spilled data that the page cache holds until it is read back.
	// If more is spilled, the data comes from a disk.
	CachedBytes int64

	Requests *blockio.Pool // requests of direct I/O; nil to use the page cache

	Workers int // number of concurrent writers
	// number of blocks that are compressed or decompressed concurrently; 0 means Workers
	Coders int

	// disk speed for writing and reading back, in bytes/s; 0 means plan.DiskBytesPerSecond
	DiskBytes float64
}

// A Spill stores runs in temporary files. There are a few files per directory, whatever the
// number of runs. A file system allows only one writer per file at a time, so there are more
// files than writers, and a writer chooses a file that is not being written. The methods of a
// Spill are safe for concurrent use.
type Spill struct {
	opt     Options
	volumes []*volume
	writer  *blockio.Writer // nil to use the page cache
	roomy   bool            // there is enough space that none has to be released before the end
	next    atomic.Int64    // number of the volume to try first for the next extent, round robin
	written atomic.Int64
	mu      sync.Mutex // protects leaveOut
	index   indexStore

	coder       *format.BlockCoder
	buffers     chan []byte // memory for compressed blocks, one per coder
	choice      *codecChoice
	cachedBytes int64        // number of bytes to spill before codecs are tried
	codec       atomic.Int32 // the codec of the last block that it made smaller
}

// New checks that the directories have enough space and creates the spill files.
func New(opt Options) (*Spill, error) {
	opt.Store, opt.Coders = cmp.Or[Store](opt.Store, Disk{}), cmp.Or(opt.Coders, opt.Workers, 1)
	free := opt.Store.Free(opt.Folders)
	if free >= 0 && opt.ExpectBytes > free {
		return nil, plan.NewRoomError(opt.Folders, opt.ExpectBytes, free, 0, opt.Checkpoint != nil)
	}
	s := &Spill{
		opt:   opt,
		roomy: opt.ExpectBytes >= 0 && opt.ExpectBytes <= (free-opt.OutputBytes)/2,
	}
	if err := s.initIndex(); err != nil {
		return nil, err
	}
	s.initCodecs()
	if opt.Requests != nil {
		s.writer = blockio.NewWriter(opt.Requests)
	}
	if err := s.createVolumes(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// initIndex prepares the file for indexes that exceed the memory limit.
func (s *Spill) initIndex() (err error) {
	folder := s.opt.Folders[0]
	s.index.keyBytes = s.opt.Keyer.KeySize()
	s.index.limit = s.opt.IndexBytes
	s.index.where = folder
	s.index.create = func() (File, error) { return s.createFile(folder, s.opt.Store.Create) }

	if c := s.opt.Checkpoint; c != nil {
		s.index.kept, s.index.end = true, c.indexEnd()
		s.index.create = func() (File, error) { return s.createFile(folder, c.createIndex) }
	}

	if s.index.end > 0 {
		s.index.file, err = s.index.create()
	}
	return err
}

func (s *Spill) initCodecs() {
	opt := &s.opt
	s.coder = format.NewBlockCoder(opt.Keyer.Layout(), opt.Coders)
	s.buffers = make(chan []byte, opt.Coders)

	for range opt.Coders {
		s.buffers <- nil // allocated when first needed
	}
	s.choice = newCodecChoice(opt, s.coder)
	switch s.cachedBytes = opt.CachedBytes; {
	case opt.ExpectBytes > opt.CachedBytes || !plan.ChoosesCodec(opt.Codec):
		s.cachedBytes = 0
	case opt.ExpectBytes >= 0:
		s.cachedBytes = math.MaxInt64
	}
}

// Written returns the number of stored bytes so far.
func (s *Spill) Written() int64 { return s.written.Load() }

// Codec returns the name of the codec in use: "none" if no block became smaller, or "" if nothing
// was spilled.
func (s *Spill) Codec() string {
	if s.Written() == 0 {
		return ""
	}
	return format.Compression(s.codec.Load()).String()
}

// Close releases all space. It closes the files concurrently, because each close waits for the
// disk.
func (s *Spill) Close() error {
	s.opt.Requests.Wait()
	var closing safely.Group
	for _, v := range s.volumes {
		closing.Go(v.file.Close)
	}
	s.volumes = nil
	return errors.Join(closing.Wait(), s.index.close())
}

// storeBlock compresses a block if that pays, and stores it in an extent, or in a new extent of about
// the given size. It returns the entry of the block; the caller sets First. Direct I/O goes
// on after storeBlock returns: done is the batch to wait for.
func (s *Spill) storeBlock(recs []byte, e *extent, wanted int64, done *blockio.Batch) (Block, error) {
	stored, codec := recs, format.None
	if s.choice.mayCompress() && s.Written() >= s.cachedBytes {
		buffer := <-s.buffers
		defer func() { s.buffers <- buffer }()
		codec = s.choice.choose(&buffer, recs)
		if codec != format.None {
			stored, codec = s.choice.compress(&buffer, recs, codec)
		}
		if codec != format.None {
			s.codec.Store(int32(codec))
		}
	}
	k := s.opt.Keyer
	size := k.Layout().RecordSize
	b := Block{
		Records: len(recs) / size, Bytes: len(stored), Codec: codec, Sum: xxh3.Hash(stored),
		Key: k.Append(make([]byte, 0, k.KeySize()), recs[:size]),
	}
	return b, s.writeStored(&b, stored, e, wanted, done)
}

// writeStored finds a place for the stored bytes of b. If a directory is full, it uses the others
// from then on.
func (s *Spill) writeStored(b *Block, stored []byte, e *extent, wanted int64, done *blockio.Batch) error {
	size := aligned(len(stored))
	for {
		b.Volume, b.Offset = s.takeSpace(e, size, wanted)
		v := s.volumes[b.Volume]
		err := s.writeBlock(v, stored, b.Offset, e.end, done)

		if err == nil {
			s.written.Add(int64(len(stored)))
			return nil
		}

		if OutOfRoom(err) == "" || !s.leaveOut(v) {
			return s.writeError(v, b.Offset, int64(len(stored)), err)
		}
		*e = extent{}
	}
}

func (s *Spill) readBlock(b *Block, dst []byte) ([]byte, error) {
	return s.readStored(b, dst, func(stored []byte) error {
		_, err := s.opt.Requests.ReadAt(s.volumes[b.Volume], stored, b.Offset)
		return err
	})
}

// readStored returns the records of a block. load reads the stored bytes.
func (s *Spill) readStored(b *Block, dst []byte, load func(stored []byte) error) ([]byte, error) {
	dst = dst[:b.Records*s.opt.Keyer.Layout().RecordSize]
	stored := dst
	if b.Codec != format.None {
		buffer := <-s.buffers
		defer func() { s.buffers <- buffer }()
		buffer = slices.Grow(buffer[:0], format.MaxCompressed(len(dst), b.Codec))[:b.Bytes]
		stored = buffer
	}

	if err := s.verify(b, stored[:b.Bytes], load(stored[:b.Bytes])); err != nil {
		return nil, err
	}
	if b.Codec == format.None {
		return dst, nil
	}
	return s.coder.Decompress(dst, stored, b.Codec)
}

// verify returns err, or an error if the stored bytes do not match their checksum.
func (s *Spill) verify(b *Block, stored []byte, err error) error {
	v := s.volumes[b.Volume]
	if err != nil {
		return fmt.Errorf(
			"temporary directory %s: read at byte %d: %w", v.folder, b.Offset,
			device.WithoutPath(err),
		)
	}
	if sum := xxh3.Hash(stored); sum != b.Sum {
		err := fmt.Errorf("temporary directory %s: the temporary data at byte %d is damaged: "+
			"checksum %016x instead of %016x (check the disk)", v.folder, b.Offset, sum, b.Sum)
		if s.opt.Checkpoint != nil {
			err = errUnusable("%w", err)
		}
		return err
	}

	return nil
}

// IndexIsFull reports whether the given number of runs uses up the memory for indexes.
func (s *Spill) IndexIsFull(runs int) bool {
	return s.opt.IndexBytes > 0 && int64(runs)*runBytes > s.opt.IndexBytes
}

// runBytes is the memory of a run whose index is in a file.
const runBytes = 768

// release releases the index of a run and the space of all blocks that were not taken. If the
// blocks are on a disk with enough free space, they stay until the end: with the mount option
// discard, a file system immediately informs the disk of free blocks, which takes time. Blocks in
// the page cache are released, because the output needs the memory.
func (s *Spill) release(run *Run) error {
	from := int(run.taken.Swap(int64(run.blocks)))
	defer func() {
		for _, x := range run.indexes {
			x.release()
		}
		run.indexes = nil
	}()

	if len(s.volumes) == 0 || s.writer != nil && s.roomy {
		return nil
	}
	c := run.Cursor(min(from, run.blocks), run.blocks)
	for {
		b, err := c.Next()
		if b == nil || err != nil {
			return err
		}
		s.releaseBlock(b)
	}
}

// releaseBlock releases the space of a block.
func (s *Spill) releaseBlock(b *Block) {
	if len(s.volumes) == 0 {
		return
	}
	if v := s.volumes[b.Volume]; !v.direct || !s.roomy {
		v.file.Release(b.Offset, aligned(b.Bytes))
	}
}
