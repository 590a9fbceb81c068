//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/device/opencl/cl"
)

var (
	benchSizes   = flag.String("n", "14", "log2 of the keys that benchmarks sort, several with commas; 20,24,28 on a GPU")
	benchKernels = flag.Bool("kernels", false, "benchmarks show when each kernel ran")
	benchKinds   = flag.String("kinds", "u32,u64,u32+u32,u64+u32", "what benchmarks sort")
	benchDists   = flag.String("dists", "uniform", "distributions that benchmarks sort, several with commas, or all")
)

// times are the times of the kernels of one sort.
type times struct {
	first, last time.Duration // on the device's clock
	timeline    []string      // start, duration and name of each kernel
}

// A recorder records the kernels of a sort.
type recorder struct {
	names  []string
	events []*cl.Event
}

func (rec *recorder) add(kernel string, e *cl.Event) {
	rec.names, rec.events = append(rec.names, kernel), append(rec.events, e)
}

// times reads the times. REQUIRES: the sort is done.
func (rec *recorder) times(t testing.TB) times {
	var sum times
	for i, e := range rec.events {
		start, end, err := e.Times()
		must(t, err)
		if i == 0 || start < sum.first {
			sum.first = start
		}
		sum.last = max(sum.last, end)
		begin, took := start-sum.first, end-start
		sum.timeline = append(sum.timeline, fmt.Sprintf("at %8.3f for %7.3f ms %s", begin.Seconds()*1e3,
			took.Seconds()*1e3, rec.names[i]))
	}
	rec.names, rec.events = nil, nil
	return sum
}

// randomWords returns n words. It generates large amounts in parallel.
func randomWords(d dist, n, wordBytes int) []byte {
	raw := make([]byte, n*wordBytes)
	parts := runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	for part := range parts {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(part)))
			for i := n * part / parts; i < n*(part+1)/parts; i++ {
				key := d.key(rng, i, n)
				switch {
				case wordBytes == 8:
					binary.NativeEndian.PutUint64(raw[8*i:], key)
				case d.low:
					binary.NativeEndian.PutUint32(raw[4*i:], uint32(key>>d.drop))
				default:
					binary.NativeEndian.PutUint32(raw[4*i:], uint32(key>>32^key))
				}
			}
		})
	}
	group.Wait()
	return raw
}

// checkLarge checks in one pass that the result is in order, stable, and contains the original
// keys.
func (b *bed) checkLarge() {
	b.t.Helper()
	size := b.data.WordBytes
	got := make([]byte, len(b.words))
	must(b.t, b.q.Download(got, b.data.Keys))
	var values []byte
	if b.data.Values != nil {
		values = make([]byte, 4*b.n)
		must(b.t, b.q.Download(values, b.data.Values))
	}
	parts := runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	var mu sync.Mutex
	var sum uint64
	for part := range parts {
		group.Go(func() {
			own := b.checkPart(got, values, b.n*part/parts, b.n*(part+1)/parts, size)
			mu.Lock()
			sum += own
			mu.Unlock()
		})
	}
	group.Wait()
	if sum != 0 {
		b.t.Errorf("the result does not have the keys that were given")
	}
}

// checkPart checks a part of the result. It returns the sum of the differences of hashes, which
// is 0 over all parts.
func (b *bed) checkPart(got, values []byte, begin, end, size int) (sum uint64) {
	var before uint64
	var beforeValue uint32
	if begin > 0 {
		before = wordAt(got, begin-1, size)
	}
	if begin > 0 && values != nil {
		beforeValue = binary.NativeEndian.Uint32(values[4*begin-4:])
	}
	for i := begin; i < end; i++ {
		key, given := wordAt(got, i, size), wordAt(b.words, i, size)
		sum += mix(key) - mix(given)
		if key < before {
			b.t.Errorf("key %d of %d is %#x, after %#x", i, b.n, key, before)
			return sum
		}
		if values != nil {
			value := binary.NativeEndian.Uint32(values[4*i:])
			if int(value) >= b.n || wordAt(b.words, int(value), size) != key || i > 0 && key == before && value <= beforeValue {
				b.t.Errorf("value %d of %d is %d, after %d", i, b.n, value, beforeValue)
				return sum
			}
			beforeValue = value
		}
		before = key
	}
	return sum
}

func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>29
}

func benchNs(t testing.TB) []int {
	var list []int
	for field := range strings.SplitSeq(*benchSizes, ",") {
		log2, err := strconv.Atoi(field)
		must(t, err)
		list = append(list, 1<<log2)
	}
	return list
}

