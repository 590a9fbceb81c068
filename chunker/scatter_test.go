package chunker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

func newTestSpill(t testing.TB, spec format.Spec, store spill.Store, folders ...string) *spill.Spill {
	t.Helper()
	if len(folders) == 0 {
		folders = []string{t.TempDir()}
	}
	s, err := spill.New(spill.Options{Store: store, Folders: folders, Codec: "none", Keyer: formattest.Keyer(t, spec),
		Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// scatterAll scatters 8-byte records that lie in a file.
func scatterAll(t testing.TB, recs []byte, c *Classifier, workers int) []*Partition {
	t.Helper()
	opt := plan.Scatter{Workers: workers, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes}
	return scatter(t, words, recs, c, opt)
}

// scatter scatters records that lie in a file.
func scatter(t testing.TB, spec format.Spec, recs []byte, c *Classifier, opt plan.Scatter) []*Partition {
	t.Helper()
	d := openData(t, spec, []string{writeFile(t, recs)}, nil)
	partitions, err := Scatter(t.Context(), formattest.Keyer(t, spec), d, c, newTestSpill(t, spec, nil), opt)
	if err != nil {
		t.Fatal(err)
	}
	return partitions
}

func readPartition(t testing.TB, p *Partition, size int) []byte {
	t.Helper()
	recs, err := readByCut(p, size, 1<<40, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(recs)/size) != p.Records() {
		t.Fatalf("a partition of %d records delivered %d", p.Records(), len(recs)/size)
	}
	return recs
}

// TestScatter compares the concatenated partitions with a stable sort by partition, for records
// that are moved as words and others, and for all kinds of buffers.
func TestScatter(t *testing.T) {
	r := formattest.Random(t)
	for _, spec := range []format.Spec{{RecordSize: 12, Keys: []string{"0:u64"}},
		{RecordSize: 16, Keys: []string{"0:u64"}}, words, {Type: "u32be"}} {
		k := formattest.Keyer(t, spec)
		size := k.Layout().RecordSize
		for _, distinct := range []uint64{1, 2, 20, 1 << 60} {
			for _, n := range []int{0, 1, 21, 22, 5000} {
				recs := make([]byte, 0, size*n)
				for i := range n {
					key := r.Uint64N(distinct) * (1 << 63 / distinct) >> 32
					record := binary.LittleEndian.AppendUint64(nil, key<<32|key)
					record = binary.LittleEndian.AppendUint64(record, uint64(i))
					recs = append(recs, record[:size]...)
				}
				keys := make([]uint64, n)
				k.Prefixes(keys, recs)
				sample := slices.Clone(keys[:min(n, 500)])
				slices.Sort(sample)
				c := NewClassifier(sample, 6)
				for _, opt := range []plan.Scatter{
					{Workers: 1, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes},
					{Workers: 2, BlockBytes: 1024, UnitBytes: plan.MaxUnitBytes},
					{Workers: 5, BlockBytes: 240, UnitBytes: plan.MaxUnitBytes},
					{Workers: 2, BlockBytes: 4096, UnitBytes: 48},
					{Workers: 3, Sections: 17, BlockBytes: 256, UnitBytes: 480},
				} {
					partitions := scatter(t, spec, recs, c, opt)
					name := fmt.Sprintf("%d records of %d bytes and %d keys, %+v", n, size, distinct, opt)
					checkPartitions(t, name, partitions, recs, keys, c)
				}
			}
		}
	}
}

func checkPartitions(t *testing.T, name string, partitions []*Partition, recs []byte, keys []uint64, c *Classifier) {
	t.Helper()
	if len(partitions) != c.Partitions {
		t.Fatalf("%s: %d partitions, the classifier has %d", name, len(partitions), c.Partitions)
	}
	where := make([]uint32, len(keys))
	c.Classify(where, keys)
	size := len(recs) / max(len(keys), 1)
	for p, partition := range partitions {
		var want []byte
		var of []uint64
		for i, key := range keys {
			if int(where[i]) == p {
				want, of = append(want, recs[size*i:][:size]...), append(of, key)
			}
		}
		if got := readPartition(t, partition, max(size, 1)); !bytes.Equal(got, want) {
			t.Fatalf("%s: partition %d has %d bytes that are not the %d due", name, p, len(got), len(want))
		}
		if len(of) > 0 && partition.AllEqual != (slices.Min(of) == slices.Max(of)) {
			t.Errorf("%s: all keys of partition %d are the same: %t, it says %t",
				name, p, !partition.AllEqual, partition.AllEqual)
		}
	}
}

// TestPartOfWideKeys has keys with equal prefixes. First one of them differs in its ninth byte,
// then none.
func TestPartOfWideKeys(t *testing.T) {
	spec := format.Spec{RecordSize: 9}
	for recs, equal := range map[string]bool{"samesamebsamesamea": false, "samesamebsamesameb": true} {
		for _, blockBytes := range []int{9, 64} {
			opt := plan.Scatter{Workers: 1, BlockBytes: blockBytes, UnitBytes: plan.MaxUnitBytes}
			partitions := scatter(t, spec, []byte(recs), NewClassifier(nil, 1), opt)
			if partitions[0].AllEqual != equal {
				t.Errorf("%s in blocks of %d bytes: all keys are the same: %t", recs, blockBytes, !equal)
			}
		}
	}
}

// classifierOf is the classifier of splitters.
func classifierOf(splitters ...uint64) *Classifier {
	c := &Classifier{splitters: splitters, Partitions: len(splitters) + 1}
	c.buildTree()
	return c
}

// TestPartSample checks that the sample of a partition contains its keys.
func TestPartSample(t *testing.T) {
	opt := plan.Scatter{Workers: 1, BlockBytes: 80, UnitBytes: plan.MaxUnitBytes}
	partitions := scatter(t, words, formattest.Numbered(0, 1000), classifierOf(500), opt)
	for p, partition := range partitions {
		src, err := partition.Cut(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		sample := src.(device.Sampled).Sample()
		if len(sample) < 50 || sample[0] != uint64(500*p) || slices.Max(sample) >= uint64(500*(p+1)) {
			t.Errorf("partition %d from %d on: %d samples, from %d to %d",
				p, 500*p, len(sample), sample[0], slices.Max(sample))
		}
	}
}

// TestSampleOfSortedRun checks that the keys in the sample of a sorted run are evenly spaced. Groups of
// adjacent keys would be as good as one key each.
func TestSampleOfSortedRun(t *testing.T) {
	const records, keys = 20_000, 500
	k := formattest.Keyer(t, words)
	opt := plan.Scatter{Workers: 1, BlockBytes: 800, UnitBytes: plan.MaxUnitBytes}
	partitions := scatter(t, words, formattest.Numbered(0, records), classifierOf(records), opt)

	run := &Partition{Run: partitions[0].Run, Sorted: true}
	sample, err := run.Sample(t.Context(), k, keys)
	if err != nil || len(sample.Prefixes) != keys {
		t.Fatalf("%d keys, error %v, want %d keys", len(sample.Prefixes), err, keys)
	}
	for i, key := range sample.Prefixes[1:] {
		if gap := key - sample.Prefixes[i]; gap < records/keys || gap > records/keys+1 {
			t.Errorf("keys %d and %d of the sample are %d apart, want %d", i, i+1, gap, records/keys)
		}
	}
}

// oblivion is a Store that keeps nothing.
type oblivion struct{}

// Create implements Store.
func (oblivion) Create(string) (spill.File, error) { return forgotten{}, nil }

// Free implements Store.
func (oblivion) Free([]string) int64 { return -1 }

// forgotten is a file of oblivion.
type forgotten struct{}

func (forgotten) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (forgotten) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (forgotten) Release(int64, int64)                   {}
func (forgotten) Close() error                           { return nil }

// narrowStore is a Store whose files have room for 3000 bytes each.
type narrowStore struct{ oblivion }

type narrowFile struct{ spill.File }

func (s narrowStore) Create(folder string) (spill.File, error) {
	f, err := s.oblivion.Create(folder)
	return narrowFile{f}, err
}

func (f narrowFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > 3000 {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

func TestScatterErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var recs []byte
	for range 2000 {
		recs = binary.LittleEndian.AppendUint64(recs, r.Uint64())
	}
	c := NewClassifier([]uint64{1 << 61, 1 << 62, 1 << 63}, 3)
	k := formattest.Keyer(t, words)

	full := newTestSpill(t, words, narrowStore{})
	_, err := Scatter(context.Background(), k, openData(t, words, []string{writeFile(t, recs)}, nil), c, full,
		plan.Scatter{Workers: 3, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes})
	if err == nil {
		t.Error("no error from a full disk")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Scatter(cancelled, k, openData(t, words, []string{writeFile(t, recs)}, nil), c,
		newTestSpill(t, words, nil), plan.Scatter{Workers: 2, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = Scatter(context.Background(), k, openData(t, words, nil, bytes.NewReader(recs[:len(recs)-3])), c,
		newTestSpill(t, words, nil), plan.Scatter{Workers: 2, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes})
	if err == nil {
		t.Error("no error from a partial record")
	}
}

// TestScatterMemory compares the planned size of the buffers with the size that they use.
func TestScatterMemory(t *testing.T) {
	for _, partitions := range []int{1, 2, 3, 7, 8, 9, 63, 64, 100, 1000, plan.MaxLines} {
		opt := plan.Scatter{Workers: 1, BlockBytes: 256, UnitBytes: plan.MaxUnitBytes}
		got := opt.BufferBytes(partitions)
		if want := int64(partitions)*256 + int64(radix.AppenderBytes(partitions)); got != want {
			t.Errorf("%d partitions: %d bytes are reckoned, %d are taken", partitions, got, want)
		}
	}
}

// TestBlocksOfScatter counts the blocks that many workers append: more than the full ones, and no
// more than the plan counts, also where frequent keys get partitions of their own.
func TestBlocksOfScatter(t *testing.T) {
	const records, partitions, workers = 1 << 18, 24, 16
	k := formattest.Keyer(t, words)
	for _, dist := range []string{"uniform", "zipf"} {
		g := formattest.Generator(t, k.Layout(), dist, 1, records)
		recs := make([]byte, 8*records)
		g.Fill(recs, 0)
		keys := make([]uint64, 1<<14)
		k.Prefixes(keys, recs[:8*len(keys)])
		slices.Sort(keys)
		opt := plan.Scatter{Workers: workers, Sections: workers, BlockBytes: 4 << 10, UnitBytes: 64 << 10}
		made := scatter(t, words, recs, NewClassifier(keys, partitions), opt)
		blocks := int64(0)
		for _, partition := range made {
			blocks += int64(partition.Blocks())
		}
		full := int64(len(recs) / opt.BlockBytes)
		if most := opt.Blocks(int64(len(recs)), partitions); blocks <= full || blocks > most {
			t.Errorf("%s: %d blocks in %d partitions; %d are full, the plan has %d", dist, blocks, len(made), full, most)
		}
	}
}
