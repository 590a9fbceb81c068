package lookup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// memory is a Source in memory that counts its reads.
type memory struct {
	recs  []byte
	size  int
	reads atomic.Int64
	most  atomic.Int64 // the most bytes read at once
	fail  error        // the error of all reads from failFrom on
	from  int64
}

func (m *memory) Records() int64 { return int64(len(m.recs) / m.size) }

func (m *memory) ReadRecords(p []byte, first int64) error {
	m.reads.Add(1)
	m.most.Store(max(m.most.Load(), int64(len(p))))
	end := first*int64(m.size) + int64(len(p))
	if first < 0 || end > int64(len(m.recs)) {
		return fmt.Errorf("read of records from %d, %d bytes, outside of the file", first, len(p))
	}
	if m.fail != nil && end > m.from*int64(m.size) {
		return m.fail
	}
	copy(p, m.recs[first*int64(m.size):])
	return nil
}

// layouts lists layouts that take different paths: one word or several, descending, floats with
// special values, big-endian numbers, several fields, characters, decimals, and large records.
var layouts = []format.Spec{
	{Type: "u64"},
	{Type: "u8"},
	{Type: "i16be"},
	{Type: "f64"},
	{Type: "f32", NaN: "first"},
	{Type: "f32", Float: "numeric"},
	{Type: "i128"},
	{Type: "ucs3"},
	{Type: "bytes20"},
	{Type: "f80in128"},
	{RecordSize: 9, Keys: []string{"1:u48be", "7:u16:desc"}},
	{RecordSize: 12, Keys: []string{"4:f32:desc"}},
	{RecordSize: 7, Keys: []string{"3:u16be:desc", "0:i8"}},
	{RecordSize: 60, Keys: []string{"4:bytes40"}},
	{RecordSize: 24, Keys: []string{"0:bytes9:desc", "9:f64", "17:packed3"}},
	{RecordSize: 3000, Keys: []string{"2990:u64"}},
	{RecordSize: 70000, Keys: []string{"0:u16"}},
}

// distributions change random records before they are sorted.
var distributions = map[string]func(r *rand.Rand, rec []byte){
	"random": func(*rand.Rand, []byte) {},
	"few":    func(r *rand.Rand, rec []byte) { fill(rec, byte(r.IntN(3))) },
	"skewed": func(r *rand.Rand, rec []byte) {
		for i := range rec {
			rec[i] >>= r.IntN(9)
		}
	},
	"equal": func(_ *rand.Rand, rec []byte) { fill(rec, 7) },
}

func fill(rec []byte, c byte) {
	for i := range rec {
		rec[i] = c
	}
}

func randomRecords(r *rand.Rand, n, size int, change func(*rand.Rand, []byte)) []byte {
	recs := formattest.Bytes(r, n*size)
	for rec := range slices.Chunk(recs, size) {
		change(r, rec)
	}
	return recs
}

// normalized returns the normalized keys of records.
func normalized(keyer *format.Keyer, recs []byte) (keys [][]byte) {
	for rec := range slices.Chunk(recs, keyer.Layout().RecordSize) {
		keys = append(keys, keyer.Append(nil, rec))
	}
	return keys
}

// scan is the oracle: it compares the keys of all records with the beginning of a key.
func scan(keys [][]byte, key []byte) (r Range) {
	for _, one := range keys {
		order := bytes.Compare(one[:len(key)], key)
		if order < 0 {
			r.First++
		}
		if order <= 0 {
			r.End++
		}
	}
	return r
}

