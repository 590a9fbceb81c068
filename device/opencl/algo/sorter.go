//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// A Sorter is one algorithm on one device. Several goroutines may use it, but all calls of Sort
// must use the same queue: its commands run one after the other, so all sorts can share one
// scratch memory.
type Sorter struct {
	ctx   *cl.Context
	p     Params
	build func(b *builder, p Params) kernelSet
	trace func(kernel string, e *cl.Event) // may be nil

	mu         sync.Mutex
	kernelSets map[variant]kernelSet
	used       []*builder // by which kernelSets were built

	sorting sync.Mutex // held while a sort queues its commands
	scratch map[string]*cl.Buffer
}

// A kernelSet contains the kernels of an algorithm for one variant.
type kernelSet interface {
	// sort queues the commands that sort r.d. It records an error in r.
	sort(r *run, fromBit, toBit int)
}

// Build builds the kernels for such data. Otherwise, the first Sort builds them.
func (s *Sorter) Build(d *Data) error {
	_, err := s.kernelsFor(variantOf(d, s.p.Wide))
	return err
}

// Sort orders d stably by the bits fromBit ≤ b < toBit of the key and ignores all other bits. It
// may return before the device is done; the next command in q sees the result.
func (s *Sorter) Sort(q *cl.Queue, d *Data, fromBit, toBit int) error {
	if err := d.validate(fromBit, toBit); err != nil {
		return err
	}
	if d.N < 2 || fromBit == toBit {
		return nil
	}
	v := variantOf(d, s.p.Wide)
	e, err := s.kernelsFor(v)
	if err != nil {
		return err
	}
	s.sorting.Lock()
	defer s.sorting.Unlock()
	r := &run{
		Sorter: s,
		q:      q,
		d:      d,
		v:      v,
	}
	e.sort(r, fromBit, toBit)
	return r.err
}

// kernelsFor returns the kernels for a variant. It builds them at first use.
func (s *Sorter) kernelsFor(v variant) (kernelSet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.kernelSets[v]; ok {
		return e, nil
	}
	b := &builder{ctx: s.ctx, v: v}
	e := s.build(b, s.p)
	if b.err != nil {
		b.release()
		return nil, b.err
	}
	s.kernelSets[v], s.used = e, append(s.used, b)
	return e, nil
}

// Trace calls f for every kernel launched from now on, with its name and event, so that a sort
// can be timed by the device's clock. nil ends that. REQUIRES: s is not sorting.
func (s *Sorter) Trace(f func(kernel string, e *cl.Event)) {
	s.trace = f
}

// Close frees kernels and scratch memory.
func (s *Sorter) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.used {
		b.release()
	}
	for _, b := range s.scratch {
		b.Release()
	}
	clear(s.kernelSets)
	clear(s.scratch)
}

// A run is one Sort in progress. After its first error, it queues no more commands.
type run struct {
	*Sorter
	q   *cl.Queue
	d   *Data
	v   variant
	err error
}

// buffer returns scratch memory of at least the given size. It is the same buffer for the same
// name until it must grow. A replaced buffer lives until the commands that use it are done.
func (r *run) buffer(name string, bytes int64) *cl.Buffer {
	old := r.scratch[name]
	if r.err != nil || old != nil && old.Bytes >= bytes {
		return old
	}
	old.Release()
	delete(r.scratch, name)
	b, err := r.ctx.NewBuffer(bytes)
	if r.err = err; err != nil {
		return nil
	}
	r.scratch[name] = b
	return b
}

// offsetBuffer is buffer with the size of length positions.
func (r *run) offsetBuffer(name string, length int64) *cl.Buffer {
	return r.buffer(name, r.v.offsetBytes()*length)
}

func (r *run) launch(k *cl.Kernel, groups int64, size int, args ...any) {
	if r.err != nil {
		return
	}
	e, err := r.q.Launch(k, int(groups)*size, size, args)
	if r.err = err; err == nil && r.trace != nil {
		r.trace(k.Name, e)
	}
}

// launchAndSwap launches a kernel that moves the data to the other buffers, and swaps the buffers.
func (r *run) launchAndSwap(k *cl.Kernel, groups int64, size int, args ...any) {
	all := append([]any{r.d.Keys, r.d.KeysTmp}, args...)
	if r.v.values {
		all = append(all, r.d.Values, r.d.ValuesTmp)
	}
	r.launch(k, groups, size, all...)
	r.swap()
}

func (r *run) swap() {
	d := r.d
	d.Keys, d.KeysTmp = d.KeysTmp, d.Keys
	d.Values, d.ValuesTmp = d.ValuesTmp, d.Values
}

// readWords reads n words of 4 or 8 bytes, after all commands queued before.
func (r *run) readWords(b *cl.Buffer, n, wordBytes int) []uint64 {
	words := make([]uint64, n)
	if r.err != nil {
		return words
	}
	raw := make([]byte, wordBytes*n)
	r.err = r.q.Download(raw, b)
	for i := range words {
		if wordBytes == 8 {
			words[i] = binary.NativeEndian.Uint64(raw[8*i:])
		} else {
			words[i] = uint64(binary.NativeEndian.Uint32(raw[4*i:]))
		}
	}
	return words
}

// readFlag reads the first word of a buffer.
func (r *run) readFlag(b *cl.Buffer) uint32 {
	return uint32(r.readWords(b, 1, 4)[0])
}

// toWord converts a value to a kernel's word_t.
func (r *run) toWord(x uint64) any {
	if r.v.wordBytes == 8 {
		return x
	}
	return uint32(x)
}

// copyPart copies a part of a buffer. If src is nil, it does nothing.
func (r *run) copyPart(
	dst *cl.Buffer,
	dstOffset int64,
	src *cl.Buffer,
	srcOffset, n int64,
) {
	if r.err == nil && src != nil {
		_, r.err = r.q.CopyPart(dst, dstOffset, src, srcOffset, n)
	}
}

func (r *run) fill(b *cl.Buffer, word uint32) {
	if r.err == nil {
		_, r.err = r.q.Fill(b, word)
	}
}

func (r *run) keyCount() uint64 { return uint64(r.d.N) }
