//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/extsort/extsort/device/opencl/cl"
)

// TestParams covers settings other than the defaults: digit widths, geometries, and 64-bit
// positions.
func TestParams(t *testing.T) {
	settings := []struct {
		name string
		p    Params
		k    kind
	}{
		{"count-scan-reorder", Params{DigitBits: 4}, kind{4, true}},
		{"count-scan-reorder", Params{DigitBits: 4, Wide: true}, kind{8, false}},
		{"count-scan-reorder", Params{DigitBits: 6, GroupSize: 96, Items: 5, MaskSteps: 2, Wide: true}, kind{8, true}},
		{"count-scan-reorder", Params{DigitBits: 7, Groups: 3}, kind{4, false}},
		{"onesweep", Params{Wide: true, Items: 7, MaskSteps: 3}, kind{4, true}},
		{"onesweep", Params{GroupSize: 512, Items: 5}, kind{8, false}},
		{"hybrid", Params{LeadingKeys: 1, GroupSize: 256, Items: 9, DigitBits: 7}, kind{4, false}},
		{"split", Params{DigitBits: 1}, kind{4, true}},
		{"split", Params{DigitBits: 3, Wide: true}, kind{8, true}},
		{"tile", Params{DigitBits: 8, GroupSize: 64, Items: 8, Wide: true}, kind{8, true}},
		{"binning", Params{DigitBits: 2, Wide: true}, kind{4, true}},
		{"selection", Params{Wide: true}, kind{4, true}},
		{"selection-blocks", Params{Wide: true, BlockFactor: 1}, kind{4, true}},
		{"selection-blocks", Params{BlockFactor: 32}, kind{8, false}},
	}
	ctx, q := openDevice(t)
	for _, s := range settings {
		sorter := newSorter(t, ctx, s.name, s.p)
		for _, n := range []int{2, 1023, 5000} {
			testSort(t, sorter, ctx, q, s.k, dists[0], n, 0, 8*s.k.wordBytes)
			testSort(t, sorter, ctx, q, s.k, dists[6], n, 0, 20)
			if t.Failed() {
				t.Fatalf("%s %+v", s.name, s.p)
			}
		}
	}
}

func TestParamsRefused(t *testing.T) {
	ctx, _ := openDevice(t)
	for name, list := range map[string][]Params{
		"count-scan-reorder": {{DigitBits: 9}, {GroupSize: 100}, {GroupSize: 128}, {Items: 65}, {GroupSize: 1 << 20}},
		"onesweep":           {{DigitBits: 17}, {GroupSize: 33}, {Items: -1}},
		"hybrid":             {{DigitBits: 11}, {GroupSize: 1 << 20}, {Items: 65}},
		"split":              {{DigitBits: 9}, {GroupSize: -1}, {Items: 1 << 20}},
		"tile":               {{DigitBits: 12}, {Items: -4}},
		"binning":            {{DigitBits: 3}, {GroupSize: 48}},
		"selection":          {{GroupSize: -1}, {GroupSize: 1 << 24}},
		"selection-blocks":   {{BlockFactor: 33}, {BlockFactor: -1}},
	} {
		for _, p := range list {
			if s, err := New(ctx, name, p); err == nil {
				s.Close()
				t.Errorf("%s took %+v", name, p)
			}
		}
	}
	if _, err := New(ctx, "bogo", Params{}); err == nil {
		t.Error("there is a sorter named bogo")
	}
}

func TestDataRefused(t *testing.T) {
	ctx, q := openDevice(t)
	s := newSorter(t, ctx, "", Params{})
	for _, d := range []Data{{WordBytes: 2}, {WordBytes: 4, N: -1}, {WordBytes: 8, N: 5}} {
		if err := s.Sort(q, &d, 0, 8); err == nil {
			t.Errorf("sorted %+v", d)
		}
	}
	if err := s.Sort(q, &Data{WordBytes: 4}, 0, 33); err == nil {
		t.Error("sorted by 33 bits of 32")
	}
}

// TestConstantDigitsAreSkipped counts the passes.
func TestConstantDigitsAreSkipped(t *testing.T) {
	ctx, q := openDevice(t)
	s := newSorter(t, ctx, "", Params{})
	for _, tt := range []struct {
		dist   int
		passes int
	}{{0, 8}, {1, 0}, {6, 2}} {
		passes := sortWords(t, s, ctx, q, kind{8, false}, pack(makeKeys(dists[tt.dist], 5000, 1), 8), 0, 64)
		if passes != tt.passes {
			t.Errorf("%s: %d passes, want %d", dists[tt.dist].name, passes, tt.passes)
		}
	}
}

