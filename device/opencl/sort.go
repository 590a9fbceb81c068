//go:build opencl && cgo && linux

package opencl

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// A kernel whose work-items stride through the data has at most this many of them. That occupies
// all units of any device.
const (
	groupSize = 256
	mostItems = 4096 * groupSize
)

// launchOver queues one of the chunk's kernels over at least n work-items; it fills the last
// work-group.
func (c *chunk) launchOver(
	q *cl.Queue,
	kernel string,
	n int,
	args []any,
	waits ...*cl.Event,
) (*cl.Event, error) {
	p, err := c.program()
	if err != nil {
		return nil, err
	}
	k, err := p.Kernel(kernel)
	if err != nil {
		return nil, err
	}
	local := min(groupSize, c.device.dev.MaxGroup)
	return q.Launch(k, (n+local-1)/local*local, local, args, waits...)
}

// launchStrided launches a kernel whose work-items process n elements with a stride of the global
// size.
func (c *chunk) launchStrided(kernel string, n int64, args ...any) error {
	_, err := c.launchOver(c.session.kernels, kernel, int(min(n, mostItems)), args)
	return err
}

// keysAreNative reports whether bare keys equal their normalized form, so that they need no
// conversion.
func (c *chunk) keysAreNative() bool {
	return c.shape.isBare && c.opt.Keyer.Identity() &&
		c.shape.recordBytes == c.shape.wordWidth()
}

// rawKeys returns the buffer to which bare records are uploaded.
func (c *chunk) rawKeys() *cl.Buffer {
	if c.keysAreNative() {
		return c.memory.data.Keys
	}
	return c.memory.data.KeysTmp
}

// sortBare sorts the words and converts them back to records.
func (c *chunk) sortBare() error {
	d := &c.memory.data
	n := c.records
	code := codingArgs(c.shape.layout.Key[0])
	d.N, d.KeyBits, d.WordBytes, d.Passes = n, 8*c.shape.keyBytes, c.shape.wordWidth(), 0
	if !c.keysAreNative() {
		if err := c.launchStrided("encode", n, append([]any{d.KeysTmp, d.Keys, uint64(n)}, code...)...); err != nil {
			return err
		}
	}
	varying, err := c.survey(1, d.Keys, uint64(n), c.memory.bits)
	if err == nil {
		err = c.sortBits(varying[0])
	}
	if c.out = d.Keys; err != nil || c.keysAreNative() {
		return err
	}
	c.out = d.KeysTmp
	return c.launchStrided(
		"decode", n, append([]any{d.Keys, d.KeysTmp, uint64(n)}, code...)...,
	)
}

// sortBits sorts memory.data by the range of bits that vary.
func (c *chunk) sortBits(varying uint64) error {
	d := &c.memory.data
	if varying == 0 || d.N < 2 {
		return nil
	}
	s, name, err := c.sorter()
	if err == nil {
		err = s.Sort(
			c.session.kernels,
			d,
			bits.TrailingZeros64(varying),
			bits.Len64(varying),
		)
	}
	c.stats.Algorithm = name
	c.stats.Passes = d.Passes
	return err
}

// survey returns for each word of the key which bits differ between records.
func (c *chunk) survey(words int, args ...any) ([]uint64, error) {
	// OR and AND of each.
	found := bytes.Repeat(
		binary.NativeEndian.AppendUint64(make([]byte, 8), ^uint64(0)), words,
	)
	if err := c.runOnBits("survey", found, args...); err != nil {
		return nil, err
	}
	varying := make([]uint64, words)
	for i := range varying {
		varying[i] = binary.LittleEndian.Uint64(found[16*i:]) &^ binary.LittleEndian.Uint64(found[16*i+8:])
	}
	return varying, nil
}

// runOnBits runs a kernel over all records that updates memory.bits.
func (c *chunk) runOnBits(kernel string, found []byte, args ...any) error {
	if err := c.session.kernels.Upload(c.memory.bits, found); err != nil {
		return err
	}
	if err := c.launchStrided(kernel, c.records, args...); err != nil {
		return err
	}
	return c.session.kernels.Download(found, c.memory.bits)
}

