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
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// maxReserve limits the space in bytes that a file reserves beyond its blocks. Long ranges keep
// the blocks of several files apart on the disk, and fewer ranges have to be released later.
const maxReserve = 64 << 20

// maxVolumes limits the number of files in one directory.
const maxVolumes = 32

// reservePart limits the total reserve of all files to 1/reservePart of the spilled data.
const reservePart = 16

// A volume is one spill file. Blocks are appended. The space of blocks that are no longer needed
// is returned to the file system and not reused, because file offsets cost nothing.
type volume struct {
	folder string
	file   File
	direct bool // bypasses the page cache
	end    atomic.Int64
	full   atomic.Bool
	busy   atomic.Int32 // number of active writers

	ahead     int64 // bytes that may be reserved beyond the blocks; negative to reserve nothing
	reserving sync.Mutex
	reserved  int64 // number of bytes from the start of the file that are allocated
}

// createFile creates a file in a directory.
func (s *Spill) createFile(folder string, create func(folder string) (File, error)) (File, error) {
	file, err := create(folder)
	if err == nil {
		return file, nil
	}
	advice := fmt.Sprintf("name another with %v", option.TempDirs)
	if errors.Is(err, syscall.EMFILE) {
		advice = fmt.Sprintf("raise ulimit -n, or lower %v", option.Workers)
	}
	return nil, fmt.Errorf(
		"temporary directory %s: %w (%s)", folder, device.WithoutPath(err), advice,
	)
}

// createVolumes creates files in all directories. Consecutive volumes are in different
// directories.
func (s *Spill) createVolumes() error {
	opt := &s.opt
	all := device.MaxOpenFiles(maxVolumes * len(opt.Folders))
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
		v := &volume{
			folder: folder,
			file:   file,
			ahead:  s.reserveAhead(each * len(opt.Folders)),
		}
		if f, ok := file.(uncacheable); ok && s.writer != nil && f.Uncache() {
			v.direct = true
		}
		if opt.Checkpoint != nil {
			v.end.Store(opt.Checkpoint.ends[i])
		}
		s.volumes = append(s.volumes, v)
	}

	return nil
}

// reserveAhead returns how many bytes each file may reserve beyond its blocks. If there is little
// more space than planned, no file reserves any: writers then wait for each other, but use no
// more than the planned space. With several directories, a file reserves its extents all the same:
// an error of a later write would not show in time which directory is full.
func (s *Spill) reserveAhead(files int) int64 {
	switch {
	case !s.roomy && len(s.opt.Folders) > 1:
		return 0
	case !s.roomy:
		return -1
	}
	return min(maxReserve, s.opt.ExpectBytes/int64(reservePart*files))
}

// An extent is a range of one volume, filled with blocks that will be released together, because
// only long ranges are worth releasing. The zero extent has no space left.
type extent struct {
	volume    int
	next, end int64 // offsets in the file
}

// takeSpace takes size bytes of the extent. If the extent has less space left, it starts a new one:
// as many times size as fit in wanted bytes, but at least once. So blocks of equal sizes leave no
// gaps. A gap is only a range of offsets, but if it is reserved, it divides the file into short
// pieces, and a file system that is mounted with discard informs the disk of each one when the file
// is deleted.
func (s *Spill) takeSpace(e *extent, size, wanted int64) (volume int, offset int64) {
	if e.end-e.next < size {
		i, v := s.nextVolume()
		length := max(wanted/size, 1) * size
		end := v.end.Add(length)
		*e = extent{
			volume: i,
			next:   end - length,
			end:    end,
		}
	}

	e.next += size
	return e.volume, e.next - size
}

// writeBlock stores a block of an extent. end is the end of the extent, up to which it reserves
// space.
func (s *Spill) writeBlock(
	v *volume, stored []byte, offset, end int64, done *blockio.Batch,
) error {
	v.busy.Add(1)
	defer v.busy.Add(-1)

	if !v.direct {
		_, err := v.file.WriteAt(stored, offset)
		return err
	}

	if err := v.reserve(end); err != nil {
		return err
	}
	return s.writer.Write(v, stored, offset, done)
}

// reserve allocates the bytes before end. If the disk has space, it allocates more: as much as is
// already allocated, but at most v.ahead.
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
		bytes = need
		err = v.file.(uncacheable).Allocate(v.reserved, need)
	}

	if err == nil {
		v.reserved += bytes
	}
	return err
}

// nextVolume takes the volumes in turn. It skips full volumes, and volumes that are being written
// if there are others.
func (s *Spill) nextVolume() (int, *volume) {
	from := int(s.next.Add(1)-1) % len(s.volumes)
	for tries := 0; ; tries++ {
		i := (from + tries) % len(s.volumes)
		if v := s.volumes[i]; !v.full.Load() && (tries >= len(s.volumes) || v.busy.Load() == 0) {
			return i, v
		}
	}
}

// leaveOut marks the volumes in the directory of v as full, and returns true. If this would leave
// no volume, it marks none and returns false.
func (s *Spill) leaveOut(v *volume) bool {
	s.mu.Lock() // two writers that fill two directories at once must not both mark theirs
	defer s.mu.Unlock()

	if !slices.ContainsFunc(s.volumes, func(o *volume) bool {
		return o.folder != v.folder && !o.full.Load()
	}) {
		return false
	}
	for _, o := range s.volumes {
		if o.folder == v.folder {
			o.full.Store(true)
		}
	}

	return true
}

// OutOfRoom describes the state of a directory whose error means that it accepts no more data. It
// returns "" for other errors.
func OutOfRoom(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "is full"
	case errors.Is(err, syscall.EDQUOT):
		return "has no quota left"
	case errors.Is(err, syscall.EFBIG):
		return "allows no larger file (ulimit -f, or its own limit)"
	}
	return ""
}

func (s *Spill) writeError(v *volume, offset, need int64, err error) error {
	how := OutOfRoom(err)
	if how == "" {
		return fmt.Errorf(
			"temporary directory %s: write at byte %d: %w", v.folder, offset,
			device.WithoutPath(err),
		)
	}
	written := s.Written()
	least := ""
	if s.opt.ExpectBytes < written+need {
		least = "at least "
	}
	all := human.Bytes(max(s.opt.ExpectBytes, written+need))
	advice := fmt.Sprintf("name another or several with %v", option.TempDirs)
	if s.opt.Checkpoint != nil {
		advice = "free some space, and run the same command again"
	}
	return fmt.Errorf(
		"temporary directory %s %s: temporary data needs %s%s in total, %s was written (%s): %w",
		v.folder, how, least, all, human.Bytes(written), advice, device.WithoutPath(err),
	)
}

// aligned returns the space that a block occupies in a file.
func aligned(bytes int) int64 {
	return (int64(bytes) + plan.SpillAlign - 1) &^ (plan.SpillAlign - 1)
}