// TestOnesweepGivesUp makes each pass in turn give up; the portable passes must complete the
// sort.
func TestOnesweepGivesUp(t *testing.T) {
	ctx, q := openDevice(t)
	s := newSorter(t, ctx, "onesweep", Params{})
	e, err := s.kernelsFor(variant{wordBytes: 4, values: true})
	must(t, err)
	for _, at := range []int{1, 2, 4} {
		e.(*radix).passes.(*onesweep).abortAt = at
		testSort(t, s, ctx, q, kind{4, true}, dists[0], 10_000, 0, 32)
	}
}

// TestSortByLeadingBits sorts by leading bits if that works, and falls back if too many keys
// have equal leading bits, or if the sample does not show that.
func TestSortByLeadingBits(t *testing.T) {
	ctx, q := openDevice(t)
	tests := []struct {
		name  string
		dist  dist
		fewer bool
	}{
		{"uniform", dists[0], true},
		{"two values", dists[2], true},
		{"skewed", dists[5], true},
		{"tied", dists[8], false},
		{"one in a thousand ties with a thousand", dist{name: "", key: hiddenTies}, false},
	}
	for _, k := range []kind{{8, false}, {8, true}} {
		s := newSorter(t, ctx, "", Params{LeadingKeys: 1, Wide: k.values})
		for _, tt := range tests {
			for _, bits := range [][2]int{{0, 64}, {7, 60}} {
				passes := sortWords(t, s, ctx, q, k, pack(makeKeys(tt.dist, 30_000, 3), 8), bits[0], bits[1])
				if all := len(digitsOf(bits[0], bits[1], 8)); tt.fewer && passes >= all {
					t.Errorf("%s: %d passes of %d", tt.name, passes, all)
				}
			}
		}
	}
}

// TestLeadingBitsRepair forces the shortcut, so that many groups are repaired or turn out to be
// too long.
func TestLeadingBitsRepair(t *testing.T) {
	ctx, q := openDevice(t)
	s := newSorter(t, ctx, "", Params{LeadingKeys: 1})
	for _, k := range []kind{{8, false}, {8, true}} {
		for _, tt := range []struct {
			prefixes int
			repaired bool
		}{{20_000, true}, {40, false}} {
			keys := makeKeys(dists[0], 20_000, 5)
			for i := range keys {
				keys[i] = uint64(i*7919%tt.prefixes)<<32 | keys[i]>>32
			}
			b := newBed(t, ctx, q, k, pack(keys, 8))
			v := variantOf(&b.data, false)
			made, err := s.kernelsFor(v)
			must(t, err)
			e := made.(*radix)
			r := &run{Sorter: s, q: q, d: &b.data, v: v}
			e.sortDigits(r, &sampled{}, 0, 32, 64)
			if got := e.leading.repair(r, 0, 32, 64); got != tt.repaired {
				t.Errorf("%d prefixes: repaired %v, want %v", tt.prefixes, got, tt.repaired)
			}
			must(t, r.err)
			if !tt.repaired {
				e.sortDigits(r, &sampled{}, 0, 0, 64)
			}
			b.check(0, 64)
			b.close()
		}
	}
}

