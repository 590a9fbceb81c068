//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/device/opencl/cl"
)

var (
	full      = flag.Bool("full", false, "test every algorithm with every type of data, not only the two extremes")
	large     = flag.Bool("large", false, "test 2^28 keys as well")
	huge      = flag.Bool("huge", false, "test more than 2^32 keys as well")
	small     = flag.Bool("small", false, "run every kernel on few keys, for oclgrind")
	deviceFor = flag.Int("device", 0, "number of the OpenCL device, counted over all platforms")
)

// kind is a kind of data.
type kind struct {
	wordBytes int
	values    bool
}

func (k kind) String() string {
	name := fmt.Sprintf("u%d", 8*k.wordBytes)
	if k.values {
		name += "+u32"
	}
	return name
}

func kinds() []kind {
	if *full {
		return []kind{{4, false}, {4, true}, {8, false}, {8, true}}
	}
	return []kind{{4, false}, {8, true}}
}

// A dist generates n keys. From the index i, it can generate sorted keys without sorting.
type dist struct {
	name string
	key  func(rng *rand.Rand, i, n int) uint64
	low  bool // short words are the low bits; otherwise all bits are folded
	drop int  // number of lowest bits that short words omit
}

var dists = []dist{
	{name: "uniform", key: func(rng *rand.Rand, _, _ int) uint64 { return rng.Uint64() }},
	{name: "equal", key: func(*rand.Rand, int, int) uint64 { return 0x0123456789abcdef }},
	{name: "two", key: func(rng *rand.Rand, _, _ int) uint64 { return 0x5555555555555555 * (1 + rng.Uint64N(2)) }},
	{name: "sorted", key: func(_ *rand.Rand, i, n int) uint64 { return uint64(i) * (^uint64(0)/uint64(n) | 1) },
		low: true, drop: 32},
	{name: "reversed", key: func(_ *rand.Rand, i, n int) uint64 { return ^(uint64(i) * (^uint64(0)/uint64(n) | 1)) },
		low: true, drop: 32},
	{name: "zipf", key: func(rng *rand.Rand, _, _ int) uint64 {
		return uint64(1/(1e-6+rng.Float64())) * 0x9e3779b97f4a7c15
	}},
	{name: "small", key: func(rng *rand.Rand, _, _ int) uint64 { return rng.Uint64N(1000) }},
	{name: "largest", key: func(rng *rand.Rand, _, _ int) uint64 { return ^rng.Uint64N(3) }},
	{name: "tied", key: func(rng *rand.Rand, i, n int) uint64 { return uint64(rng.IntN(n/4+1))<<40 | rng.Uint64N(1<<20) }},
}

// peerDists are distributions of the benchmark of another GPU sort (docs/gpu). They are not
// spread over all bits.
var peerDists = []dist{
	{name: "few", key: func(rng *rand.Rand, _, _ int) uint64 { return rng.Uint64N(16) }, low: true},
	{name: "shifted", key: func(_ *rand.Rand, i, _ int) uint64 { return uint64(i) << 20 }, low: true, drop: 20},
	{name: "zipf9", key: func(rng *rand.Rand, _, _ int) uint64 { return uint64(1 / (1e-9 + rng.Float64())) }, low: true},
}

func makeKeys(d dist, n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = d.key(rng, i, n)
	}
	return keys
}

// pack stores keys as words. Short words get the high bits, which vary most.
func pack(keys []uint64, wordBytes int) []byte {
	raw := make([]byte, len(keys)*wordBytes)
	for i, key := range keys {
		if wordBytes == 8 {
			binary.NativeEndian.PutUint64(raw[8*i:], key)
		} else {
			binary.NativeEndian.PutUint32(raw[4*i:], uint32(key>>32^key))
		}
	}
	return raw
}

func wordAt(raw []byte, i, wordBytes int) uint64 {
	if wordBytes == 8 {
		return binary.NativeEndian.Uint64(raw[8*i:])
	}
	return uint64(binary.NativeEndian.Uint32(raw[4*i:]))
}

// A bed is data on the device that is sorted repeatedly.
type bed struct {
	t      testing.TB
	ctx    *cl.Context
	q      *cl.Queue
	data   Data
	n      int
	keys   *cl.Buffer // the unsorted keys, which no sort changes
	values *cl.Buffer // the indexes, or nil
	words  []byte
	buffer []*cl.Buffer
}

func newBed(t testing.TB, ctx *cl.Context, q *cl.Queue, k kind, words []byte) *bed {
	n := len(words) / k.wordBytes
	b := &bed{t: t, ctx: ctx, q: q, n: n, words: words, data: Data{N: int64(n), KeyBits: 8 * k.wordBytes,
		WordBytes: k.wordBytes}}
	b.keys = b.alloc(len(words))
	b.data.Keys, b.data.KeysTmp = b.alloc(len(words)), b.alloc(len(words))
	if k.values {
		b.data.Values, b.data.ValuesTmp = b.alloc(4*n), b.alloc(4*n)
		values := make([]byte, 4*n)
		for i := range n {
			binary.NativeEndian.PutUint32(values[4*i:], uint32(i))
		}
		b.values = b.alloc(4 * n)
		must(t, q.Upload(b.values, values))
	}
	must(t, q.Upload(b.keys, words))
	b.reset()
	return b
}

func (b *bed) alloc(bytes int) *cl.Buffer {
	buffer, err := b.ctx.NewBuffer(int64(bytes))
	must(b.t, err)
	b.buffer = append(b.buffer, buffer)
	return buffer
}

