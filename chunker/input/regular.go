package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/exp/mmap"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// placed is what can be read at offsets: a regular file, by calls or through a memory map (see MaxOpen), a disk, or a
// Source.
type placed struct {
	shown   string      // its name in messages
	from    io.ReaderAt // nil: it is mapped, and no descriptor stays open
	file    *os.File    // the same; nil also where it is a Source
	info    os.FileInfo // nil: it is a Source
	version string      // of a Source
	start   int64       // where offsets count from
	bytes   int64       // from there on, when it was opened
	first   []byte      // the first of these, as many as it takes to recognise what they are

	pages *mmap.ReaderAt // of the whole file; nil: it is not mapped

	requests *Requests      // by which it is read ahead; nil: it is not remote
	ahead    *sequenceAhead // nil: none was begun

	last os.FileInfo // at the end of reading; nil: it is open, or mapped
}

// newRegular is what can be read at offsets, from where it is read now; nil: r can be read in sequence only. So can
// what has another size than it says or cannot be read: that error comes when it is read.
func newRegular(shown string, r io.Reader) *placed {
	file, ok := r.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	start, failed := file.Seek(0, io.SeekCurrent)
	if err != nil || failed != nil {
		return nil
	}
	size, known := sizeOf(file, info, start)
	if !known || !endsAt(file, size) {
		return nil
	}
	first := make([]byte, format.DetectBytes)
	n, err := file.ReadAt(first, start)
	if err != nil && err != io.EOF {
		return nil
	}
	return &placed{shown: shown, from: file, file: file, info: info, start: start, bytes: max(size-start, 0),
		first: first[:n]}
}

// sizeOf returns how many bytes a regular file or a disk has, and false for anything else. The information about a disk
// says that it has 0 bytes: only its end tells. The file is positioned at start afterwards.
func sizeOf(file io.Seeker, info os.FileInfo, start int64) (bytes int64, known bool) {
	if info.Mode().IsRegular() {
		return info.Size(), true
	}
	if !isDisk(info) {
		return 0, false
	}
	end, err := file.Seek(0, io.SeekEnd)
	_, failed := file.Seek(start, io.SeekStart)
	return end, err == nil && failed == nil
}

// skip lets offsets count from behind the first n bytes, and gives these if they are to be kept.
func (f *placed) skip(n int64, keep bool) (kept []byte, err error) {
	if f.bytes < n {
		return nil, tooShort(f.bytes, n)
	}
	if keep {
		kept = make([]byte, n)
		if _, err = f.ReadAt(kept, 0); err != nil && err != io.EOF {
			return nil, err
		}
	}
	f.start, f.bytes = f.start+n, f.bytes-n
	f.first = make([]byte, min(format.DetectBytes, f.bytes))
	if _, err = f.ReadAt(f.first, 0); err == io.EOF {
		err = nil
	}
	return kept, err
}

// endsAt reports whether a file can be read up to size. Those of /proc say that they have 0 bytes, those of /sys that
// they have a page.
func endsAt(file io.ReaderAt, size int64) bool {
	n, err := file.ReadAt(make([]byte, 1), max(size-1, 0))
	return int64(n) == min(size, 1) && (n == 1 || err == io.EOF)
}

// errShorter and errFault are what a caller wraps with the name and the offset.
var (
	errShorter = errors.New("the file became shorter while it was being read")
	errFault   = errors.New("the file became shorter, or its disk failed, while it was being read")
)

// mapWhole maps the file, whose descriptor is not needed any more. Where there are no addresses left, as for more than
// 128 TiB, it stays open, and so does a disk.
func (f *placed) mapWhole() (err error) {
	if isDisk(f.info) {
		return nil
	}
	f.pages, err = mmap.Open(pathOf(f.file))
	switch {
	case errors.Is(err, syscall.ENOMEM):
		return nil
	case err != nil:
		return fmt.Errorf("map %s: %w", f.shown, device.WithoutPath(err))
	}
	f.from, f.file = nil, nil
	return nil
}

// sequence reads bytes from an offset on in order. Nothing is fetched ahead for somebody who only looks at the first.
func (f *placed) sequence(off, bytes int64) io.Reader {
	if f.requests == nil {
		return io.NewSectionReader(f, off, bytes)
	}
	first := min(streamBuffer, bytes)
	f.ahead = newSequenceAhead(f.requests, f, off+first, bytes-first)
	return io.MultiReader(io.NewSectionReader(f, off, first), f.ahead)
}

// ReadAt reads like io.ReaderAt: by a call, unless it is mapped.
func (f *placed) ReadAt(p []byte, off int64) (int, error) {
	if f.from == nil {
		return copyMapped(p, f.pages, f.start+off)
	}
	n, err := f.from.ReadAt(p, f.start+off)
	if n < len(p) && (err == nil || err == io.EOF && off+int64(len(p)) <= f.bytes) {
		return n, errShorter
	}
	return n, device.WithoutPath(err)
}

func copyMapped(p []byte, pages *mmap.ReaderAt, off int64) (n int, err error) {
	err = device.Guard(func() error {
		n, err = pages.ReadAt(p, off)
		return err
	}, func(at uintptr) error { return mapFault(at, p) })
	return n, err
}

// mapFault is the error of a fault while a map was copied to p. The addresses of the map are not known, but only p is
// accessed beside it.
func mapFault(at uintptr, p []byte) error {
	if at-uintptr(unsafe.Pointer(unsafe.SliceData(p))) < uintptr(len(p)) {
		return nil
	}
	return errFault
}

// stat is about the file that was opened, or about how it was then if it is mapped and has lost its name since.
func (f *placed) stat() (os.FileInfo, error) {
	switch {
	case f.last != nil:
		return f.last, nil
	case f.file != nil:
		return f.file.Stat()
	}
	now, err := os.Stat(f.shown)
	if err != nil || !os.SameFile(now, f.info) {
		return f.info, nil // the map still holds the file that was opened
	}
	return now, nil
}

// check reports a file that is not as it was when it was opened, and warns of one that is longer. The tail of the last
// page of a file that was cut within it is mapped as zeros, without a fault.
func (f *placed) check(warn func(message string)) error {
	if f.info == nil {
		return nil
	}
	now, err := f.stat()
	if err != nil {
		return plainPathError(err)
	}
	switch before := f.info.Size(); {
	case now.Size() > before:
		warn(fmt.Sprintf("%s: the file grew while it was being read: %d bytes before, %d now; what was appended is left out",
			f.shown, before, now.Size()))
	case now.Size() < before:
		return fmt.Errorf("%s: the file changed while it was being read: %d bytes before, %d now; try again",
			f.shown, before, now.Size())
	case !now.ModTime().Equal(f.info.ModTime()):
		return fmt.Errorf("%s: the file was written to while it was being read; try again", f.shown)
	}
	return nil
}

// Close gives back the map: at the end of a sort, since whoever maps memory, as the driver of a GPU does, waits for a
// large map to be undone.
func (f *placed) Close() error {
	if f.ahead != nil {
		f.ahead.Close()
	}
	if f.pages == nil {
		return nil
	}
	return f.pages.Close()
}
