package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format/formattest"
)

func readers(runs [][]byte) []io.Reader {
	var list []io.Reader
	for i, r := range runs {
		in := io.Reader(bytes.NewReader(r))
		if i%2 == 1 {
			in = iotest.HalfReader(in)
		}
		list = append(list, in)
	}
	return list
}

func TestStreamsFaults(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u32be"))
	good := bytes.Repeat([]byte{1, 1, 1, 1}, 100)
	broken := errors.New("broken")
	run := func(r io.Reader) error {
		opt := Options{Keyer: k, Workers: 2, BlockBytes: 40, Limit: -1, CheckOrder: true}
		err := Streams(context.Background(), opt, []io.Reader{bytes.NewReader(good), r}, newCollector(k, 40))
		return err
	}
	err := run(io.MultiReader(bytes.NewReader(good), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || err.Error() != "broken" {
		t.Errorf("a read error becomes %v", err)
	}
	err = run(bytes.NewReader(good[:399]))
	if err == nil || !strings.Contains(err.Error(), "input 2 ends at byte 399") {
		t.Errorf("a partial record becomes %v", err)
	}
	for _, at := range []int{1, 9, 10, 11, 99} {
		bad := bytes.Clone(good)
		bad[4*at] = 0
		var disorder *DisorderError
		err := run(bytes.NewReader(bad))
		if !errors.As(err, &disorder) || disorder.Input != 1 || disorder.Record != int64(at) ||
			string(disorder.Key) != "\x00\x01\x01\x01" || string(disorder.Before) != "\x01\x01\x01\x01" ||
			disorder.Error() != fmt.Sprintf("merge: input 2: record %d is out of order", at+1) {
			t.Errorf("disorder at record %d becomes %v", at, err)
		}
	}
}

func TestStreamsWithinMemory(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Fields(t, 100, "0:bytes10"))
	for _, memory := range []int64{5000, 100_000, 3_000_000, 1 << 30} {
		opt := Options{Keyer: k, Workers: 4, BlockBytes: 1000, MemoryBytes: memory}
		if memory > 10_000 {
			opt.BlockBytes = 100_000
		}
		n, err := opt.streamBlock(10)
		used := int64(10*streamBuffers)*plan.MergeBuffer(k, n) + int64(opt.Workers)*opt.workerBytes()
		if memory == 5000 || memory == 100_000 {
			if err == nil {
				t.Errorf("%d bytes of memory were enough, %d used", memory, used)
			}
			continue
		}
		if err != nil || used > memory {
			t.Errorf("%d bytes of memory: %d used, %v", memory, used, err)
		}
	}
}

// FuzzMerge merges arbitrary records as runs, as streams and as stored chunks, with several kinds
// of keys.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint8(3), uint8(2), uint8(1))
	f.Add(bytes.Repeat([]byte{255}, 300), uint8(7), uint8(5), uint8(8))
	f.Fuzz(func(t *testing.T, data []byte, fanIn, blockRecords, kind uint8) {
		all := layouts(t)
		l := all[int(kind)%len(all)]
		k := formattest.KeyerOf(t, l)
		records := len(data) / l.RecordSize
		split := make([][]byte, 1+fanIn%20)
		for i := range records {
			r := int(data[i*l.RecordSize]>>1) % len(split)
			split[r] = append(split[r], data[i*l.RecordSize:(i+1)*l.RecordSize]...)
		}
		runs, want := sortedParts(k, split)
		opt := Options{Keyer: k, Workers: 2, BlockBytes: l.RecordSize * (1 + int(fanIn)%5), Limit: -1, CheckOrder: true}
		for name, merge := range mergers {
			rng := rand.New(rand.NewPCG(uint64(blockRecords), uint64(fanIn)))
			out := newCollector(k, opt.BlockBytes)
			if err := merge(t.Context(), opt, runs, rng, out); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Written(t), want) {
				t.Fatalf("%s, %v: %d runs: wrong order", name, l, len(split))
			}
		}
	})
}
