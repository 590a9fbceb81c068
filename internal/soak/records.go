package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

var (
	distributions = []string{
		"uniform",
		"uniform",
		"few",
		"equal",
		"zipf",
		"narrow",
		"special",
		"normal",
	}
	orders = []string{"random", "random", "random", "sorted", "reversed", "nearly-sorted", "late", "runs"}
)

// randomRecords returns records whose keys have the given distribution and order.
func randomRecords(
	r *rand.Rand, l layout, count int, distribution, order string,
) []byte {
	records := randomBytes(r, count*l.size)
	choose := keySource(r, l, distribution)
	if choose != nil {
		for at := 0; at < len(records); at += l.size {
			record := records[at : at+l.size]
			from := choose()
			for _, f := range l.fields {
				for i := range f.width() { // excludes padding
					at := f.offset + f.bytePosition(i)
					record[at] = from[at]
				}
			}
		}
	}
	return inOrder(r, l.oracle, records, order)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// keySource returns a function that returns records from which keys are copied, or nil if keys
// stay random.
func keySource(r *rand.Rand, l layout, distribution string) func() []byte {
	record := make([]byte, l.size)
	fill := func(each func(f field, to []byte)) func() []byte {
		return func() []byte {
			for _, f := range l.fields {
				each(f, record[f.offset:f.offset+f.size])
			}
			return record
		}
	}
	switch distribution {
	case "few":
		return fromTable(r, l.size, 2+r.IntN(20))
	case "equal":
		return fromTable(r, l.size, 1)
	case "zipf":
		return fromTable(r, l.size, 10000)
	case "narrow": // only the least significant byte varies
		return fill(func(f field, to []byte) {
			to[f.bytePosition(f.width()-1)] = byte(r.Uint32())
		})
	case "special":
		return fill(func(f field, to []byte) { extremeValue(r, f, to) })
	case "normal":
		return fill(func(f field, to []byte) {
			putNumber(f, to, r.NormFloat64()*1000)
		})
	}
	return nil
}

// fromTable chooses from a table of records. In a large table, the first ones are more frequent.
func fromTable(r *rand.Rand, size, count int) func() []byte {
	count = min(count, 1+(1<<20)/size)
	table := randomBytes(r, size*count)
	zipf := rand.NewZipf(r, 1.2, 1, uint64(count-1))
	return func() []byte {
		i := r.IntN(count)
		if count > 100 {
			i = int(zipf.Uint64())
		}
		return table[i*size : (i+1)*size]
	}
}

// extremeValue returns a value near the limits of a type's range, or near zero.
func extremeValue(r *rand.Rand, f field, to []byte) {
	first := []byte{0x00, 0x7f, 0x80, 0xff}[r.IntN(4)]
	rest := []byte{0x00, 0x01, 0x80, 0xff}[r.IntN(4)]
	for i := range f.width() {
		to[f.bytePosition(i)] = rest
	}
	to[f.bytePosition(0)] = first
	if f.isFloat() && r.IntN(3) == 0 {
		values := []float64{
			math.NaN(),
			math.Inf(1),
			math.Inf(-1),
			0,
			math.Copysign(0, -1),
			1,
			-1,
			5e-324,
			-1e-45,
		}
		putNumber(f, to, values[r.IntN(len(values))])
	}
}

// putNumber stores a number in the format of the field.
func putNumber(f field, to []byte, v float64) {
	var digits [16]byte // the last bytes are the number in big-endian order
	integer := uint64(int64(v))
	if int64(integer) < 0 {
		invert(digits[:8])
	}
	binary.BigEndian.PutUint64(digits[8:], integer)
	switch {
	case f.kind == 'f' && f.size == 4:
		binary.BigEndian.PutUint32(digits[12:], math.Float32bits(float32(v)))
	case f.kind == 'x':
		exponent, significand := extended(v)
		binary.BigEndian.PutUint16(digits[6:], exponent)
		binary.BigEndian.PutUint64(digits[8:], significand)
	case f.kind == 'f':
		binary.BigEndian.PutUint64(digits[8:], math.Float64bits(v))
	}
	n := min(f.width(), len(digits))
	for i := range n {
		to[f.bytePosition(i)] = digits[len(digits)-n+i]
	}
}

// extended returns the parts of an 80-bit float: the sign with the exponent, and the significand
// with its leading bit.
func extended(v float64) (exponent uint16, significand uint64) {
	if math.Signbit(v) {
		exponent = 0x8000
	}
	switch {
	case math.IsNaN(v):
		return exponent | 0x7fff, 3 << 62
	case math.IsInf(v, 0):
		return exponent | 0x7fff, 1 << 63
	case v == 0:
		return exponent, 0
	}
	fraction, power := math.Frexp(math.Abs(v))
	return exponent | uint16(power+16382), uint64(math.Ldexp(fraction, 64))
}

// inOrder puts records into an order for which sorts may have special cases.
func inOrder(r *rand.Rand, o oracle, records []byte, order string) []byte {
	count := len(records) / o.size
	if count == 0 {
		return records
	}
	switch order {
	case "sorted":
		return o.sorted(records)
	case "reversed":
		return o.reversed().sorted(records)
	case "nearly-sorted":
		records = o.sorted(records)
		for range 1 + count/1000 {
			swapRecords(records, o.size, r.IntN(count), r.IntN(count))
		}
	case "late":
		const most = 30 // places
		records = o.sorted(records)
		for range count / 8 {
			i := r.IntN(count)
			swapRecords(records, o.size, i, min(i+1+r.IntN(most), count-1))
		}
	case "runs":
		for rest := records; len(rest) > 0; {
			n := o.size * (1 + r.IntN(len(rest)/o.size))
			copy(rest, o.sorted(slices.Clone(rest[:n])))
			rest = rest[n:]
		}
	}
	return records
}

func swapRecords(records []byte, size, i, j int) {
	first := slices.Clone(records[i*size : (i+1)*size])
	copy(records[i*size:], records[j*size:(j+1)*size])
	copy(records[j*size:], first)
}