// reset restores the unsorted keys and values.
func (b *bed) reset() {
	_, err := b.q.Copy(b.data.Keys, b.keys, int64(len(b.words)))
	must(b.t, err)
	if b.values != nil {
		_, err = b.q.Copy(b.data.Values, b.values, 4*int64(b.n))
		must(b.t, err)
	}
}

func (b *bed) close() {
	for _, buffer := range b.buffer {
		buffer.Release()
	}
}

// check compares the result with the stable order by the bits from fromBit to toBit.
func (b *bed) check(fromBit, toBit int) {
	b.t.Helper()
	size := b.data.WordBytes
	got := make([]byte, len(b.words))
	must(b.t, b.q.Download(got, b.data.Keys))
	key := func(i uint32) uint64 {
		return wordAt(b.words, int(i), size) << (64 - toBit) >> (64 - toBit) >> fromBit
	}
	order := stableOrder(b.n, key)
	for i, from := range order {
		if g, w := wordAt(got, i, size), wordAt(b.words, int(from), size); g != w {
			b.t.Fatalf("key %d of %d is %#x, want %#x", i, b.n, g, w)
		}
	}
	if b.data.Values == nil {
		return
	}
	values := make([]byte, 4*b.n)
	must(b.t, b.q.Download(values, b.data.Values))
	for i, from := range order {
		if g := binary.NativeEndian.Uint32(values[4*i:]); g != from {
			b.t.Fatalf("value %d of %d is %d, want %d", i, b.n, g, from)
		}
	}
}

func stableOrder(n int, key func(uint32) uint64) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		switch x, y := key(a), key(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return order
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSorter(t testing.TB, ctx *cl.Context, name string, p Params) *Sorter {
	t.Helper()
	s, err := New(ctx, name, p)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// sizes returns boundary sizes for an algorithm with this many keys per tile.
func sizes(tile int) []int {
	list := []int{0, 1, 2, 255, 256, 257, tile - 1, tile, tile + 1, 3*tile + 5, 20_011}
	slices.Sort(list)
	return slices.Compact(list)
}

func isQuadratic(name string) bool { return strings.HasPrefix(name, "selection") }

// testSort sorts n keys of a distribution and checks the result.
func testSort(t *testing.T, s *Sorter, ctx *cl.Context, q *cl.Queue, k kind, d dist, n, fromBit, toBit int) {
	t.Helper()
	sortWords(t, s, ctx, q, k, pack(makeKeys(d, n, uint64(n)), k.wordBytes), fromBit, toBit)
}

// sortWords sorts words by a range of their bits and checks the result. It returns the number of
// passes.
func sortWords(t *testing.T, s *Sorter, ctx *cl.Context, q *cl.Queue, k kind, words []byte, fromBit, toBit int) int {
	t.Helper()
	b := newBed(t, ctx, q, k, words)
	defer b.close()
	must(t, s.Sort(q, &b.data, fromBit, toBit))
	b.check(fromBit, toBit)
	return b.data.Passes
}

func TestEveryAlgorithm(t *testing.T) {
	ctx, q := openDevice(t)
	for _, name := range Names() {
		for _, k := range kinds() {
			t.Run(name+"/"+k.String(), func(t *testing.T) {
				s := newSorter(t, ctx, name, Params{})
				for _, n := range sizes(4096) {
					if isQuadratic(name) {
						n = min(n, 4097)
					}
					testSort(t, s, ctx, q, k, dists[0], n, 0, 8*k.wordBytes)
				}
				for _, d := range dists[1:] {
					testSort(t, s, ctx, q, k, d, 4999, 0, 8*k.wordBytes)
				}
				testSort(t, s, ctx, q, k, dists[0], 3001, 3, 16)
				testSort(t, s, ctx, q, k, dists[0], 3001, 5, 5)
				testSort(t, s, ctx, q, k, dists[0], 3001, 31, 32)
			})
		}
	}
}

// hiddenTies returns random keys. But one in a thousand has a common prefix and low bits in
// reverse order: too few for a sample to notice, and too many to repair.
func hiddenTies(rng *rand.Rand, i, n int) uint64 {
	if i%1000 == 0 {
		return 0xabcdef<<40 | uint64(n-i)
	}
	return rng.Uint64()
}

// TestSmall runs every kernel with few keys and a partly filled tile. It is meant for the slow
// kernel checker oclgrind, and runs only with -small.
func TestSmall(t *testing.T) {
	if !*small {
		t.Skip("for oclgrind: -small")
	}
	runtime.LockOSThread() // oclgrind keeps the state of a kernel per thread
	ctx, q := openDevice(t)
	for _, name := range append(Names(), "count-scan-reorder/4", "split/1") {
		p := Params{GroupSize: 64, Items: 4, DigitBits: 4, MaskSteps: 2, LeadingKeys: 1}
		switch name {
		case "count-scan-reorder/4":
			name = "count-scan-reorder"
		case "count-scan-reorder":
			p.DigitBits = 5
		case "split/1":
			name, p.DigitBits = "split", 1
		}
		s := newSorter(t, ctx, name, p)
		testSort(t, s, ctx, q, kind{8, true}, dists[5], 600, 20, 60)
		if name == "hybrid" {
			for _, k := range []kind{{8, false}, {4, true}, {8, true}} {
				testSort(t, s, ctx, q, k, dists[0], 600, 0, 8*k.wordBytes)
			}
		}
	}
}