// TestHybrid partitions keys alone from the most significant bits, and falls back if buckets are
// too full or bins too crowded, or if the sample does not show that.
func TestHybrid(t *testing.T) {
	ctx, q := openDevice(t)
	constant := func(mask uint64) func(rng *rand.Rand, _, _ int) uint64 {
		return func(rng *rand.Rand, _, _ int) uint64 { return rng.Uint64() & mask }
	}
	tests := []struct {
		dist    dist
		bytes   int
		passes  int
		partial bool // sort by some of the bits
	}{
		{dist: dists[0], bytes: 4, passes: 3},
		{dist: dists[0], bytes: 8, passes: 3},
		{dist: dist{name: "40 bits", key: constant(1<<40 - 1)}, bytes: 8, passes: 3},
		// The sample misses it.
		{dist: dist{name: "rare leading bit", key: func(rng *rand.Rand, i, _ int) uint64 {
			return rng.Uint64()>>8 | uint64(asFlag(i == 12345))<<63
		}}, bytes: 8, passes: 3 + 4},
		{dist: dist{name: "ties below the bins", key: constant(0xffff_f000_0000_000f)}, bytes: 8, passes: 3},
		// The sample shows it.
		{dist: dist{name: "one bin", key: func(rng *rand.Rand, i, _ int) uint64 {
			return rng.Uint64()&^(1<<62-1) | uint64(i)&0xffff
		}}, bytes: 8},
		{dist: dist{name: "hidden ties", key: hiddenTies}, bytes: 8, passes: 3 + 3 + 8},
		{dist: dist{name: "sorted", key: dists[3].key}, bytes: 8},
		{dist: dist{name: "zipf", key: dists[5].key}, bytes: 8},
		{dist: dists[0], bytes: 8, partial: true},
	}
	for _, p := range []Params{{LeadingKeys: 1}, {LeadingKeys: 1, GroupSize: 64, Items: 5, DigitBits: 5}} {
		s := newSorter(t, ctx, "hybrid", p)
		for _, tt := range tests {
			for _, n := range []int{1, 2, 500, 70_000} {
				toBit := 8 * tt.bytes
				if tt.partial {
					toBit = 50
				}
				words := pack(makeKeys(tt.dist, n, 3), tt.bytes)
				passes := sortWords(t, s, ctx, q, kind{tt.bytes, false}, words, 0, toBit)
				if n == 70_000 && tt.passes > 0 && passes != tt.passes {
					t.Errorf("%s, %+v: %d passes, want %d", tt.dist.name, p, passes, tt.passes)
				}
			}
		}
	}
}

// TestTail covers data for which sorts end in local memory, and data for which they cannot.
func TestTail(t *testing.T) {
	ctx, q := openDevice(t)
	tests := []struct {
		dist   dist
		bytes  int
		passes int // 0: any
	}{
		{dist: dists[0], bytes: 4, passes: 2},
		{dist: dists[0], bytes: 8, passes: 2},
		{dist: dist{name: "few ties", key: func(rng *rand.Rand, _, _ int) uint64 { return rng.Uint64() >> 50 << 50 }},
			bytes: 8, passes: 2},
		{dist: dist{name: "many ties", key: func(rng *rand.Rand, _,
			_ int) uint64 {
			return rng.Uint64() >> 55 << 55
		}}, bytes: 8},
		{dist: dist{name: "hidden ties", key: hiddenTies}, bytes: 8, passes: 1 + 3 + 8},
		{dist: dists[3], bytes: 8},
		{dist: dists[5], bytes: 8},
	}
	s := newSorter(t, ctx, "hybrid", Params{LeadingKeys: 1})
	for _, tt := range tests {
		for _, n := range []int{2, 500, 70_000} {
			words := pack(makeKeys(tt.dist, n, 3), tt.bytes)
			passes := sortWords(t, s, ctx, q, kind{tt.bytes, true}, words, 0, 8*tt.bytes)
			if n == 70_000 && tt.passes > 0 && passes != tt.passes {
				t.Errorf("%s: %d passes, want %d", tt.dist.name, passes, tt.passes)
			}
		}
	}
}

// TestScan scans tables that are too long for one work-group.
func TestScan(t *testing.T) {
	ctx, q := openDevice(t)
	for _, n := range []int{1, 4095, scanSingle, scanSingle + 1, 200_003} {
		words := make([]byte, 4*n)
		for i := range n {
			words[4*i] = byte(i % 5)
		}
		table, err := ctx.NewBuffer(int64(len(words)))
		must(t, err)
		must(t, q.Upload(table, words))
		b := &builder{ctx: ctx, v: variant{wordBytes: 4}}
		s := buildScanner(b)
		must(t, b.err)
		r := &run{Sorter: &Sorter{ctx: ctx, scratch: map[string]*cl.Buffer{}}, q: q}
		s.scan(r, table, int64(n))
		sum := uint64(0)
		for i, got := range r.readWords(table, n, 4) {
			if got != sum {
				t.Fatalf("length %d: entry %d is %d, want %d", n, i, got, sum)
			}
			sum += uint64(i % 5)
		}
		must(t, r.err)
		b.release()
		table.Release()
	}
}

