package input

import (
	"errors"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// A seekable contains bytes that can be read at any offset: of a regular file, a block device, or
// the At of a Source. opener.shouldMap decides how a file is read.
type seekable struct {
	shownName  string      // name in messages
	source     io.ReaderAt // a *mappedFile, the open file, or the At of a Source
	cached     bool        // source is mapped, or would be if maps were not slow
	start      int64       // origin of offsets
	size       int64       // size from start on, when it was opened
	firstBytes []byte      // the first bytes, for recognizing the format

	remote *fetcher       // reads a remote source ahead; otherwise nil
	ahead  *sequenceAhead // the current sequential reader; nil if none exists
}

// newRegular returns random access to a file from its current position. It returns false if r can
// only be read sequentially, if it has a different size than it reports, or if it cannot be read;
// the error then occurs during reading.
func newRegular(shown string, r io.Reader) (at *seekable, local *localFile, ok bool) {
	file, ok := r.(*os.File)
	if !ok {
		return nil, nil, false
	}
	info, err := file.Stat()
	start, failed := file.Seek(0, io.SeekCurrent)
	if err != nil || failed != nil {
		return nil, nil, false
	}
	size, known := sizeOf(file, info, start)
	if !known || mayLie(info, size) && !endsAt(file, size) {
		return nil, nil, false
	}
	first := make([]byte, format.DetectBytes)
	n, err := file.ReadAt(first, start)
	if err != nil && err != io.EOF {
		return nil, nil, false
	}

	at = &seekable{
		shownName:  shown,
		source:     file,
		start:      start,
		size:       max(size-start, 0),
		firstBytes: first[:n],
	}
	local = &localFile{shownName: shown, file: file, openedInfo: info}
	return at, local, true
}

// isRegular reports whether r is a file that can be read at offsets.
func isRegular(r io.Reader) bool {
	_, _, ok := newRegular("", r)
	return ok
}

// sizeOf returns the size of a regular file or block device in bytes, or false for other files.
// The information about a block device contains no size, so sizeOf seeks to its end, and then to
// start.
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

// skip moves the origin of offsets forward by n bytes, and returns these bytes if keep is set.
func (f *seekable) skip(n int64, keep bool) (kept []byte, err error) {
	if f.size < n {
		return nil, tooShort(f.size, n)
	}
	if keep {
		kept = make([]byte, n)
		if _, err = f.ReadAt(kept, 0); err != nil && err != io.EOF {
			return nil, err
		}
	}

	f.start += n
	f.size -= n
	f.firstBytes = make([]byte, min(format.DetectBytes, f.size))
	if _, err = f.ReadAt(f.firstBytes, 0); err == io.EOF {
		err = nil
	}
	return kept, err
}

// mayLie reports whether the size that a file reports may be wrong. Files in /proc report a size of 0,
// or, for the memory of the kernel, more than any disk has. Files in /sys report the size of a page. The
// other sizes are not checked, because that would read a block that a look-up may not need.
func mayLie(info os.FileInfo, size int64) bool {
	const least, most = 64 << 10, 1 << 46
	return !info.Mode().IsRegular() || size <= least || size >= most
}

// endsAt reports whether a file can be read up to size.
func endsAt(file io.ReaderAt, size int64) bool {
	n, err := file.ReadAt(make([]byte, 1), max(size-1, 0))
	return int64(n) == min(size, 1) && (n == 1 || err == io.EOF)
}

// errShorter is wrapped with the name and the offset by the caller.
var errShorter = errors.New("the file became shorter while it was being read")

// sequence returns a sequential reader of a range. It does not prefetch the first bytes, because
// some callers only read those.
func (f *seekable) sequence(off, bytes int64) io.Reader {
	if f.remote == nil {
		return io.NewSectionReader(f, off, bytes)
	}
	first := min(streamBuffer, bytes)
	f.ahead = newSequenceAhead(f.remote, f, off+first, bytes-first)
	return io.MultiReader(io.NewSectionReader(f, off, first), f.ahead)
}

// ReadAt implements io.ReaderAt.
func (f *seekable) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.source.ReadAt(p, f.start+off)
	if n < len(p) && (err == nil || err == io.EOF && off+int64(len(p)) <= f.size) {
		return n, errShorter
	}
	return n, device.WithoutPath(err)
}

// Close ends reading ahead, and unmaps a mapped file. It does not close its descriptor.
func (f *seekable) Close() error {
	if f.ahead != nil {
		f.ahead.Close()
	}
	if pages, ok := f.source.(*mappedFile); ok {
		return pages.Close()
	}
	return nil
}
