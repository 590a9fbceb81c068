//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// space is the scratch memory of the sorts on one queue. Commands of a queue run one after the other, so that one
// sort's scratch can be the next one's; the lock is held while a sort queues its commands.
type space struct {
	mu      sync.Mutex
	buffers map[string]*cl.Buffer
}

// run is one Sort under way. Its first error sticks, and later commands are not queued.
type run struct {
	ctx   *cl.Context
	q     *cl.Queue
	d     *Data
	v     variant
	space *space
	trace func(kernel string, e *cl.Event) // told of every launch; may be nil
	err   error
}

// buffer is scratch memory of at least that many bytes, the same for the same name until it must grow. A buffer
// that is replaced lives on until the commands that use it are done.
func (r *run) buffer(name string, bytes int64) *cl.Buffer {
	if old := r.space.buffers[name]; old != nil {
		if old.Bytes() >= bytes || r.err != nil {
			return old
		}
		old.Release()
		delete(r.space.buffers, name)
	}
	if r.err != nil {
		return nil
	}
	b, err := r.ctx.NewBuffer(bytes)
	if err != nil {
		r.err = err
		return nil
	}
	r.space.buffers[name] = b
	return b
}

// launch queues groups work-groups of size work-items.
func (r *run) launch(k *cl.Kernel, groups int64, size int, args ...any) {
	if r.err != nil {
		return
	}
	e, err := r.q.Launch(k, int(groups)*size, size, args)
	r.err = err
	if r.trace != nil && err == nil {
		r.trace(k.Name(), e)
	}
}

// move is launch for kernels that move the data: the buffers of values are appended to args where there are values.
func (r *run) move(k *cl.Kernel, groups int64, size int, args ...any) {
	if r.v.values {
		args = append(args, r.d.Values, r.d.ValuesTmp)
	}
	r.launch(k, groups, size, args...)
}

// swap makes what was written the data.
func (r *run) swap() {
	d := r.d
	d.Keys, d.KeysTmp = d.KeysTmp, d.Keys
	d.Values, d.ValuesTmp = d.ValuesTmp, d.Values
}

// words reads n words of 32 bits back, waiting for all that was queued before.
func (r *run) words(b *cl.Buffer, n int) []uint32 {
	if r.err != nil {
		return make([]uint32, n)
	}
	raw := make([]byte, 4*n)
	r.err = r.q.Download(raw, b, 0)
	words := make([]uint32, n)
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(raw[4*i:])
	}
	return words
}

func (r *run) n() uint64 { return uint64(r.d.N) }

// fill sets the first word of a buffer.
func (r *run) fill(b *cl.Buffer, word uint32) {
	if r.err == nil {
		_, r.err = r.q.Fill(b, word, 0, 4)
	}
}