// indexOf returns the index of a table, as if it were read from a file.
func indexOf(t testing.TB, table *Table) *Index {
	t.Helper()
	var file bytes.Buffer
	if err := writeIndex(t.Context(), table, identityOf(table), &file); err != nil {
		t.Fatal(err)
	}
	index, err := readIndex("idx", bytes.NewReader(file.Bytes()), int64(file.Len()), identityOf(table), table.Keyer())
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func identityOf(table *Table) Identity {
	return Identity{Stamp: "now", Layout: "layout", Records: table.Records()}
}

// TestFind compares look-ups with a scan, for many layouts, distributions and sizes, with and
// without an index, one by one and with a cursor.
func TestFind(t *testing.T) {
	random := formattest.Random(t)
	for _, spec := range layouts {
		keyer := formattest.Keyer(t, spec)
		size := keyer.Layout().RecordSize
		for name, change := range distributions {
			most := 1 + min(20000, 300_000/size)
			for _, n := range []int{0, 1, 2, blockBytes / size, random.IntN(most), most} {
				n = min(n, most)
				recs := formattest.Sorted(keyer, randomRecords(random, n, size, change))
				m := &memory{recs: recs, size: size}
				table := NewTable("file", m, keyer, nil)
				indexed := NewTable("file", m, keyer, indexOf(t, table))
				all := normalized(keyer, recs)
				for _, table := range []*Table{table, indexed} {
					t.Run(fmt.Sprintf("%v/%s/%d", keyer.Layout(), name, n), func(t *testing.T) {
						testFind(t, random, table, m, all)
					})
				}
			}
		}
	}
}

func testFind(t *testing.T, random *rand.Rand, table *Table, m *memory, all [][]byte) {
	var keys [][]byte
	const lookups = 12
	for range lookups {
		rec := randomRecords(random, 1, m.size, distributions["skewed"])
		if n := int(m.Records()); n > 0 && random.IntN(4) > 0 {
			rec = m.recs[random.IntN(n)*m.size:][:m.size]
		}
		key := table.KeyOf(rec)
		if random.IntN(3) == 0 {
			key = key[:1+random.IntN(len(key))]
		}
		keys = append(keys, key)
	}
	batch := table.NewCursor(true)
	checking := table.NewCursor(false)
	slices.SortFunc(keys[2:], bytes.Compare) // the first ones are in any order
	for _, key := range keys {
		want := scan(all, key)
		for _, find := range []func([]byte) (Range, error){table.Find, batch.Find, checking.Find} {
			got, err := find(key)
			if err != nil || got != want {
				t.Fatalf("key %x: %v, %v, want %v", key, got, err, want)
			}
		}
	}

	from := keys[0]
	to := keys[1]
	want := Range{scan(all, from).First, scan(all, to).First}
	want.End = max(want.First, want.End)
	if got, err := table.Between(from, to); err != nil || got != want {
		t.Fatalf("between %x and %x: %v, %v, want %v", from, to, got, err, want)
	}
	if got, err := table.Between(nil, nil); err != nil || got != (Range{0, m.Records()}) {
		t.Fatalf("all: %v, %v", got, err)
	}
	got := []byte{}
	for recs, err := range table.All(t.Context(), want) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, recs...)
	}
	if !bytes.Equal(got, m.recs[int(want.First)*m.size:int(want.End)*m.size]) {
		t.Fatal("All returned other records")
	}
}

// synthetic is a Source of n numbers of 64 bits that are computed when they are read.
type synthetic struct {
	n     int64
	value func(i int64) uint64
	reads int
	bytes int
}

func (s *synthetic) Records() int64 { return s.n }

func (s *synthetic) ReadRecords(p []byte, first int64) error {
	s.reads++
	s.bytes += len(p)
	for i := range len(p) / 8 {
		binary.LittleEndian.PutUint64(p[8*i:], s.value(first+int64(i)))
	}
	return nil
}