// scratchBound limits the device memory that a sort of n keys may use in addition to the Data:
// for tables of counts, or for states of tiles.
func scratchBound(name string, n int64) int64 {
	const fixed = 8 << 20 // histograms, sums of sections, and tables of constant size
	table := func(keysPerTile, radix int64) int64 { return fixed + (n/keysPerTile+1)*radix*4 }
	switch name {
	case "onesweep", "hybrid":
		return table(3584, 256)
	case "split", "tile":
		return table(1024, 16)
	case "binning":
		return table(256, 16)
	case "selection", "selection-blocks":
		return 0
	}
	return fixed + 8<<20
}

// TestScratchBytes compares the limit with the allocations.
func TestScratchBytes(t *testing.T) {
	ctx, q := openDevice(t)
	for _, name := range Names() {
		s := newSorter(t, ctx, name, Params{})
		b := newBed(t, ctx, q, kind{4, false}, pack(makeKeys(dists[0], 100_000, 1), 4))
		must(t, s.Sort(q, &b.data, 0, 4))
		must(t, q.Finish())
		total := int64(0)
		for _, buffer := range s.scratch {
			total += buffer.Bytes
		}
		if bound := scratchBound(name, 100_000); total > bound {
			t.Errorf("%s took %d bytes, the bound is %d", name, total, bound)
		}
		b.close()
	}
}

// TestSortsAtOnce uses one sorter in several goroutines.
func TestSortsAtOnce(t *testing.T) {
	ctx, q := openDevice(t)
	for _, name := range []string{"count-scan-reorder", "onesweep", "hybrid"} {
		s := newSorter(t, ctx, name, Params{})
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				b := newBed(t, ctx, q, kind{4, true}, pack(makeKeys(dists[0], 20_000, uint64(i)), 4))
				defer b.close()
				for range 3 {
					b.reset()
					if err := s.Sort(q, &b.data, 0, 32); err != nil {
						t.Error(err)
						return
					}
				}
				b.check(0, 32)
			})
		}
		group.Wait()
	}
}

// FuzzSort compares the result of any algorithm for any keys and any range of bits with the
// stable order.
func FuzzSort(f *testing.F) {
	f.Add([]byte("any bytes will do, they are keys"), uint8(0), uint8(64), uint8(0))
	f.Add(make([]byte, 4096), uint8(5), uint8(13), uint8(1))
	ctx, q := openDevice(f)
	sorters := map[string]*Sorter{}
	f.Fuzz(func(t *testing.T, raw []byte, from, to, algorithm uint8) {
		name := Names()[int(algorithm)%len(Names())]
		if sorters[name] == nil {
			s, err := New(ctx, name, Params{LeadingKeys: 64})
			must(t, err)
			sorters[name] = s
		}
		toBit := int(to) % 65
		fromBit := min(int(from)%65, toBit)
		words := raw[:len(raw)/8*8]
		if len(words) == 0 || fromBit == toBit {
			return
		}
		sortWords(t, sorters[name], ctx, q, kind{8, true}, words, fromBit, toBit)
	})
	for _, s := range sorters {
		s.Close()
	}
}

// TestWindow sorts keys that are almost all within a window. It also covers data with more outliers
// than the sample shows, and a last pass that gives up.
func TestWindow(t *testing.T) {
	ctx, q := openDevice(t)
	around := func(middle, spread uint64, share int) func(rng *rand.Rand, _, _ int) uint64 {
		return func(rng *rand.Rand, _, _ int) uint64 {
			if rng.IntN(share) == 0 {
				return rng.Uint64()
			}
			return middle - spread/2 + rng.Uint64N(spread)
		}
	}
	tests := []struct {
		name   string
		key    func(rng *rand.Rand, i, n int) uint64
		bytes  int
		passes int
	}{
		{"counts", peerDists[2].key, 8, 1},
		{"low", around(1000, 2000, 500), 8, 2},
		{"middle", around(1<<63, 200, 500), 8, 1},
		{"middle", around(1<<63, 20_000, 500), 8, 2},
		{"high", around(1<<64-2000, 3999, 500), 8, 2},
		{"top", around(1<<32-100, 150, 500), 4, 1},
		{"short", around(1<<31, 1_000_000, 500), 4, 3},
		// Only some samples contain a key of this part.
		{"hidden", func(rng *rand.Rand, i, n int) uint64 {
			return uint64(rng.IntN(100)) | uint64(asFlag(i > n-n/40))<<40
		}, 8, 0},
		{"few", peerDists[0].key, 8, 1},
		{"ends", func(rng *rand.Rand, _, _ int) uint64 { return -rng.Uint64N(2) }, 8, 0},
		{"unseen", func(rng *rand.Rand, i, _ int) uint64 { // the sample misses it
			return uint64(rng.IntN(20_000)) | uint64(asFlag(i%6000 == 4321))<<62
		}, 8, 2},
	}
	for _, values := range []bool{false, true} {
		s := newSorter(t, ctx, "hybrid", Params{LeadingKeys: 1, Wide: values})
		for _, tt := range tests {
			keys := makeKeys(dist{key: tt.key}, 30_000, 3)
			words := pack(keys, 8)
			if tt.bytes == 4 {
				words = words[:0]
				for _, key := range keys {
					words = binary.NativeEndian.AppendUint32(words, uint32(key))
				}
			}
			for _, gaveUp := range []int{0, 1} {
				b := newBed(t, ctx, q, kind{tt.bytes, values}, words)
				e, err := s.kernelsFor(variantOf(&b.data, values))
				must(t, err)
				k, err := e.(*radix).window.kernels()
				must(t, err)
				if k.last != nil {
					k.last.abortAt = gaveUp
				}
				must(t, s.Sort(q, &b.data, 0, 8*tt.bytes))
				b.check(0, 8*tt.bytes)
				if tt.passes > 0 && gaveUp == 0 && k.last != nil && b.data.Passes != tt.passes {
					t.Errorf("%s, values %v: %d passes, want %d", tt.name, values, b.data.Passes, tt.passes)
				}
				b.close()
			}
		}
	}
}

