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
	"github.com/extsort/extsort/internal/safely"
	"github.com/zeebo/xxh3"
)

// Options says where spill goes and how.
type Options struct {
	Store   Store // nil: Disk
	Folders []string
	Codec   string // one of plan.SpillCodecNames; "": auto
	Keyer   *format.Keyer

	Checkpoint *Checkpoint // the Store, where it keeps runs whose origin is known; else nil

	ExpectBytes int64 // that will be spilled, for which there must be room before the work begins; -1: not known
	IndexBytes  int64 // of memory for the indexes of runs, beyond which they go to a file; 0: all stay in memory
	OutputBytes int64 // that the output takes of the same file systems besides
	CachedBytes int64 // that the page cache holds until they are read back, if no more are spilled; more come from a disk

	Queue *Queue // by which spill goes past the page cache; nil: it goes through it

	Workers int // writers at the same time
	Coders  int // blocks that are compressed or decompressed at the same time; 0: Workers

	DiskBytes float64 // bytes/s that are written, and read back; 0: plan.DiskBytesPerSecond
}

// Spill keeps runs in temporary files: a few in each folder, whatever the number of runs. File systems let one writer
// at a time write to a file, so there are more files than writers, and a writer takes one that nobody writes to. Its
// methods are safe for concurrent use.
type Spill struct {
	opt     Options
	volumes []*volume
	behind  *behind      // nil: blocks go through the page cache
	roomy   bool         // there is so much room that none need be given back before the end
	next    atomic.Int64 // volume of the next block, round robin
	written atomic.Int64
	mu      sync.Mutex // of leaveOut
	index   indexStore

	coder       *format.BlockCoder
	buffers     chan []byte // of compressed blocks: who codes a block waits for one
	choice      *codecChoice
	cachedBytes int64        // of spill before the choice begins
	codec       atomic.Int32 // of the last block that became smaller
}

