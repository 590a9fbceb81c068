//go:build opencl && cgo && linux

package bench

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// residentKeys are the keys of a case in the memory of a device: a pristine copy, and buffers in
// which they are sorted.
type residentKeys struct {
	words        []byte // the unsorted keys
	data         algo.Data
	keys, values *cl.Buffer // the pristine copy, which no sort touches
	buffers      []*cl.Buffer
	watch        stopwatch // of the last sort

	// Results; reused, because the first touch of gigabytes takes longer than everything else.
	got, gotValues []byte
}

func newResidentKeys(
	ctx *cl.Context,
	q *cl.Queue,
	kind opencl.KeyKind,
	words []byte,
) (*residentKeys, error) {
	n := int64(len(words) / kind.WordBytes)
	k := &residentKeys{
		words: words,
		data: algo.Data{
			N:         n,
			KeyBits:   8 * kind.WordBytes,
			WordBytes: kind.WordBytes,
		},
	}
	wanted := []**cl.Buffer{&k.keys, &k.data.Keys, &k.data.KeysTmp}
	if kind.Values {
		wanted = append(wanted, &k.values, &k.data.Values, &k.data.ValuesTmp)
	}
	for i, to := range wanted {
		size := int64(len(words))
		if i >= 3 {
			size = 4 * n
		}
		b, err := ctx.NewBuffer(size)
		if err != nil {
			k.release()
			return nil, err
		}
		*to = b
		k.buffers = append(k.buffers, b)
	}
	if err := k.upload(q); err != nil {
		k.release()
		return nil, err
	}
	return k, nil
}

func (k *residentKeys) upload(q *cl.Queue) error {
	if k.values != nil {
		index := make([]byte, 4*k.data.N)
		inParts(k.data.N, func(begin, end int64) {
			for i := begin; i < end; i++ {
				binary.NativeEndian.PutUint32(index[4*i:], uint32(i))
			}
		})
		if err := q.Upload(k.values, index); err != nil {
			return err
		}
	}
	return q.Upload(k.keys, k.words)
}

// sort sorts a fresh copy of the keys and returns how long the device took.
func (k *residentKeys) sort(q *cl.Queue, s *algo.Sorter) (float64, error) {
	if err := k.reset(q); err != nil {
		return 0, err
	}
	k.watch = stopwatch{}
	s.Trace(k.watch.add)
	defer s.Trace(nil)
	started := time.Now()
	if err := s.Sort(q, &k.data, 0, k.data.KeyBits); err != nil {
		return 0, err
	}
	if err := q.Finish(); err != nil {
		return 0, err
	}
	if len(k.watch.events) == 0 { // fewer than two keys
		return time.Since(started).Seconds(), nil
	}
	return k.watch.seconds()
}

// reset restores the unsorted keys and values.
func (k *residentKeys) reset(q *cl.Queue) error {
	k.data.Passes = 0
	_, err := q.Copy(k.data.Keys, k.keys, int64(len(k.words)))
	if err == nil && k.values != nil {
		_, err = q.Copy(k.data.Values, k.values, 4*k.data.N)
	}
	if err != nil {
		return err
	}
	return q.Finish()
}

// check downloads the result and compares it with the unsorted keys.
func (k *residentKeys) check(q *cl.Queue) error {
	if k.got == nil {
		k.got = make([]byte, len(k.words))
	}
	if err := q.Download(k.got, k.data.Keys); err != nil {
		return fmt.Errorf("read the result back: %w", err)
	}
	size := k.data.WordBytes
	given := column{
		n:   k.data.N,
		key: wordReader(k.words, int64(size), size, binary.NativeEndian),
	}
	sorted := column{
		n:   k.data.N,
		key: wordReader(k.got, int64(size), size, binary.NativeEndian),
	}
	if k.values != nil {
		if err := k.readValues(q); err != nil {
			return err
		}
		sorted.value = func(i int64) uint32 {
			return binary.NativeEndian.Uint32(k.gotValues[4*i:])
		}
	}
	return check(given, sorted)
}

func (k *residentKeys) readValues(q *cl.Queue) error {
	if k.gotValues == nil {
		k.gotValues = make([]byte, 4*k.data.N)
	}
	if err := q.Download(k.gotValues, k.data.Values); err != nil {
		return fmt.Errorf("read the result back: %w", err)
	}
	return nil
}

// release frees the memory. It does nothing on nil.
func (k *residentKeys) release() {
	if k == nil {
		return
	}
	for _, b := range k.buffers {
		b.Release()
	}
}