// sortByIndex sorts the index of the records by the varying words of their keys. It tries the most
// significant word alone first, which usually decides the order. If it does not, sortByIndex
// doubles the number of words until the index is in the order of the whole keys. So the total cost
// for a key of w words is at most twice the cost of sorting by w words directly.
func (c *chunk) sortByIndex() error {
	m := &c.memory
	n := c.records
	m.data.N = n
	m.data.Passes = 0
	words, err := c.varyingWords()
	if err != nil {
		return err
	}
	for k := 1; ; k *= 2 {
		k = min(k, len(words))
		if err := c.launchStrided("number", n, m.data.Values, uint64(n)); err != nil {
			return err
		}
		for i := range k {
			if err := c.sortByWord(words[k-1-i]); err != nil {
				return err
			}
		}
		if k == len(words) {
			return nil
		}
		if ordered, err := c.isIndexSorted(); err != nil || ordered {
			return err
		}
	}
}

// varyingWord is a word of the key, with the bits that differ between records.
type varyingWord struct {
	word
	varying uint64
}

func (c *chunk) varyingWords() ([]varyingWord, error) {
	m := &c.memory
	all := c.shape.words()
	args := m.pointers(
		uint32(c.shape.recordBytes),
		m.table,
		uint32(c.shape.keyBytes),
		uint64(c.records),
		m.bits,
	)
	found, err := c.survey(len(all), args...)
	var words []varyingWord
	for i, varying := range found {
		if varying != 0 {
			words = append(words, varyingWord{all[i], varying})
		}
	}
	return words, err
}

// isIndexSorted reports whether the index is sorted by the whole key.
func (c *chunk) isIndexSorted() (bool, error) {
	m := &c.memory
	found := make([]byte, 4)
	args := m.pointers(
		uint32(c.shape.recordBytes),
		m.table,
		uint32(c.shape.keyBytes),
		m.data.Values,
		uint64(m.data.N),
		m.bits,
	)
	err := c.runOnBits("disorder", found, args...)
	return binary.NativeEndian.Uint32(found) == 0, err
}

func (c *chunk) sortByWord(w varyingWord) error {
	d := &c.memory.data
	m := &c.memory
	d.KeyBits, d.WordBytes = w.bits(), w.bytes()
	args := m.pointers(
		uint32(c.shape.recordBytes),
		m.table,
		d.Values,
		uint64(d.N),
		uint32(w.from),
		uint32(w.to),
		d.Keys,
	)
	if err := c.launchStrided(fmt.Sprint("extract", 8*w.bytes()), d.N, args...); err != nil {
		return err
	}
	return c.sortBits(w.varying)
}

// bestRadix returns onesweep if the device supports ballots, and otherwise the first algorithm,
// which runs everywhere.
func bestRadix(ctx *cl.Context) string {
	if algo.HasBallots(ctx) {
		return "onesweep"
	}
	return algo.Names()[0]
}

// chooseSort returns the algorithm and its parameters for n keys of a kind: the algorithm that the
// user named, otherwise the fastest one according to the Tuning, otherwise the default.
func (c *chunk) chooseSort(kind KeyKind, n int64) (name string, p algo.Params) {
	digitBits := c.device.opt.DigitBits
	tuning := c.device.opt.Tuning
	if name = c.opt.Algorithm; name == "" && digitBits > 0 {
		name = c.session.radix()
	}
	if name != "" {
		p = tuning.params(name, kind)
		p.DigitBits = cmp.Or(digitBits, p.DigitBits)
		return name, p
	}
	best, ok := tuning.best(kind, n)
	if ok {
		return best.Algorithm, best.Params
	}
	if name = c.session.radix(); name == "onesweep" {
		name = "hybrid" // its later passes are onesweep passes
	}
	return name, algo.Params{}
}

// sorter returns the sorter for the words in memory, with its kernels built. If measured
// parameters cannot be built any more, for example after a driver update, it uses the defaults.
func (c *chunk) sorter() (s *algo.Sorter, name string, err error) {
	d := &c.memory.data
	name, p := c.chooseSort(KeyKind{
		WordBytes: d.WordBytes,
		Values:    d.Values != nil,
	}, d.N)
	defaults := algo.Params{DigitBits: c.device.opt.DigitBits}
	if s, err = c.session.sorter(name, p, d); err != nil && p != defaults {
		s, err = c.session.sorter(name, defaults, d)
	}
	return s, name, err
}

// sorter returns the session's sorter with this name and these parameters, with its kernels for
// such data built.
func (s *session) sorter(
	name string,
	p algo.Params,
	d *algo.Data,
) (*algo.Sorter, error) {
	sorter, err := getOrCreate(s, s.sorters, fmt.Sprint(name, p), func() (*algo.Sorter, error) {
		return algo.New(s.ctx, name, p)
	})
	if err == nil {
		err = sorter.Build(d)
	}
	return sorter, err
}
