package computed

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/extsort/extsort/format"
)

// A Program computes the keys of records. Several goroutines can use it.
type Program struct {
	Layout format.Layout // of the records followed by their computed keys

	recordSize int // in bytes, without the computed keys
	calls      []*call

	mu sync.Mutex // of the ranges that Observe finds
}

// A call is a function with its fields.
type call struct {
	key    *key
	fields []format.Field
	axes   []*axis       // of a curve
	keyer  *format.Keyer // of the only field of bit_reverse
	at     int           // offset of the key from the beginning of a record
	size   int           // bytes of the key
}

// keyBytes and wideKeyBytes are the sizes of computed keys.
const (
	keyBytes     = 8
	wideKeyBytes = 16
)

// Bind returns the program that computes the keys of records of a layout. The key of the layout
// consists of the Fields.
func (k *Keys) Bind(l format.Layout) (*Program, error) {
	p := &Program{recordSize: l.RecordSize}
	p.Layout.RecordSize = l.RecordSize
	fields := l.Key
	for i := range k.keys {
		one := &k.keys[i]
		if one.function == nil {
			p.Layout.Key = append(p.Layout.Key, fields[0])
			fields = fields[1:]
			continue
		}
		n := len(one.fields)
		c, err := newCall(one, l.RecordSize, slices.Clone(fields[:n]))
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", one.text, err)
		}
		fields = fields[n:]
		c.at = p.Layout.RecordSize
		p.Layout.RecordSize += c.size
		p.Layout.Key = append(p.Layout.Key, format.Field{Offset: c.at, Type: c.resultType(), Desc: one.desc})
		p.calls = append(p.calls, c)
	}
	return p, p.Layout.Validate()
}

// newCall returns the call of a function with fields of records of size bytes.
func newCall(k *key, size int, fields []format.Field) (*call, error) {
	c := &call{key: k, fields: fields, size: keyBytes}
	for i := range fields {
		f := &fields[i]
		f.Desc = false
		f.NaN = format.NaNTotal
		f.Numeric = false
		if !k.function.accepts(f.Type) {
			return nil, fmt.Errorf("%s has type %v, but %s needs %s",
				k.fields[i].field, f.Type, k.function.name, k.function.types)
		}
	}
	if !k.function.isCurve {
		var err error
		c.keyer, err = format.NewKeyer(format.Layout{RecordSize: size, Key: fields[:1]})
		return c, err
	}

	if k.bits*len(fields) > 8*keyBytes {
		c.size = wideKeyBytes
	}
	for i, f := range fields {
		a, err := newAxis(f, size, k.fields[i])
		if err != nil {
			return nil, err
		}
		c.axes = append(c.axes, a)
	}
	return c, nil
}

// resultType returns the type of the computed key.
func (c *call) resultType() format.Type { return format.Type{Kind: format.Unsigned, Size: c.size} }

// Columns returns the column of the only computed key with a name.
func (p *Program) Columns(name string) []format.Column {
	c := p.calls[0]
	return []format.Column{{Name: name, Offset: c.at, Type: c.resultType()}}
}

// Unknown returns the fields whose ranges were not given.
func (p *Program) Unknown() (fields []string) {
	for _, a := range p.axes() {
		if !a.isGiven {
			fields = append(fields, a.name)
		}
	}
	return fields
}

// axes returns the dimensions of all curves.
func (p *Program) axes() (axes []*axis) {
	for _, c := range p.calls {
		axes = append(axes, c.axes...)
	}
	return axes
}

// Observe extends the ranges that were not given to the values of records.
func (p *Program) Observe(recs []byte) {
	for _, a := range p.axes() {
		if a.isGiven {
			continue
		}
		low, high := a.extremes(recs, p.recordSize)
		p.mu.Lock()
		a.low = min(a.low, low)
		a.high = max(a.high, high)
		p.mu.Unlock()
	}
}

// Ready prepares the program for Append, after all calls of Observe.
func (p *Program) Ready() {
	for _, a := range p.axes() {
		a.setScale(p.bitsOf(a))
	}
}

// bitsOf returns the number of bits of a dimension.
func (p *Program) bitsOf(a *axis) int {
	at := slices.IndexFunc(p.calls, func(c *call) bool { return slices.Contains(c.axes, a) })
	return p.calls[at].key.bits
}

// String describes everything that determines the computed keys. The text of a nil Program is
// "none".
func (p *Program) String() string {
	if p == nil {
		return "none"
	}
	text := ""
	for _, c := range p.calls {
		text += c.key.text
		for _, a := range c.axes {
			text += fmt.Sprintf(" %x:%x", a.low, a.high)
		}
		text += ";"
	}
	return text
}

// blockRecords is the number of records whose keys are computed together, so that each step is a
// tight loop over numbers in the first-level cache.
const blockRecords = 256

// A block holds the numbers of some records.
type block struct {
	recs    []byte
	size    int // bytes of a record
	n       int // number of records
	numbers [blockRecords]uint64
	cells   [maxDimensions][blockRecords]uint32
	isNaN   [blockRecords]bool
	// low and high are the computed keys: their 64 less and more significant bits.
	low, high [blockRecords]uint64
	bytes     []byte // the fields to hash
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// Append puts records and their computed keys into dst. REQUIRES: Ready was called; len(recs) is a
// multiple of the size of a record, and dst has room for as many longer records
func (p *Program) Append(dst, recs []byte) {
	p.copyRecords(dst, recs)
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	b.size = p.recordSize
	for len(recs) > 0 {
		b.n = min(len(recs)/p.recordSize, blockRecords)
		b.recs = recs[:b.n*p.recordSize]
		for _, c := range p.calls {
			c.key.function.compute(c, b)
			c.store(dst, p.Layout.RecordSize, b)
		}
		dst = dst[b.n*p.Layout.RecordSize:]
		recs = recs[len(b.recs):]
	}
	b.recs = nil
}

// copyRecords copies records to the longer records of dst.
func (p *Program) copyRecords(dst, recs []byte) {
	size := p.recordSize
	stride := p.Layout.RecordSize
	for at, to := 0, 0; at < len(recs); at += size {
		copy(dst[to:to+size], recs[at:at+size])
		to += stride
	}
}

// store stores the keys of a block in records of stride bytes.
func (c *call) store(dst []byte, stride int, b *block) {
	at := c.at
	for _, v := range b.low[:b.n] {
		binary.LittleEndian.PutUint64(dst[at:], v)
		at += stride
	}
	if c.size == keyBytes {
		return
	}
	at = c.at + keyBytes
	for _, v := range b.high[:b.n] {
		binary.LittleEndian.PutUint64(dst[at:], v)
		at += stride
	}
}