func benchKindList() []kind {
	var list []kind
	for _, k := range []kind{{4, false}, {8, false}, {4, true}, {8, true}} {
		if slices.Contains(strings.Split(*benchKinds, ","), k.String()) {
			list = append(list, k)
		}
	}
	return list
}

func benchDistList() []dist {
	var list []dist
	for _, d := range slices.Concat(dists, peerDists) {
		if *benchDists == "all" || slices.Contains(strings.Split(*benchDists, ","), d.name) {
			list = append(list, d)
		}
	}
	return list
}

func sizeName(n int) string {
	log2 := 0
	for 1<<log2 < n {
		log2++
	}
	return fmt.Sprintf("2^%d", log2)
}

// measure sorts b.N times and reports the median rate by the device's clock, from the start of
// the first kernel to the end of the last one. The first sort, which builds the kernels, does not
// count.
func measure(b *testing.B, bed *bed, s *Sorter) {
	bed.t = b
	bits := 8 * bed.data.WordBytes
	bed.reset()
	if err := s.Sort(bed.q, &bed.data, 0, bits); err != nil {
		b.Skip(err)
	}
	must(b, bed.q.Finish())
	if b.N == 1 { // the testing package always starts with a single run
		bed.checkLarge()
	}
	rec := &recorder{}
	s.Trace(rec.add)
	var spans []time.Duration
	var all times
	b.SetBytes(int64(len(bed.words)))
	bed.data.Passes = 0
	b.ResetTimer()
	for range b.N {
		bed.reset()
		must(b, bed.q.Finish())
		rec.names, rec.events = nil, nil
		must(b, s.Sort(bed.q, &bed.data, 0, bits))
		must(b, bed.q.Finish())
		all = rec.times(b)
		spans = append(spans, all.last-all.first)
	}
	b.StopTimer()
	slices.Sort(spans)
	median := spans[len(spans)/2]
	b.ReportMetric(float64(bed.n)/max(float64(median.Nanoseconds()), 1), "Gkeys/s")
	b.ReportMetric(float64(bed.data.Passes)/float64(b.N), "passes")
	if *benchKernels {
		b.Log("\n" + strings.Join(all.timeline, "\n"))
	}
}

// BenchmarkSort times every algorithm with its default parameters:
// Sort/algorithm=…/key=…/n=…/dist=….
func BenchmarkSort(b *testing.B) {
	ctx, q := openDevice(b)
	for _, n := range benchNs(b) {
		for _, k := range benchKindList() {
			for _, d := range benchDistList() {
				benchAlgorithms(b, ctx, q, n, k, d)
			}
		}
	}
}

func benchAlgorithms(b *testing.B, ctx *cl.Context, q *cl.Queue, n int, k kind, d dist) {
	var shared *bed
	for _, name := range Names() {
		if isQuadratic(name) && n > 1<<17 {
			continue
		}
		b.Run(fmt.Sprintf("algorithm=%s/key=%s/n=%s/dist=%s", name, k, sizeName(n), d.name), func(b *testing.B) {
			if shared == nil {
				shared = newBed(b, ctx, q, k, randomWords(d, n, k.wordBytes))
			}
			measure(b, shared, newSorter(b, ctx, name, Params{}))
		})
	}
	if shared != nil {
		shared.close()
	}
}

// TestLarge sorts 2^28 keys with every algorithm that supports this many.
func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("for a GPU: -large")
	}
	ctx, q := openDevice(t)
	for _, k := range benchKindList() {
		words := randomWords(dists[0], 1<<28, k.wordBytes)
		for _, name := range Names() {
			if isQuadratic(name) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, k), func(t *testing.T) {
				b := newBed(t, ctx, q, k, words)
				defer b.close()
				must(t, newSorter(t, ctx, name, Params{}).Sort(q, &b.data, 0, 8*k.wordBytes))
				b.checkLarge()
			})
		}
	}
}

// TestHuge (-huge) sorts more keys than 32 bits can count, 17 GiB of them, with 64-bit positions,
// tables and states. It needs about 40 GiB of host memory and 52 GiB on the device.
func TestHuge(t *testing.T) {
	if !*huge {
		t.Skip("for a large GPU: -huge")
	}
	ctx, q := openDevice(t)
	b := newBed(t, ctx, q, kind{4, false}, randomWords(dists[0], 1<<32+4097, 4))
	defer b.close()
	for _, name := range []string{"count-scan-reorder", "onesweep"} {
		b.reset()
		must(t, newSorter(t, ctx, name, Params{}).Sort(q, &b.data, 0, 32))
		b.checkLarge()
	}
}
