//go:build opencl && cgo && linux

package opencl

import (
	"encoding/binary"
	"math/bits"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/format"
)

// Kernels whose work-items stride through the data run with this many at most: enough for any device's units.
const (
	groupSize  = 256
	mostGroups = 4096
)

// strided launches a kernel of which each work-item takes every global-size-th of n elements.
func (c *chunk) strided(k *cl.Kernel, n int64, args []any) error {
	local := min(groupSize, c.engine.dev.MaxGroup)
	groups := min((n+int64(local)-1)/int64(local), mostGroups)
	_, err := c.session.kernels.Launch(k, int(groups)*local, local, args)
	return err
}

// identity reports whether bare keys are normalized as they stand, so that nothing need be done to them.
func (c *chunk) identity() bool {
	f := c.shape.layout.Key[0]
	return c.shape.bare && f.Type.Kind == format.Unsigned && !f.Type.BigEndian && !f.Desc &&
		f.Type.Size == c.shape.wordWidth() && c.engine.dev.LittleEndian
}

// rawKeys is where bare records are uploaded to.
func (c *chunk) rawKeys() *cl.Buffer {
	if c.identity() {
		return c.memory.data.Keys
	}
	return c.memory.data.KeysTmp
}

// sortBare sorts words and turns them back into records.
func (c *chunk) sortBare(b *built) error {
	d, n, k := &c.memory.data, c.records, b.program.kernels
	code := coding(c.shape.layout.Key[0])
	d.N, d.KeyBits, d.WordBytes, d.Passes = n, 8*c.shape.keyBytes, c.shape.wordWidth(), 0
	if !c.identity() {
		if err := c.strided(k["encode"], n, append([]any{d.KeysTmp, d.Keys, uint64(n)}, code...)); err != nil {
			return err
		}
	}
	if err := c.sortWord(b, surveyArgs{[]any{d.Keys, uint64(n), c.memory.bits}, 1}); err != nil {
		return err
	}
	c.out = d.Keys
	if c.identity() {
		return nil
	}
	c.out = d.KeysTmp
	return c.strided(k["decode"], n, append([]any{d.Keys, d.KeysTmp, uint64(n)}, code...))
}

// surveyArgs is the arguments of a survey kernel and the words that it reports on.
type surveyArgs struct {
	args  []any
	words int
}

// sortWord sorts the only word of bare keys by the bits that differ.
func (c *chunk) sortWord(b *built, s surveyArgs) error {
	found, err := c.survey(b, s)
	if err != nil {
		return err
	}
	return c.sortBits(b, found[0])
}

// sortBits sorts what is in memory.data by the bits that vary: from the lowest of them to the highest.
func (c *chunk) sortBits(b *built, varying uint64) error {
	d := &c.memory.data
	if varying == 0 || d.N < 2 {
		return nil
	}
	c.stats.Algorithm, _ = b.sorter.choice(kindOfData(d), d.N)
	err := b.sorter.sort(c.session.kernels, d, bits.TrailingZeros64(varying), bits.Len64(varying))
	c.stats.Passes = d.Passes
	return err
}

// survey finds for each word of the key which bits are not the same in all records.
func (c *chunk) survey(b *built, s surveyArgs) ([]uint64, error) {
	found := make([]byte, 16*s.words)
	for at := 8; at < len(found); at += 16 {
		binary.NativeEndian.PutUint64(found[at:], ^uint64(0))
	}
	if err := c.session.kernels.Upload(c.memory.bits, 0, found); err != nil {
		return nil, err
	}
	if err := c.strided(b.program.kernels["survey"], c.records, s.args); err != nil {
		return nil, err
	}
	if err := c.session.kernels.Download(found, c.memory.bits, 0); err != nil {
		return nil, err
	}
	varying := make([]uint64, s.words)
	for i := range varying {
		varying[i] = surveyed(found[16*i:]) &^ surveyed(found[16*i+8:])
	}
	return varying, nil
}