// TestInOrder checks that sorted keys are left as they are, and that keys which are sorted only
// in the sample are sorted.
func TestInOrder(t *testing.T) {
	ctx, q := openDevice(t)
	for _, name := range []string{"", "hybrid"} {
		s := newSorter(t, ctx, name, Params{LeadingKeys: 1})
		for _, n := range []int{3, 300, 70_000} {
			for _, swapped := range []int{-1, 0, n - 2} {
				keys := makeKeys(dist{key: func(_ *rand.Rand, i, _ int) uint64 { return uint64(i)<<40 | 5>>(i%3) }}, n, 1)
				if swapped >= 0 {
					keys[swapped], keys[swapped+1] = keys[swapped+1], keys[swapped]
				}
				passes := sortWords(t, s, ctx, q, kind{8, true}, pack(keys, 8), 2, 60)
				if (passes > 0) != (swapped >= 0) {
					t.Errorf("%d keys, %d out of order: %d passes", n, swapped, passes)
				}
			}
		}
	}
}

// TestReversed checks that keys in reverse order are reversed without a pass if equal keys keep
// their order or cannot be told apart. Keys that are in reverse order only in the sample are sorted.
func TestReversed(t *testing.T) {
	ctx, q := openDevice(t)
	s := newSorter(t, ctx, "", Params{LeadingKeys: 1})
	for _, c := range []struct {
		k        kind
		from, to int
		each     int // how often each key occurs
		isSorted bool
	}{
		{kind{8, false}, 0, 64, 1, false},
		{kind{8, false}, 0, 64, 3, false}, // equal keys are alike
		{kind{4, false}, 0, 32, 3, false},
		{kind{8, true}, 0, 64, 1, false},
		{kind{4, true}, 0, 32, 1, false},
		{kind{8, true}, 2, 60, 1, false},
		{kind{8, true}, 0, 64, 3, true},
		{kind{4, true}, 0, 32, 3, true},
		{kind{8, false}, 20, 64, 3, true}, // the ignored bits tell equal keys apart
	} {
		for _, n := range []int{4, 301, 70_001} {
			for _, swapped := range []int{-1, 0, n - 2} {
				keys := makeKeys(dist{key: func(_ *rand.Rand, i, n int) uint64 {
					key := uint64((n-i+c.each)/c.each) << 40
					if c.from > 0 {
						key |= uint64(i % 7)
					}
					return key
				}}, n, 1)
				if swapped >= 0 {
					keys[swapped], keys[swapped+1] = keys[swapped+1], keys[swapped]|1<<39
				}
				passes := sortWords(t, s, ctx, q, c.k, pack(keys, c.k.wordBytes), c.from, c.to)
				if isSorted := c.isSorted || swapped >= 0; isSorted != (passes > 0) {
					t.Errorf("%+v, %d keys, %d out of order: %d passes", c, n, swapped, passes)
				}
			}
		}
	}
}
