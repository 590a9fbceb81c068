package session

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

var errInjected = errors.New("injected fault")

// An injector counts the operations of its test doubles, from 0, and fails operation number failAt.
type injector struct {
	failAt int64
	// With panics, the operation panics with the error instead. Close operations don't panic,
	// because they would leave files open.
	panics bool
	// With cancel, the operation succeeds and cancels the context of the run instead.
	cancel context.CancelCauseFunc
	count  atomic.Int64
	failed atomic.Pointer[string] // name of the operation that failed
}

func (i *injector) step(operation string) error {
	if i.panics && strings.HasPrefix(operation, "close") {
		return nil
	}
	if i.count.Add(1)-1 != i.failAt {
		return nil
	}
	i.failed.Store(&operation)
	if i.panics {
		panic(errInjected)
	}
	if i.cancel != nil {
		i.cancel(errInjected)
		return nil
	}
	return errInjected
}

// faults returns seams that are all filled with doubles. Without unnamed files, the output has a
// temporary name.
func (i *injector) faults(unnamed bool) faults {
	return faults{
		wrapDataset: func(d chunker.Dataset) chunker.Dataset { return &faultDataset{d, i} },
		wrapDevice:  func(d device.Device) device.Device { return &faultDevice{d, i} },
		spillStore:  &faultStore{i},
		output: func(operation string) error {
			if operation == "create output" && !unnamed {
				return errors.ErrUnsupported
			}
			return i.step(operation)
		},
	}
}

type faultDataset struct {
	chunker.Dataset
	*injector
}

func (d *faultDataset) Cut(maxRecords int64) (device.Source, error) {
	if err := d.step("cut"); err != nil {
		return nil, err
	}
	src, err := d.Dataset.Cut(maxRecords)
	if src == nil {
		return nil, err
	}
	return &faultSource{src, d.injector}, err
}

func (d *faultDataset) Split(n int) []device.Source {
	sources := d.Dataset.Split(n)
	for i, src := range sources {
		sources[i] = &faultSource{src, d.injector}
	}
	return sources
}

func (d *faultDataset) Sample(ctx context.Context, k format.Prefixer, n int) (plan.Sample, error) {
	if err := d.step("sample"); err != nil {
		return plan.Sample{}, err
	}
	return d.Dataset.Sample(ctx, k, n)
}

func (d *faultDataset) Check(warn func(string)) error {
	return errors.Join(d.step("check input"), d.Dataset.Check(warn))
}

func (d *faultDataset) Close() error { return errors.Join(d.step("close input"), d.Dataset.Close()) }

type faultSource struct {
	device.Source
	*injector
}

func (s *faultSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	if err := s.step("read"); err != nil {
		return 0, 0, err
	}
	return s.Source.Next(max, place)
}

type faultDevice struct {
	device.Device
	*injector
}

func (d *faultDevice) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	if err := d.step("allocate chunk"); err != nil {
		return nil, err
	}
	c, err := d.Device.NewChunk(ctx, opt)
	return &faultChunk{c, d.injector}, err
}

type faultChunk struct {
	device.Chunk
	*injector
}

func (c *faultChunk) Load(ctx context.Context, src device.Source) (int64, error) {
	n, err := c.Chunk.Load(ctx, src)
	return n, errors.Join(c.step("load"), err)
}

func (c *faultChunk) Sort(ctx context.Context) error {
	return errors.Join(c.step("sort"), c.Chunk.Sort(ctx))
}

func (c *faultChunk) Store(ctx context.Context, limit int64, drain bool, w device.BlockWriter) error {
	return errors.Join(c.Chunk.Store(ctx, limit, drain, w), c.step("store"))
}

// Select and Retain call the methods of the chunk. The CPU supports both, except Select for
// layouts without it.

func (c *faultChunk) Select(ctx context.Context, src device.Source, low, high uint64) (int64, uint64, error) {
	n, last, err := c.Chunk.Select(ctx, src, low, high)
	return n, last, errors.Join(c.step("select"), err)
}

func (c *faultChunk) Retain(ctx context.Context, limit, memoryBytes int64) (*device.Retained, error) {
	if err := c.step("keep"); err != nil {
		return nil, err
	}
	kept, err := c.Chunk.Retain(ctx, limit, memoryBytes)
	if kept != nil {
		read := kept.Read
		kept.Read = func(i int, dst []byte) ([]byte, error) {
			if err := c.step("read kept block"); err != nil {
				return nil, err
			}
			return read(i, dst)
		}
	}
	return kept, err
}

type faultStore struct{ *injector }

func (s *faultStore) Free(folders []string) int64 { return spill.Disk{}.Free(folders) }

func (s *faultStore) Create(folder string) (spill.File, error) {
	if err := s.step("create spill"); err != nil {
		return nil, err
	}
	f, err := spill.Disk{}.Create(folder)
	return &faultSpill{f, s.injector}, err
}

type faultSpill struct {
	spill.File
	*injector
}

func (f *faultSpill) ReadAt(p []byte, off int64) (int, error) {
	if err := f.step("read spill"); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultSpill) WriteAt(p []byte, off int64) (int, error) {
	if err := f.step("write spill"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultSpill) Close() error { return errors.Join(f.step("close spill"), f.File.Close()) }
