package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
)

func generator(t testing.TB, s, dist string, seed uint64, records int64) *Generator {
	t.Helper()
	g, err := NewGenerator(layout(t, s), dist, seed, records)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func generated(t testing.TB, s, dist string, seed uint64, records int64) []byte {
	g := generator(t, s, dist, seed, records)
	recs := make([]byte, int(records)*g.layout.RecordSize)
	g.Fill(recs, 0)
	return recs
}

// The bytes of a seed are promised to stay the same on every machine and in every version.
func TestGoldenData(t *testing.T) {
	h := sha256.New()
	for _, s := range layouts() {
		for _, dist := range Distributions {
			h.Write(generated(t, s, dist, 42, 300))
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != goldenData {
		t.Errorf("all layouts and distributions: %s, want %s", got, goldenData)
	}
	for name, want := range goldenRecords {
		s, dist, _ := strings.Cut(name, "/")
		if got := fmt.Sprintf("%x", generated(t, s, dist, 1, 3)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFillDoesNotDependOnTheCuts(t *testing.T) {
	for _, s := range []string{"8 0:u64", "8 0:f64:desc", "100 0:bytes10", "7 3:u16be:desc 0:i8", "33 0:u128"} {
		for _, dist := range Distributions {
			const n = 2*blockKeys + 3
			want := generated(t, s, dist, 7, n)
			g := generator(t, s, dist, 7, n)
			got := make([]byte, len(want))
			size := g.layout.RecordSize
			var wg sync.WaitGroup
			for from, step := 0, 1; from < n; from, step = from+step, step*3 {
				wg.Go(func() { g.Fill(got[from*size:min(from+step, n)*size], int64(from)) })
			}
			wg.Wait()
			if !bytes.Equal(got, want) {
				t.Errorf("%s %s: pieces differ from the whole", s, dist)
			}
		}
	}
}

func TestSortedIsSortedInEveryLayout(t *testing.T) {
	const n = 1500
	for _, s := range layouts() {
		if s == "10 0:u16 1:u16be:desc 2:i32" || strings.HasPrefix(s, "6 0:bytes5") || strings.HasPrefix(s, "40 ") ||
			strings.HasPrefix(s, "20 ") || strings.HasPrefix(s, "300 ") {
			continue // overlapping fields
		}
		k := keyer(t, s)
		if o := CheckBlock(k, 0, generated(t, s, "sorted", 3, n)); o.FirstDisorder >= 0 {
			t.Errorf("%s: sorted data is out of order at %d", s, o.FirstDisorder)
		}
		reverse, _ := NewKeyer(k.Layout().Reverse())
		if o := CheckBlock(reverse, 0, generated(t, s, "reversed", 3, n)); o.FirstDisorder >= 0 {
			t.Errorf("%s: reversed data is out of order at %d", s, o.FirstDisorder)
		}
	}
}

func TestDistributions(t *testing.T) {
	const n = 1 << 16
	count := func(dist string) (values map[uint64]int, most int) {
		values = map[uint64]int{}
		recs := generated(t, "8 0:u64", dist, 9, n)
		for ; len(recs) > 0; recs = recs[8:] {
			v := binary.LittleEndian.Uint64(recs)
			values[v]++
			most = max(most, values[v])
		}
		return values, most
	}
	if values, _ := count("uniform"); len(values) != n {
		t.Errorf("uniform: %d distinct of %d", len(values), n)
	}
	if values, _ := count("few"); len(values) != fewValues {
		t.Errorf("few: %d distinct, want %d", len(values), fewValues)
	}
	if values, _ := count("equal"); len(values) != 1 {
		t.Errorf("equal: %d distinct", len(values))
	}
	// P(rank 1) = 1/zipfOctaves.
	if values, most := count("zipf"); most < n/zipfOctaves*9/10 || most > n/zipfOctaves*11/10 || len(values) < n/8 {
		t.Errorf("zipf: the most frequent of %d comes %d times, want about %d", len(values), most, n/zipfOctaves)
	}
	k := keyer(t, "8 0:u64")
	reverse, _ := NewKeyer(k.Layout().Reverse())
	recs := generated(t, "8 0:u64", "nearly-sorted", 9, n)
	keys := make([]uint64, n)
	k.Prefixes(keys, recs)
	descents := 0
	for i := range keys[1:] {
		if keys[i+1] < keys[i] {
			descents++
		}
	}
	if descents < n/nearlySorted/2 || descents > 2*n/nearlySorted {
		t.Errorf("nearly-sorted: %d descents of %d", descents, n)
	}
	if o := CheckBlock(reverse, 0, recs); o.FirstDisorder != 1 && o.FirstDisorder != 2 {
		t.Errorf("nearly-sorted does not rise: %d", o.FirstDisorder)
	}
}

func TestFloatsAreFiniteAndNormalIsNormal(t *testing.T) {
	const n = 1 << 16
	for _, dist := range Distributions {
		var sum, squares float64
		for _, s := range []string{"8 0:f64", "4 0:f32be:desc"} {
			recs := generated(t, s, dist, 5, n)
			sum, squares = 0, 0
			for i := range n {
				v := float64(math.Float32frombits(binary.BigEndian.Uint32(recs[4*i:])))
				if s == "8 0:f64" {
					v = math.Float64frombits(binary.LittleEndian.Uint64(recs[8*i:]))
				}
				if !(math.Abs(v) <= normalSpan) {
					t.Fatalf("%s %s: record %d is %v", s, dist, i, v)
				}
				sum, squares = sum+v, squares+v*v
			}
			mean, deviation := sum/n, math.Sqrt(squares/n)
			want := map[string]float64{"normal": 1, "uniform": 1 / math.Sqrt(3), "sorted": 1 / math.Sqrt(3)}[dist]
			if want != 0 && (math.Abs(mean) > 0.02 || math.Abs(deviation-want) > 0.02) {
				t.Errorf("%s %s: mean %v, deviation %v, want 0 and %v", s, dist, mean, deviation, want)
			}
		}
	}
}

func TestGensortPayload(t *testing.T) {
	recs := make([]byte, 100)
	generator(t, "100 0:bytes10", "uniform", 1, 1<<40).Fill(recs, 0xabcdef0123)
	if got := string(recs[10:44]); got != "\x00\x11"+strings.Repeat("0", 22)+"ABCDEF0123" {
		t.Errorf("bytes 10 to 43 are %q", got)
	}
	if recs[48] != recs[51] || !bytes.Equal(recs[44:48], []byte{0x88, 0x99, 0xaa, 0xbb}) ||
		!bytes.Equal(recs[96:], []byte{0xcc, 0xdd, 0xee, 0xff}) {
		t.Errorf("bytes 44 to 99 are %q", recs[44:])
	}
}

func TestNewGeneratorErrors(t *testing.T) {
	if _, err := NewGenerator(Whole(8), "poisson", 1, 1); err == nil || !strings.Contains(err.Error(), "nearly-sorted") {
		t.Errorf("unknown distribution: %v", err)
	}
	if _, err := NewGenerator(Whole(8), "few", 1, -1); err == nil {
		t.Error("a negative number of records is accepted")
	}
	if _, err := NewGenerator(Layout{}, "few", 1, 1); err == nil {
		t.Error("an empty layout is accepted")
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, s := range []string{"8 0:u64", "4 0:f32", "8 0:f64", "100 0:bytes10", "12 0:f32 4:u64", "16 0:u128"} {
		for _, dist := range Distributions {
			if dist != "uniform" && s != "8 0:u64" {
				continue
			}
			b.Run("key="+strings.ReplaceAll(s, " ", "_")+"/n=64Ki/dist="+dist, func(b *testing.B) {
				g := generator(b, s, dist, 1, 1<<30)
				recs := make([]byte, g.layout.RecordSize<<16)
				b.SetBytes(int64(len(recs)))
				for b.Loop() {
					g.Fill(recs, 12345)
				}
			})
		}
	}
}
