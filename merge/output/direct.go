package output

import "github.com/extsort/extsort/internal/blockio"

// A directWriter writes a file with direct I/O, bypassing the page cache. It writes whole requests.
// Some blocks go through the page cache instead: see blockio.Assembler.
type directWriter struct {
	cached cachedFile
	direct *blockio.DirectFile
	blocks *blockio.Assembler
}

// newDirectWriter returns a writer of a file that is also open for direct I/O.
func newDirectWriter(f rawFile, direct *blockio.DirectFile, requests *blockio.Pool) *directWriter {
	w := &directWriter{cached: newCachedFile(f), direct: direct}
	w.blocks = blockio.NewAssembler(requests, blockio.AssemblerOptions{
		File: &directFile{rawFile: &w.cached.rawFile, direct: direct},
		Rest: &w.cached,
	})
	return w
}

// WriteAt copies p. REQUIRES: no other call writes to the same range
func (w *directWriter) WriteAt(p []byte, offset int64) (int, error) {
	if err := w.blocks.Err(); err != nil {
		return 0, err
	}
	return w.blocks.WriteAt(p, offset)
}

// flush waits for the requests and writes incomplete blocks.
func (w *directWriter) flush() error { return w.blocks.Flush() }

// discard waits for the requests and forgets incomplete blocks.
func (w *directWriter) discard() { w.blocks.Reset() }

// sync makes the file durable.
func (w *directWriter) sync() error { return w.cached.sync() }

// close closes the file for direct I/O. It ignores errors, because the file is synced.
func (w *directWriter) close() {
	w.discard()
	w.direct.Close()
}

// A directFile writes like a rawFile, with direct I/O.
type directFile struct {
	*rawFile
	direct *blockio.DirectFile
}

// Props implements blockio.WritableFile.
func (d *directFile) Props() blockio.Props { return d.direct.Props() }

// WriteAt writes the memory of a request.
func (d *directFile) WriteAt(p []byte, offset int64) (int, error) {
	n, err := attempt(d.ops, "write output", func() (int, error) { return d.direct.WriteAt(p, offset) })
	if err != nil {
		err = writeError(d.name, offset+int64(n), err)
	}
	return n, err
}