// mix is a hash with well-distributed bits.
func mix(x uint64) uint64 {
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// uniform returns sorted numbers with about the deviations of random ones: near the middle of n, a
// sorted random number is off by √n/2 positions.
func uniform(n int64) *synthetic {
	gap := ^uint64(0) / uint64(n+1)
	return &synthetic{n: n, value: func(i int64) uint64 {
		drift := 0.0
		for level := int64(1 << 10); level < n; level *= 4 { // a random walk on several scales
			at := float64(i) / float64(level)
			left := float64(mix(uint64(int64(at)+level))>>11)/(1<<53) - 0.5
			right := float64(mix(uint64(int64(at)+1+level))>>11)/(1<<53) - 0.5
			weight := at - float64(int64(at))
			drift += 0.5 * (left*(1-weight) + right*weight) * math.Sqrt(float64(level))
		}
		return uint64(int64(gap)*(i+1)) + uint64(int64(drift*float64(gap))) + mix(uint64(i))%(gap/10*9)
	}}
}

// TestReads counts the reads of look-ups.
func TestReads(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	const n = 1e9
	for _, c := range []struct {
		name string
		from *synthetic
		most int // reads
	}{
		{"uniform", uniform(n), 5}, // at most 4 on average, see below
		{"line", &synthetic{n: n, value: func(i int64) uint64 { return uint64(i) << 20 }}, 4},
		{"powers", &synthetic{n: n, value: func(i int64) uint64 { return uint64(float64(i) * float64(i)) }}, 30 + maxMisses},
		{"steps", &synthetic{n: n, value: func(i int64) uint64 { return 1 << (i * 63 / n) }}, 2 * (30 + maxMisses)},
		{"one outlier", &synthetic{n: n, value: func(i int64) uint64 {
			if i == n-1 {
				return 1 << 63
			}
			return uint64(i)
		}}, 30 + maxMisses},
	} {
		table := NewTable("file", c.from, keyer, nil)
		total := 0
		const lookups = 200
		for range lookups {
			at := random.Int64N(n)
			rec := binary.LittleEndian.AppendUint64(nil, c.from.value(at))
			table.ends.Store(nil)
			c.from.reads = 0
			cursor := table.NewCursor(false)
			r, err := cursor.find(table.KeyOf(rec), 0)
			if err != nil || r.First > at || r.End <= at {
				t.Fatalf("%s: %d: %v, %v", c.name, at, r, err)
			}
			if c.from.reads > c.most {
				t.Errorf("%s: record %d took %d reads, at most %d are allowed", c.name, at, c.from.reads, c.most)
			}
			total += c.from.reads
		}
		t.Logf("%s: %.2f reads", c.name, float64(total)/lookups)
		if c.name == "uniform" && total > 4*lookups {
			t.Errorf("%d reads for %d look-ups", total, lookups)
		}
	}
}

// TestReadsWithIndex checks that a look-up with an index reads the file once, except for the first
// record of a block.
func TestReadsWithIndex(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	const n = 300_000
	recs := formattest.Sorted(keyer, randomRecords(random, n, 8, distributions["random"]))
	m := &memory{recs: recs, size: 8}
	table := NewTable("file", m, keyer, indexOf(t, NewTable("file", m, keyer, nil)))
	for range 1000 {
		at := random.IntN(n)
		m.reads.Store(0)
		m.most.Store(0)
		cursor := table.NewCursor(false)
		r, err := cursor.find(table.KeyOf(recs[8*at:]), 0)
		if err != nil || r != (Range{int64(at), int64(at + 1)}) {
			t.Fatalf("%d: %v, %v", at, r, err)
		}
		most := int64(1)
		if at%(blockBytes/8) == 0 {
			most = 2 // the index does not tell whether the record before a block has the same key
		}
		if m.reads.Load() > most || m.most.Load() > blockBytes {
			t.Errorf("record %d took %d reads of up to %d bytes", at, m.reads.Load(), m.most.Load())
		}
	}
}

// TestDisorder checks that searches report disorder in the records that they read, and never
// return a record with another key.
func TestDisorder(t *testing.T) {
	keyer := formattest.Keyer(t, format.Spec{Type: "u16be"})
	recs := make([]byte, 2*9)
	for i := range 9 {
		binary.BigEndian.PutUint16(recs[2*i:], uint16(10*i))
	}
	binary.BigEndian.PutUint16(recs[2*5:], 7)
	m := &memory{recs: recs, size: 2}
	table := NewTable("file", m, keyer, nil)
	want := DisorderError{File: "file", Record: 5, After: 4, Key: "7", AfterKey: "40"}

	_, err := table.Find([]byte{0, 40})
	checkDisorder(t, err, want)
	for _, err = range table.All(t.Context(), Range{3, 7}) {
	}
	checkDisorder(t, err, want)
	checkDisorder(t, writeIndex(t.Context(), table, identityOf(table), io.Discard), want)
}

func checkDisorder(t *testing.T, err error, want DisorderError) {
	t.Helper()
	var got *DisorderError
	if !errors.As(err, &got) || *got != want {
		t.Errorf("%v, want %v", err, &want)
	}
}

// TestDisorderFarAway shuffles blocks of a large file. Look-ups either find the record, or report
// disorder, or find nothing because they did not see it; and never fail in another way.
func TestDisorderFarAway(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	recs := formattest.Sorted(keyer, randomRecords(random, 100_000, 8, distributions["random"]))
	blocks := slices.Collect(slices.Chunk(recs, 8*5000))
	random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	recs = bytes.Join(blocks, nil)
	table := NewTable("file", &memory{recs: recs, size: 8}, keyer, nil)
	reported := 0
	for range 500 {
		key := table.KeyOf(recs[8*random.IntN(100_000):])
		r, err := table.Find(key)
		var disorder *DisorderError
		switch {
		case errors.As(err, &disorder):
			reported++
		case err != nil:
			t.Fatal(err)
		}
		for at := r.First; at < r.End; at++ {
			if !bytes.Equal(table.KeyOf(recs[8*at:]), key) {
				t.Fatalf("found record %d, which has another key", at)
			}
		}
	}
	if reported == 0 {
		t.Error("no look-up has reported the disorder")
	}
}

// TestReadErrors fails the reads from each record on. The error must be returned, unless the
// look-up did not need the records.
func TestReadErrors(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	const n = 50_000
	recs := formattest.Sorted(keyer, randomRecords(random, n, 8, distributions["random"]))
	broken := errors.New("the disk is broken")
	all := normalized(keyer, recs)
	good := &memory{recs: recs, size: 8}
	index := indexOf(t, NewTable("file", good, keyer, nil))
	failed := 0
	for range 300 {
		m := &memory{recs: recs, size: 8, fail: broken, from: random.Int64N(n)}
		for _, x := range []*Index{nil, index} {
			table := NewTable("file", m, keyer, x)
			key := table.KeyOf(recs[8*random.IntN(n):])
			got, err := table.Find(key)
			if errors.Is(err, broken) {
				failed++
				continue
			}
			if err != nil || got != scan(all, key) {
				t.Fatalf("%v, %v", got, err)
			}
		}
		err := writeIndex(t.Context(), NewTable("file", m, keyer, nil), Identity{Records: n}, io.Discard)
		if !errors.Is(err, broken) {
			t.Fatalf("the index: %v", err)
		}
	}
	if failed == 0 {
		t.Error("no look-up has failed")
	}
}

// TestDamagedIndex changes, cuts and extends an index. Opening it or the first look-up must report
// that, or the look-up must not need the changed byte.
func TestDamagedIndex(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u32be"})
	recs := formattest.Sorted(keyer, randomRecords(random, 300_000, 4, distributions["random"]))
	m := &memory{recs: recs, size: 4}
	table := NewTable("file", m, keyer, nil)
	var file bytes.Buffer
	if err := writeIndex(t.Context(), table, identityOf(table), &file); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	all := normalized(keyer, recs)
	find := func(damaged []byte, identity Identity) error {
		index, err := readIndex("idx", bytes.NewReader(damaged), int64(len(damaged)), identity, keyer)
		if err != nil {
			return err
		}
		key := table.KeyOf(recs[4*random.IntN(300_000):])
		got, err := NewTable("file", m, keyer, index).Find(key)
		if want := scan(all, key); err == nil && got != want {
			t.Errorf("found %v instead of %v", got, want)
		}
		return err
	}

	if err := find(whole, identityOf(table)); err != nil {
		t.Fatal(err)
	}
	var damage *DamagedError
	for at := range whole {
		changed := slices.Clone(whole)
		changed[at] ^= 1 << random.IntN(8)
		if err := find(changed, identityOf(table)); !errors.As(err, &damage) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	for length := range whole {
		if err := find(whole[:length], identityOf(table)); !errors.As(err, &damage) {
			t.Fatalf("%d bytes: %v", length, err)
		}
	}
	if err := find(append(slices.Clone(whole), 0), identityOf(table)); !errors.As(err, &damage) {
		t.Error(err)
	}

	var stale *StaleError
	for _, change := range []func(*Identity){
		func(i *Identity) { i.Stamp = "later" },
		func(i *Identity) { i.Layout = "other" },
		func(i *Identity) { i.Records++ },
	} {
		identity := identityOf(table)
		change(&identity)
		if err := find(whole, identity); !errors.As(err, &stale) {
			t.Error(err)
		}
	}
}

// TestManyPages looks keys up in an index of several pages.
func TestManyPages(t *testing.T) {
	keyer := formattest.Keyer(t, format.Spec{RecordSize: 70000, Keys: []string{"0:u64"}}) // a block is a record
	const n = 3*minPageBlocks + 5
	large := &largeRecords{n: n, size: 70000}
	table := NewTable("file", large, keyer, nil)
	d := description{Identity: identityOf(table), BlockRecords: 1, KeyBytes: 8, PageBlocks: minPageBlocks}
	var keys []byte
	for i := range int64(n) {
		keys = binary.BigEndian.AppendUint64(keys, uint64(3*i))
	}
	var file bytes.Buffer
	if err := d.write(&file, keys); err != nil {
		t.Fatal(err)
	}
	index, err := readIndex("idx", bytes.NewReader(file.Bytes()), int64(file.Len()), d.Identity, keyer)
	if err != nil {
		t.Fatal(err)
	}
	table = NewTable("file", large, keyer, index)
	for at := int64(0); at < n; at += 97 {
		for _, c := range []struct {
			value uint64
			want  Range
		}{{uint64(3 * at), Range{at, at + 1}}, {uint64(3*at + 1), Range{at + 1, at + 1}}} {
			got, err := table.Find(binary.BigEndian.AppendUint64(nil, c.value))
			if err != nil || got != c.want {
				t.Fatalf("%d: %v, %v, want %v", c.value, got, err, c.want)
			}
		}
	}
}

// largeRecords has the key 3·i in record i.
type largeRecords struct{ n, size int64 }

func (l *largeRecords) Records() int64 { return l.n }

func (l *largeRecords) ReadRecords(p []byte, first int64) error {
	for i := range int64(len(p)) / l.size {
		binary.LittleEndian.PutUint64(p[i*l.size:], uint64(3*(first+i)))
	}
	return nil
}

// TestConcurrent looks keys up from several goroutines.
func TestConcurrent(t *testing.T) {
	random := formattest.Random(t)
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	const n = 60_000
	recs := formattest.Sorted(keyer, randomRecords(random, n, 8, distributions["random"]))
	m := &memory{recs: recs, size: 8}
	table := NewTable("file", m, keyer, indexOf(t, NewTable("file", m, keyer, nil)))
	done := make(chan error)
	const goroutines = 8
	for g := range goroutines {
		r := rand.New(rand.NewPCG(uint64(g), 1))
		go func() {
			var failed error
			for range 500 {
				at := r.IntN(n)
				got, err := table.Find(table.KeyOf(recs[8*at:]))
				if err != nil || got != (Range{int64(at), int64(at + 1)}) {
					failed = fmt.Errorf("%d: %v, %w", at, got, err)
				}
			}
			done <- failed
		}()
	}
	for range goroutines {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestCancelled cancels All and WriteIndex.
func TestCancelled(t *testing.T) {
	keyer := formattest.Keyer(t, format.Spec{Type: "u8"})
	table := NewTable("file", &memory{recs: make([]byte, 10), size: 1}, keyer, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	for _, err := range table.All(ctx, Range{0, 10}) {
		if !errors.Is(err, cause) {
			t.Error(err)
		}
	}
	if err := writeIndex(ctx, table, identityOf(table), io.Discard); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func BenchmarkFind(b *testing.B) {
	keyer := formattest.Keyer(b, format.Spec{Type: "u64"})
	random := rand.New(rand.NewPCG(1, 2))
	const n = 1 << 24
	recs := make([]byte, 8*n)
	words := make([]uint64, n)
	for i := range words {
		words[i] = random.Uint64()
	}
	slices.Sort(words)
	for i, w := range words {
		binary.LittleEndian.PutUint64(recs[8*i:], w)
	}
	m := &memory{recs: recs, size: 8}
	table := NewTable("file", m, keyer, nil)
	indexed := NewTable("file", m, keyer, indexOf(b, table))
	for name, t := range map[string]*Table{"plain": table, "indexed": indexed} {
		for _, lookups := range []int{n / 1000, n / 100, n / 10} {
			keys := make([]uint64, lookups)
			for i := range keys {
				keys[i] = random.Uint64()
			}
			slices.Sort(keys)
			b.Run(fmt.Sprintf("%s/batch of %d", name, lookups), func(b *testing.B) {
				key := make([]byte, 8)
				cursor := t.NewCursor(true)
				for i := range b.N {
					binary.BigEndian.PutUint64(key, keys[i%lookups])
					if _, err := cursor.Find(key); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(name+"/single", func(b *testing.B) {
			key := make([]byte, 8)
			for range b.N {
				binary.BigEndian.PutUint64(key, random.Uint64())
				if _, err := t.Find(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// countedReads counts the reads of a ReaderAt and their bytes.
type countedReads struct {
	io.ReaderAt
	reads, bytes int
}

func (c *countedReads) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// TestReadsOfIndex counts the reads of the index of 10^9 numbers: one when it is opened, and one of a
// page for the first look-up. An index of the first form, whose description has no page_blocks, has
// larger pages.
func TestReadsOfIndex(t *testing.T) {
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	from := uniform(1e9)
	table := NewTable("file", from, keyer, nil)
	d := description{Identity: identityOf(table), BlockRecords: blockBytes / 8, KeyBytes: 8}
	var keys []byte
	for at := int64(0); at < from.n; at += d.BlockRecords {
		keys = binary.BigEndian.AppendUint64(keys, from.value(at))
	}
	for _, c := range []struct {
		pageBlocks int64
		bytes      int // of all reads
		unsaid     bool
	}{{d.evenPages(), firstReadBytes + 8*minPageBlocks, false}, {oldPageBlocks, firstReadBytes + 8*oldPageBlocks, true}} {
		d.PageBlocks = c.pageBlocks
		var file bytes.Buffer
		if err := d.write(&file, keys); err != nil {
			t.Fatal(err)
		}
		if c.unsaid {
			file = *bytes.NewBuffer(withoutPageBlocks(t, file.Bytes()))
		}
		counted := &countedReads{ReaderAt: bytes.NewReader(file.Bytes())}
		index, err := readIndex("idx", counted, int64(file.Len()), d.Identity, keyer)
		if err != nil {
			t.Fatal(err)
		}
		from.reads = 0
		const at = 123_456_789
		key := binary.BigEndian.AppendUint64(nil, from.value(at))
		got, err := NewTable("file", from, keyer, index).Find(key)
		if err != nil || got != (Range{at, at + 1}) {
			t.Fatalf("%v, %v", got, err)
		}
		if counted.reads != 2 || counted.bytes > c.bytes || from.reads != 1 {
			t.Errorf("%d reads of %d bytes of the index, %d of the file", counted.reads, counted.bytes, from.reads)
		}
	}
}

// withoutPageBlocks returns an index whose description does not contain the size of a page.
func withoutPageBlocks(t *testing.T, index []byte) []byte {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(index[len(magic):]))
	text := index[headBytes:][:length]
	old := append(slices.Clone(text[:bytes.Index(text, []byte(`,"page_blocks"`))]), '}')
	head := append([]byte(nil), magic...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(old)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(old, castagnoli))
	return slices.Concat(head, old, index[headBytes+length:])
}
