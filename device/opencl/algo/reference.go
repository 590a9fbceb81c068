//go:build opencl && cgo && linux

package algo

import (
	_ "embed"
	"errors"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

//go:embed kernels/reference.cl
var referenceSource string

// reference is the plainest radix sort, for tests of the device and of other algorithms.
type reference struct {
	ctx      *cl.Context
	mu       sync.Mutex
	variants map[int]*referenceKernels // by bytes of a word
	counts   *cl.Buffer
}

type referenceKernels struct {
	program              *cl.Program
	count, scan, reorder *cl.Kernel
}

const (
	referenceBits  = 4
	referenceItems = 1024
	referenceGroup = 64
)

func newReference(ctx *cl.Context, _ *cl.Device, _ Params) (Sorter, error) {
	counts, err := ctx.NewBuffer(8 << referenceBits * referenceItems)
	if err != nil {
		return nil, err
	}
	return &reference{ctx: ctx, variants: map[int]*referenceKernels{}, counts: counts}, nil
}

func (r *reference) kernels(wordBytes int) (*referenceKernels, error) {
	if k := r.variants[wordBytes]; k != nil {
		return k, nil
	}
	program, err := r.ctx.Build(referenceSource, cl.Defines{"WORD_BITS": 8 * wordBytes, "ITEMS": referenceItems})
	if err != nil {
		return nil, err
	}
	count, err1 := program.Kernel("count")
	scan, err2 := program.Kernel("scan")
	reorder, err3 := program.Kernel("reorder")
	k := &referenceKernels{program, count, scan, reorder}
	r.variants[wordBytes] = k
	return k, errors.Join(err1, err2, err3)
}

// Sort queues its passes under a lock, since all sorts share the one table of counts.
func (r *reference) Sort(q *cl.Queue, d *Data, fromBit, toBit int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, err := r.kernels(d.WordBytes)
	if err != nil {
		return err
	}
	for bit := fromBit; bit < toBit; bit += referenceBits {
		if err := r.pass(q, k, d, bit, min(referenceBits, toBit-bit)); err != nil {
			return err
		}
	}
	return q.Finish()
}

func (r *reference) pass(q *cl.Queue, k *referenceKernels, d *Data, shift, width int) error {
	n, at, mask, pairs := uint64(d.N), uint32(shift), uint32(1)<<width-1, uint32(0)
	if d.Values != nil {
		pairs = 1
	}
	if _, err := q.Launch(k.count, referenceItems, referenceGroup, []any{d.Keys, n, at, mask, r.counts}); err != nil {
		return err
	}
	if _, err := q.Launch(k.scan, 1, 1, []any{r.counts}); err != nil {
		return err
	}
	_, err := q.Launch(k.reorder, referenceItems, referenceGroup,
		[]any{d.Keys, d.Values, n, at, mask, r.counts, d.KeysTmp, d.ValuesTmp, pairs})
	d.Keys, d.KeysTmp = d.KeysTmp, d.Keys
	d.Values, d.ValuesTmp = d.ValuesTmp, d.Values
	d.Passes++
	return err
}

func (r *reference) Close() {
	for _, k := range r.variants {
		k.count.Release()
		k.scan.Release()
		k.reorder.Release()
		k.program.Release()
	}
	r.counts.Release()
}
