package devicetest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/extsort/extsort/format"
)

// layouts returns the layouts of the suite: every bare type in both byte orders and directions,
// and records of odd sizes.
func layouts() map[string]format.Layout {
	all := map[string]format.Layout{
		"rec7":    records(7, "3:u16be:desc", "0:i8"),
		"rec12":   records(12, "0:f32", "4:u64"),
		"gensort": records(100, "0:bytes10"),
		"pair8":   records(8, "0:u32"),
		"rec16":   records(16, "0:u64"),
		"rec16hi": records(16, "8:i64:desc"),
		"rec16in": records(16, "3:bytes11"),
		"overlap": records(9, "1:u32", "3:u32be", "0:u8"),
		"tail":    records(5, "4:u8"),
		"wide40":  records(48, "4:bytes40"),
		"wide":    records(1000, "0:bytes1000"),
		"fields":  records(40, "32:u8", "0:i128", "16:f64be:desc", "24:u32"),
		"whole24": format.Whole(24),
	}
	others := strings.Fields(
		"ucs1 ucs2 ucs5 bytes1 bytes3 bytes4 bytes5 bytes8 bytes9 ebcdic9 time_ns",
	)
	for _, name := range slices.Concat(format.NumberTypes, others) {
		for _, variant := range []string{"", "be", ":desc", "be:desc"} {
			isText := strings.HasPrefix(name, "bytes") ||
				strings.HasPrefix(name, "ebcdic")
			if isText && strings.HasPrefix(variant, "be") {
				continue
			}
			f, err := format.ParseField("0:" + name + variant)
			if err != nil {
				panic(err)
			}
			all[name+variant] = format.Layout{
				RecordSize: f.Type.Size,
				Key:        []format.Field{f},
			}
		}
	}
	return all
}

func records(size int, fields ...string) format.Layout {
	l := format.Layout{RecordSize: size}
	for _, s := range fields {
		f, err := format.ParseField(s)
		if err != nil {
			panic(err)
		}
		l.Key = append(l.Key, f)
	}
	return l
}

// A Distribution generates n records of a layout.
type Distribution func(l format.Layout, n int, r *rand.Rand) []byte

// Distributions contains the distributions of the suite by name.
var Distributions = map[string]Distribution{
	"uniform": uniform,
	"equal": func(l format.Layout, n int, r *rand.Rand) []byte {
		return chosen(l, n, 1, r)
	},
	"two": func(l format.Layout, n int, r *rand.Rand) []byte {
		return chosen(l, n, 2, r)
	},
	"few": func(l format.Layout, n int, r *rand.Rand) []byte {
		return chosen(l, n, 100, r)
	},
	"zipf":        zipf,
	"low":         low,
	"exponential": exponential,
	"sorted": func(l format.Layout, n int, r *rand.Rand) []byte {
		return Sorted(l, uniform(l, n, r))
	},
	"reversed": func(l format.Layout, n int, r *rand.Rand) []byte {
		return Sorted(l.Reverse(), uniform(l, n, r))
	},
	"nearlySorted": nearlySorted,
	"outlier":      outlier,
}

// fewer returns a fifth of n, which is enough to fill many blocks and buckets. With
// EXTSORT_TEST_EXHAUSTIVE=1, it returns n.
func fewer(n int) int {
	if os.Getenv("EXTSORT_TEST_EXHAUSTIVE") == "" {
		return n / 5
	}
	return n
}

func uniform(l format.Layout, n int, r *rand.Rand) []byte {
	recs := make([]byte, n*l.RecordSize, n*l.RecordSize+8)
	for at := 0; at < len(recs); at += 8 {
		binary.LittleEndian.PutUint64(recs[at:at+8], r.Uint64())
	}
	return recs
}

// withKeys returns random records. Each has the key fields of the record of pool that pick
// chooses.
func withKeys(
	l format.Layout,
	n int,
	r *rand.Rand,
	pool []byte,
	pick func() int,
) []byte {
	recs := uniform(l, n, r)
	size := l.RecordSize
	for i := range n {
		from := pick() * size
		for _, f := range l.Key {
			for j := range f.Type.KeyBytes() { // excludes padding
				at := f.Offset + f.Type.Place(j)
				recs[i*size+at] = pool[from+at]
			}
		}
	}
	return recs
}

func chosen(l format.Layout, n, keys int, r *rand.Rand) []byte {
	return withKeys(l, n, r, uniform(l, keys, r), func() int {
		return r.IntN(keys)
	})
}

func zipf(l format.Layout, n int, r *rand.Rand) []byte {
	z := rand.NewZipf(r, 1.2, 1, 9999)
	return withKeys(l, n, r, uniform(l, 10000, r), func() int {
		return int(z.Uint64())
	})
}

// low returns keys that differ only in their last two bytes: they are small numbers, or share a
// long prefix.
func low(l format.Layout, n int, r *rand.Rand) []byte {
	return inLastBytes(l, n, r, func() uint64 {
		return uint64(r.Uint32N(1 << 16))
	})
}

// exponential returns numbers that are spread evenly over the powers of two, so that ranges of
// equal width have very different sizes.
func exponential(l format.Layout, n int, r *rand.Rand) []byte {
	return inLastBytes(l, n, r, func() uint64 {
		return r.Uint64() >> r.IntN(64)
	})
}

// inLastBytes sets the last 8 bytes of the last field to big-endian values and all other fields
// to 0.
func inLastBytes(
	l format.Layout,
	n int,
	r *rand.Rand,
	value func() uint64,
) []byte {
	pool := make([]byte, (n+1)*l.RecordSize)
	for i := range n {
		putLow(l, pool[i*l.RecordSize:], value())
	}
	i := -1
	return withKeys(l, n, r, pool, func() int { i++; return i })
}

func putLow(l format.Layout, rec []byte, v uint64) {
	f := l.Key[len(l.Key)-1]
	for at := 0; at < min(8, f.Type.KeyBytes()); at++ {
		rec[f.Offset+f.Type.Place(f.Type.KeyBytes()-1-at)] = byte(v >> (8 * at))
	}
}

func nearlySorted(l format.Layout, n int, r *rand.Rand) []byte {
	recs := Sorted(l, uniform(l, n, r))
	size := l.RecordSize
	other := make([]byte, size)
	for range n / 50 {
		a := recs[r.IntN(n)*size:][:size]
		b := recs[r.IntN(n)*size:][:size]
		copy(other, a)
		copy(a, b)
		copy(b, other)
	}
	return recs
}

// outlier returns small numbers and one random number, which stretches the range.
func outlier(l format.Layout, n int, r *rand.Rand) []byte {
	recs := low(l, n, r)
	if n > 0 {
		copy(recs[r.IntN(n)*l.RecordSize:], uniform(l, 1, r))
	}
	return recs
}

// random returns a generator with a fixed seed, so that failures are reproducible.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