// surveyed puts the two halves together that the kernel keeps, low half first on any device.
func surveyed(b []byte) uint64 {
	return uint64(binary.NativeEndian.Uint32(b)) | uint64(binary.NativeEndian.Uint32(b[4:]))<<32
}

// sortByIndex sorts the index of the records by those words of their keys that vary. It tries the most significant
// word alone first, which as a rule tells all records apart or equal ones together, and then twice as many words and
// so on, until the order is that of the whole key. So a key of w words costs at most twice the sorting of w words.
func (c *chunk) sortByIndex(b *built) error {
	m, n := &c.memory, c.records
	m.data.N, m.data.Passes = n, 0
	words, err := c.varyingWords(b)
	if err != nil {
		return err
	}
	for k := 1; ; k *= 2 {
		k = min(k, len(words))
		if err := c.strided(b.program.kernels["number"], n, []any{m.data.Values, uint64(n)}); err != nil {
			return err
		}
		if err := c.sortByWords(b, words[:k]); err != nil || k == len(words) {
			return err
		}
		if ordered, err := c.ordered(b); err != nil || ordered {
			return err
		}
	}
}

// varyingWord is a word of the key and those of its bits that are not the same in all records.
type varyingWord struct {
	word
	bits uint64
}

func (c *chunk) varyingWords(b *built) ([]varyingWord, error) {
	m, all := &c.memory, c.shape.words()
	args := m.pointers(uint32(m.size), m.table, uint32(c.shape.keyBytes), uint64(c.records), m.bits)
	varying, err := c.survey(b, surveyArgs{args, len(all)})
	var words []varyingWord
	for i, bits := range varying {
		if bits != 0 {
			words = append(words, varyingWord{all[i], bits})
		}
	}
	return words, err
}

// sortByWords sorts by one word after the other, the least significant first.
func (c *chunk) sortByWords(b *built, words []varyingWord) error {
	for i := len(words) - 1; i >= 0; i-- {
		if err := c.sortByWord(b, words[i].word, words[i].bits); err != nil {
			return err
		}
	}
	return nil
}

// ordered reports whether the index is in the order of the whole key.
func (c *chunk) ordered(b *built) (bool, error) {
	m, found := &c.memory, make([]byte, 4)
	if err := c.session.kernels.Upload(m.bits, 0, found); err != nil {
		return false, err
	}
	args := m.pointers(uint32(m.size), m.table, uint32(c.shape.keyBytes), m.data.Values, uint64(m.data.N), m.bits)
	if err := c.strided(b.program.kernels["disorder"], m.data.N, args); err != nil {
		return false, err
	}
	err := c.session.kernels.Download(found, m.bits, 0)
	return binary.NativeEndian.Uint32(found) == 0, err
}

func (c *chunk) sortByWord(b *built, w word, varying uint64) error {
	m := &c.memory
	kernel := b.program.kernels["extract64"]
	if w.bytes() == 4 {
		kernel = b.program.kernels["extract32"]
	}
	m.data.KeyBits, m.data.WordBytes = w.bits(), w.bytes()
	args := m.pointers(uint32(m.size), m.table, m.data.Values, uint64(m.data.N), uint32(w.from), uint32(w.to), m.data.Keys)
	if err := c.strided(kernel, m.data.N, args); err != nil {
		return err
	}
	return c.sortBits(b, varying)
}

// algorithm is the name of the algorithm that the chunk is sorted by.
func (c *chunk) algorithm() string {
	if c.opt.Algorithm == "" {
		return algo.Names()[0]
	}
	return c.opt.Algorithm
}

// noteSort remembers the rate of sorting u64 keys, which the planner asks for.
func (e *engine) noteSort(c *chunk, seconds float64) {
	const enough = 1 << 20 // records: fewer say nothing of the device
	if !c.shape.bare || c.shape.keyBytes != 8 || c.records < enough || seconds <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sortRate = max(e.sortRate, 8*float64(c.records)/seconds)
}
