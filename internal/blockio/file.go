package blockio

import (
	"io"
	"unsafe"
)

// Align is the alignment of the memory of requests in bytes. It is a multiple of the alignment that
// any File needs.
const Align = 4096

// A File can be read at any position, by several goroutines at a time.
type File interface {
	io.ReaderAt
	Props() Props
}

// A WritableFile can be written at any position, by several goroutines at a time.
type WritableFile interface {
	io.WriterAt
	Props() Props
}

// Props describes how a file is read and written.
type Props struct {
	// Align divides the offset and the length of each request, and the address of its memory. 0
	// and 1 mean that the file takes any range.
	Align int

	// Cached is set if the system reads the file ahead on its own. A Reader then does not read it
	// ahead.
	Cached bool
}

// Plain returns a File that takes any range.
func Plain(r io.ReaderAt) File { return plain{r} }

type plain struct{ io.ReaderAt }

func (plain) Props() Props { return Props{} }

// A Range is a part of a file.
type Range struct {
	File       File
	Off, Bytes int64
}

// skippedBytes returns how many bytes before the range a request reads, because the file needs
// alignment.
func (r *Range) skippedBytes() int64 {
	return r.Off % int64(max(r.File.Props().Align, 1))
}

// read reads a range, and the bytes around it that alignment requires, into the memory of a
// request. It returns the part of the memory that contains the range; after an error, the bytes
// before the error. REQUIRES: the range fits
func (r *Range) read(memory []byte) ([]byte, error) {
	align := int64(max(r.File.Props().Align, 1))
	skip := r.skippedBytes()
	end := skip + r.Bytes
	n, err := r.File.ReadAt(memory[:roundUp(end, align)], r.Off-skip)
	if int64(n) >= end {
		return memory[skip:end], nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return memory[skip:max(int64(n), skip)], err
}

// fittingBytes returns how many bytes a request with the given memory can read, starting at Off.
func (r *Range) fittingBytes(memory int) int64 { return int64(memory) - r.skippedBytes() }

// ReadAt fills dst with bytes of a file that a caller is waiting for. If the file needs alignment,
// they pass through the memory of requests; if not, p may be nil.
func (p *Pool) ReadAt(f File, dst []byte, off int64) (n int, err error) {
	if f.Props().Align <= 1 {
		n, err = f.ReadAt(dst, off)
		if n == len(dst) {
			err = nil
		}
		return n, err
	}

	for n < len(dst) && err == nil {
		var part int
		part, err = p.readPart(f, dst[n:], off+int64(n))
		n += part
	}
	return n, err
}

// readPart fills a prefix of dst by one request.
func (p *Pool) readPart(f File, dst []byte, off int64) (int, error) {
	b, err := p.waitForMemory(Demand)
	if err != nil {
		return 0, err
	}
	defer b.Release()
	r := Range{File: f, Off: off}
	r.Bytes = min(int64(len(dst)), r.fittingBytes(len(b.Bytes)))
	got, err := r.read(b.Bytes)
	return copy(dst, got), err
}

// roundUp rounds n up to a multiple of align.
func roundUp(n, align int64) int64 { return (n + align - 1) / align * align }

// alignedPart returns p without the bytes before the first multiple of Align.
func alignedPart(p []byte) []byte {
	return p[-uintptr(unsafe.Pointer(unsafe.SliceData(p)))%Align:]
}