// New makes sure that the folders exist and have room, and makes files in each.
func New(opt Options) (*Spill, error) {
	opt.Store, opt.Coders = cmp.Or[Store](opt.Store, Disk{}), cmp.Or(opt.Coders, opt.Workers, 1)
	free := opt.Store.Free(opt.Folders)
	if free >= 0 && opt.ExpectBytes > free {
		return nil, plan.NoRoom(opt.Folders, opt.ExpectBytes, free, 0, opt.Checkpoint != nil)
	}
	s := &Spill{opt: opt, roomy: opt.ExpectBytes >= 0 && opt.ExpectBytes <= (free-opt.OutputBytes)/2}
	if err := s.initIndex(); err != nil {
		return nil, err
	}
	s.initCodecs()
	if opt.Queue != nil {
		s.behind = &behind{Queue: opt.Queue}
	}
	if err := s.createVolumes(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// initIndex has the indexes of runs go to a file of their own where they are longer than memory has room for.
func (s *Spill) initIndex() (err error) {
	folder := s.opt.Folders[0]
	s.index.keyBytes, s.index.limit, s.index.where = s.opt.Keyer.KeySize(), s.opt.IndexBytes, folder
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
	s.coder, s.buffers = format.NewBlockCoder(opt.Keyer.Layout(), opt.Coders), make(chan []byte, opt.Coders)
	for range opt.Coders {
		s.buffers <- nil // made when first needed
	}
	s.choice = newCodecChoice(opt, s.coder)
	switch s.cachedBytes = opt.CachedBytes; {
	case opt.ExpectBytes > opt.CachedBytes || !plan.ChoosesCodec(opt.Codec):
		s.cachedBytes = 0
	case opt.ExpectBytes >= 0:
		s.cachedBytes = math.MaxInt64
	}
}

// Written is the number of bytes spilled so far, as stored.
func (s *Spill) Written() int64 { return s.written.Load() }

// Codec is the name of the compression that makes blocks smaller; none if none does, "" if nothing was spilled.
func (s *Spill) Codec() string {
	if s.Written() == 0 {
		return ""
	}
	return format.Compression(s.codec.Load()).String()
}

// Close gives all space back: of all files at the same time, since each waits for the disk.
func (s *Spill) Close() error {
	s.opt.Queue.wait()
	s.behind = nil
	var closing safely.Group
	for _, v := range s.volumes {
		closing.Go(v.file.Close)
	}
	s.volumes = nil
	return errors.Join(closing.Wait(), s.index.close())
}

// put stores a block in an extent, or a new one of least bytes, compressed if that pays, and returns its entry but for
// First. It is in its file when done is.
func (s *Spill) put(recs []byte, e *extent, least int64, done *safely.Group) (Block, error) {
	stored, codec := recs, format.None
	if s.Written() >= s.cachedBytes {
		codec = s.choice.choose(recs)
	}
	if codec != format.None {
		buffer := <-s.buffers
		defer func() { s.buffers <- buffer }()
		if stored, codec = s.choice.compress(&buffer, recs, codec); codec != format.None {
			s.codec.Store(int32(codec))
		}
	}
	k := s.opt.Keyer
	size := k.Layout().RecordSize
	b := Block{
		Records: len(recs) / size, Bytes: len(stored), Codec: codec, Sum: xxh3.Hash(stored),
		Key: k.Append(make([]byte, 0, k.KeySize()), recs[:size]),
	}
	return b, s.write(&b, stored, e, least, done)
}

// write finds a place for the stored bytes of b. A folder that is full is left out from then on.
func (s *Spill) write(b *Block, stored []byte, e *extent, least int64, done *safely.Group) error {
	size := aligned(len(stored))
	for {
		b.Volume, b.Offset = s.place(e, size, least)
		v := s.volumes[b.Volume]
		err := v.write(stored, b.Offset, e.end, done)
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

func (s *Spill) get(b *Block, dst []byte) ([]byte, error) {
	return s.decode(b, dst, func(stored []byte) error { return s.volumes[b.Volume].read(stored, b.Offset) })
}

// decode gives the records of a block, whose stored bytes load gets.
func (s *Spill) decode(b *Block, dst []byte, load func(stored []byte) error) ([]byte, error) {
	dst = dst[:b.Records*s.opt.Keyer.Layout().RecordSize]
	stored := dst
	if b.Codec != format.None {
		buffer := <-s.buffers
		defer func() { s.buffers <- buffer }()
		buffer = slices.Grow(buffer[:0], format.MaxCompressed(len(dst), b.Codec))[:b.Bytes]
		stored = buffer
	}
	if err := s.check(b, stored[:b.Bytes], load(stored[:b.Bytes])); err != nil {
		return nil, err
	}
	if b.Codec == format.None {
		return dst, nil
	}
	return s.coder.Decompress(dst, stored, b.Codec)
}

// check makes sure that what was read, with that error, is what was stored.
func (s *Spill) check(b *Block, stored []byte, err error) error {
	v := s.volumes[b.Volume]
	if err != nil {
		return fmt.Errorf("temporary directory %s: read at byte %d: %w", v.folder, b.Offset, device.WithoutPath(err))
	}
	if sum := xxh3.Hash(stored); sum != b.Sum {
		err := fmt.Errorf("temporary directory %s: the temporary data at byte %d is damaged: "+
			"checksum %016x instead of %016x (check the disk)", v.folder, b.Offset, sum, b.Sum)
		if s.opt.Checkpoint != nil {
			err = errAnew("%w", err)
		}
		return err
	}
	return nil
}

// IndexIsFull reports whether the indexes of runs, and the runs themselves, have all the memory that is theirs.
func (s *Spill) IndexIsFull(runs int) bool {
	return s.opt.IndexBytes > 0 && int64(runs)*runBytes > s.opt.IndexBytes
}

// runBytes is the memory of a run whose index is in a file.
const runBytes = 768

// release gives back the space of a run, of the blocks that were not taken, and of its index. What lies on a disk only
// keeps it until the end where there is room enough: a file system that tells its disk of free blocks at once (mount
// option discard) waits for it. In the page cache it is memory, which the output needs.
func (s *Spill) release(run *Run) error {
	from := int(run.taken.Swap(int64(run.blocks)))
	defer func() {
		for _, x := range run.indexes {
			x.release()
		}
		run.indexes = nil
	}()
	if len(s.volumes) == 0 || s.behind != nil && s.roomy {
		return nil
	}
	c := run.Cursor(min(from, run.blocks), run.blocks)
	for {
		b, err := c.Next()
		if b == nil || err != nil {
			return err
		}
		s.drop(b)
	}
}

// drop gives the space of a block back.
func (s *Spill) drop(b *Block) {
	if len(s.volumes) == 0 {
		return
	}
	if v := s.volumes[b.Volume]; v.behind == nil || !s.roomy {
		v.file.Release(b.Offset, aligned(b.Bytes))
	}
}
