package columns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The first bytes of Arrow files and streams. A file is a stream between its magic and its footer,
// so that both are read in the same way.
var (
	arrowFileMagic   = []byte("ARROW1\x00\x00")
	arrowStreamMagic = []byte{0xff, 0xff, 0xff, 0xff}
	arrowFileEnd     = []byte("ARROW1")
)

// An arrowStream is an open Arrow file or stream. Its row groups are record batches.
type arrowStream struct {
	name   string
	file   *os.File
	before os.FileInfo // nil: not a regular file
	isFile bool        // not a stream
	from   io.Reader
	ended  bool
	reader *ipc.Reader
	memory *boundedAllocator // of the batches
	first  arrow.RecordBatch // the next one, if it has been read; otherwise nil
}

// maxBodyBytes is the largest size of a record batch that is not damage. The allocator refuses those that do
// not fit into the memory.
const maxBodyBytes = 1 << 40

// isArrow reports whether a file begins like Arrow data.
func isArrow(head []byte) bool {
	return bytes.HasPrefix(head, arrowFileMagic) || bytes.HasPrefix(head, arrowStreamMagic)
}

// openArrow starts to read Arrow data. head holds the bytes that have been read already.
func openArrow(name string, f *os.File, info os.FileInfo, head []byte, maxBytes int64) (in *arrowStream, err error) {
	in = &arrowStream{name: name, file: f, isFile: bytes.HasPrefix(head, arrowFileMagic)}
	if info.Mode().IsRegular() {
		in.before = info
	}
	if in.isFile {
		head = head[len(arrowFileMagic):]
	}
	const bufferBytes = 1 << 20
	from := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), f), bufferBytes)
	if err := checkSchema(from); err != nil {
		return nil, err
	}
	in.from = from
	in.memory = newBoundedAllocator(maxBytes)
	// ipc.NewReader of arrow-go 18.8 ignores the limits.
	options := []ipc.Option{
		ipc.WithAllocator(in.memory),
		ipc.WithBodySizeLimit(maxBodyBytes),
		ipc.WithMetadataSizeLimit(maxBytes),
	}
	in.reader, err = ipc.NewReaderFromMessageReader(ipc.NewMessageReader(from, options...), options...)
	if err != nil {
		return nil, fmt.Errorf("is damaged Arrow data: %w", err)
	}
	return in, in.peek()
}

// peek reads the first record batch.
func (in *arrowStream) peek() (err error) {
	in.first, err = in.nextBatch()
	if err == io.EOF {
		return nil
	}
	return err
}

// nextBatch reads a record batch. At the end it returns io.EOF itself.
func (in *arrowStream) nextBatch() (arrow.RecordBatch, error) {
	if !in.reader.Next() {
		err := in.reader.Err()
		if err != nil && in.memory.isExceeded() { // the reader does not always wrap it
			return nil, errBatchTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("is damaged Arrow data: %w", notEnd(err))
		}
		return nil, in.checkEnd()
	}
	batch := in.reader.RecordBatch()
	batch.Retain()
	in.memory.hold()
	return batch, nil
}

// checkEnd reads the bytes after the last record batch. It returns io.EOF, or an error if rows would be left out: a
// file that was cut between two batches looks like a shorter one, and several files can be joined in one.
func (in *arrowStream) checkEnd() error {
	if in.ended {
		return io.EOF
	}
	end := &tail{size: footerLengthBytes + len(arrowFileEnd)}
	n, err := io.Copy(end, in.from)
	switch {
	case err != nil:
		return notEnd(err)
	case !in.isFile && end.hasData:
		return errAfterEnd
	case !in.isFile:
	case !bytes.HasSuffix(end.last, arrowFileEnd):
		return errors.New("is an Arrow file without its end: it was cut, or is still being written")
	case n >= int64(len(end.last))+int64(binary.LittleEndian.Uint32(end.last))+maxPadding:
		return errAfterEnd
	}
	in.ended = true
	return io.EOF
}

var errAfterEnd = errors.New("has other bytes after the end of its Arrow data: " +
	"if several files were joined, name each as an input")

// The footer of an Arrow file is followed by its length and the magic. Fewer than maxPadding bytes precede it.
const (
	footerLengthBytes = 4
	maxPadding        = 64
)

// A tail keeps the last bytes that are written to it.
type tail struct {
	size    int
	last    []byte
	hasData bool // there are bytes other than zeros
}

