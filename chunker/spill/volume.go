package spill

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// maxReserve bounds the room that a file gets beyond what is written now, in bytes. Long stretches keep the blocks of
// several files apart on the disk, which is told of fewer when they are given back.
const maxReserve = 64 << 20

// maxVolumes bounds the files in one folder.
const maxVolumes = 32

// reservePart is the part of the spill that all files reserve at most beyond the blocks that are in them.
const reservePart = 16

// volume is one file of spill. Blocks are appended; the space of blocks that are no longer needed is given back
// to the file system and not used again, since file offsets cost nothing.
type volume struct {
	folder string
	file   File
	behind *behind // nil: blocks go through the page cache
	end    atomic.Int64
	full   atomic.Bool
	busy   atomic.Int32 // writers

	ahead     int64 // bytes that may be reserved beyond the blocks; negative: nothing is reserved
	reserving sync.Mutex
	reserved  int64 // bytes from the start of the file that there is room for
}

// createFile makes a file in a folder.
func (s *Spill) createFile(folder string, create func(folder string) (File, error)) (File, error) {
	file, err := create(folder)
	if err == nil {
		return file, nil
	}
	advice := fmt.Sprintf("name another with %v", option.TempDirs)
	if errors.Is(err, syscall.EMFILE) {
		advice = fmt.Sprintf("raise ulimit -n, or lower %v", option.Workers)
	}
	return nil, fmt.Errorf("temporary directory %s: %w (%s)", folder, device.WithoutPath(err), advice)
}

// createVolumes makes files in all folders. Neighbours are on different disks.
func (s *Spill) createVolumes() error {
	opt := &s.opt
	all := device.OpenFiles(maxVolumes * len(opt.Folders))
	each := max(1, min(2*opt.Workers+len(opt.Folders)-1, all)/len(opt.Folders))
	if opt.Checkpoint != nil {
		each = max(each, len(opt.Checkpoint.ends))
	}
	for i := range each * len(opt.Folders) {
		folder := opt.Folders[i%len(opt.Folders)]
		file, err := s.createFile(folder, opt.Store.Create)
		if err != nil {
			return err
		}
		v := &volume{folder: folder, file: file, ahead: s.reserveAhead(each * len(opt.Folders))}
		if f, ok := file.(uncacheable); ok && s.behind != nil && f.Uncache() {
			v.behind = s.behind
		}
		if opt.Checkpoint != nil {
			v.end.Store(opt.Checkpoint.ends[i])
		}
		s.volumes = append(s.volumes, v)
	}
	return nil
}

// reserveAhead is how many bytes each of the files may reserve beyond its blocks. Where there is little more room than
// the plan counts, none reserves any: writers wait for each other, but take no more than was planned.
func (s *Spill) reserveAhead(files int) int64 {
	if !s.roomy {
		return -1
	}
	return min(maxReserve, s.opt.ExpectBytes/int64(reservePart*files))
}

// extent is a stretch of one volume that is filled by blocks which will be given back together: only long stretches
// are given back to the file system at once. The zero extent is used up.
type extent struct {
	volume    int
	next, end int64 // bytes in the file
}

// place takes size bytes of the extent or, where it has fewer left, of a new one of least bytes. What stays unused of
// one costs nothing: it is only a range of offsets.
func (s *Spill) place(e *extent, size, least int64) (volume int, offset int64) {
	if e.end-e.next < size {
		i, v := s.pick()
		end := v.end.Add(max(size, least))
		*e = extent{volume: i, next: end - max(size, least), end: end}
	}
	e.next += size
	return e.volume, e.next - size
}

// write stores a block of an extent that ends there.
func (v *volume) write(stored []byte, offset, end int64, done *safely.Group) error {
	v.busy.Add(1)
	defer v.busy.Add(-1)
	if v.behind == nil {
		_, err := v.file.WriteAt(stored, offset)
		return err
	}
	if err := v.reserve(end); err != nil {
		return err
	}
	return v.behind.write(v.file, stored, offset, done)
}

// reserve makes room for the bytes before end and, where the disk has it, for as many as there is room for already.
func (v *volume) reserve(end int64) error {
	if v.ahead < 0 {
		return nil
	}
	v.reserving.Lock()
	defer v.reserving.Unlock()
	need := end - v.reserved
	if need <= 0 {
		return nil
	}
	bytes := max(need, min(v.reserved, v.ahead))
	err := v.file.(uncacheable).Allocate(v.reserved, bytes)
	if err != nil && bytes > need {
		bytes, err = need, v.file.(uncacheable).Allocate(v.reserved, need)
	}
	if err == nil {
		v.reserved += bytes
	}
	return err
}

func (v *volume) read(stored []byte, offset int64) error {
	if v.behind != nil {
		return v.behind.read(v.file, stored, offset)
	}
	_, err := v.file.ReadAt(stored, offset)
	return err
}

// pick takes the volumes in turn, but for those that are full, and for those that are being written to as long as
// there are others.
func (s *Spill) pick() (int, *volume) {
	from := int(s.next.Add(1)-1) % len(s.volumes)
	for tries := 0; ; tries++ {
		i := (from + tries) % len(s.volumes)
		if v := s.volumes[i]; !v.full.Load() && (tries >= len(s.volumes) || v.busy.Load() == 0) {
			return i, v
		}
	}
}

// leaveOut marks the volumes in the folder of v as full, unless all others are.
func (s *Spill) leaveOut(v *volume) bool {
	s.mu.Lock() // two writers that fill two folders at once must not both leave theirs out
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.volumes, func(o *volume) bool { return o.folder != v.folder && !o.full.Load() }) {
		return false
	}
	for _, o := range s.volumes {
		if o.folder == v.folder {
			o.full.Store(true)
		}
	}
	return true
}

// OutOfRoom says how a folder is where an error means that it takes no more bytes; "" where it means something else.
func OutOfRoom(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "is full"
	case errors.Is(err, syscall.EDQUOT):
		return "has no quota left"
	case errors.Is(err, syscall.EFBIG):
		return "takes no larger file, by ulimit -f or its own limit"
	}
	return ""
}

func (s *Spill) writeError(v *volume, offset, need int64, err error) error {
	how := OutOfRoom(err)
	if how == "" {
		return fmt.Errorf("temporary directory %s: write at byte %d: %w", v.folder, offset, device.WithoutPath(err))
	}
	written, least := s.Written(), ""
	if s.opt.ExpectBytes < written+need {
		least = "at least "
	}
	all := human.Bytes(max(s.opt.ExpectBytes, written+need))
	advice := fmt.Sprintf("name another or several with %v", option.TempDirs)
	if s.opt.Checkpoint != nil {
		advice = "free some space, and run the same command again"
	}
	return fmt.Errorf("temporary directory %s %s: temporary data needs %s%s in total, %s were written (%s): %w",
		v.folder, how, least, all, human.Bytes(written), advice, device.WithoutPath(err))
}

// aligned is the room that a block of stored bytes takes in a file.
func aligned(bytes int) int64 { return (int64(bytes) + plan.SpillAlign - 1) &^ (plan.SpillAlign - 1) }