func (t *tail) Write(p []byte) (int, error) {
	t.hasData = t.hasData || len(bytes.Trim(p, "\x00")) > 0
	t.last = append(t.last, p[max(len(p)-t.size, 0):]...)
	t.last = t.last[max(len(t.last)-t.size, 0):]
	return len(p), nil
}

// notEnd returns an error that no caller takes for the end of the input.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%v: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

func (in *arrowStream) stat() os.FileInfo { return in.before }

func (in *arrowStream) label() string { return in.name }

func (in *arrowStream) count() int64 { return -1 }

func (in *arrowStream) sameSchema(other input) bool {
	first, ok := other.(*arrowStream)
	return ok && in.reader.Schema().Equal(first.reader.Schema())
}

func (in *arrowStream) close() {
	in.reader.Release()
	in.file.Close() // closing a file that was only read cannot lose data
}

func (in *arrowStream) checkUnchanged() error {
	if in.before == nil {
		return nil
	}
	return checkUnchanged(in.name, in.file, in.before)
}

// next reads the next record batch.
func (in *arrowStream) next() (openRows, error) {
	batch := in.first
	in.first = nil
	if batch == nil {
		var err error
		if batch, err = in.nextBatch(); err != nil {
			return nil, err
		}
	}
	release := func() {
		batch.Release()
		in.memory.letGo()
	}
	return func(l *layout, maxRows int, _ *floatFacts) (d *rowDecoder, err error) {
		defer func() {
			if d == nil { // also after a panic
				release()
			}
		}()
		if d, err = newBatchDecoder(batch, l, maxRows); err != nil {
			return nil, err
		}
		d.release = release
		return d, nil
	}, nil
}

// groupBytes returns the size of the first record batch.
func (in *arrowStream) groupBytes() (total int64) {
	if in.first == nil {
		return 0
	}
	for _, column := range in.first.Columns() {
		for _, buffer := range column.Data().Buffers() {
			if buffer != nil {
				total += int64(buffer.Len())
			}
		}
	}
	return total
}

// sample reads rows of the first record batch.
func (in *arrowStream) sample(s *sample, l *layout, _ int) (err error) {
	if in.first == nil {
		return nil
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("is damaged Arrow data: %v", reason)
		}
	}()
	d, err := newBatchDecoder(in.first, l, sampledRows)
	if err != nil {
		return err
	}
	return s.read(d)
}

func (in *arrowStream) columns() (all []*column) {
	for i, field := range in.reader.Schema().Fields() {
		c := &column{name: field.Name, index: i, arrowType: field.Type}
		if field.Nullable {
			c.maxLevel = 1
		}
		c.refused = c.setArrowType(storageType(field.Type))
		all = append(all, c)
	}
	return all
}

// A boundedAllocator limits the memory of record batches. If a batch does not fit beside those that are
// being decoded, the allocation waits until they are released. It panics if the batch does not fit alone,
// because buffers of damaged data can claim any size. The readers return the panic as an error.
type boundedAllocator struct {
	memory.GoAllocator
	max int64

	mu       sync.Mutex
	released sync.Cond
	used     int64
	held     int // batches that will be released without another allocation
	exceeded bool
}

func newBoundedAllocator(max int64) *boundedAllocator {
	a := &boundedAllocator{max: max}
	a.released.L = &a.mu
	return a
}

var errBatchTooLarge = errors.New("its record batches are too large for the memory: increase the memory limit")

// hold counts a batch that a decoder will release.
func (a *boundedAllocator) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held++
}

// letGo follows the release of a batch.
func (a *boundedAllocator) letGo() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held--
	a.released.Broadcast()
}

// isExceeded reports whether an allocation has failed.
func (a *boundedAllocator) isExceeded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exceeded
}

func (a *boundedAllocator) grow(by int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for by > 0 && a.used+by > a.max && a.held > 0 {
		a.released.Wait()
	}
	if by > 0 && a.used+by > a.max {
		a.exceeded = true
		panic(errBatchTooLarge)
	}
	a.used += by
}

func (a *boundedAllocator) Allocate(size int) []byte {
	a.grow(int64(size))
	return a.GoAllocator.Allocate(size)
}

func (a *boundedAllocator) Reallocate(size int, b []byte) []byte {
	a.grow(int64(size) - int64(len(b)))
	return a.GoAllocator.Reallocate(size, b)
}

func (a *boundedAllocator) Free(b []byte) {
	a.grow(-int64(len(b)))
	a.GoAllocator.Free(b)
}
