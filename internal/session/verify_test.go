package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestCheck finds the first disorder at any position, and counts duplicates.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u64", "rec7", "gensort", "wide key"} {
		k := kindNamed(name)
		layout := k.layout(t)
		size := layout.RecordSize
		for _, reverse := range []bool{false, true} {
			n := 1000
			if name == "gensort" && !testfiles.Race {
				n = 12000 // more than one of the blocks that Check reads
			}
			recs := k.make(t, "uniform", n, r)
			distinct := reference(t, layout, recs, Options{Reverse: reverse, Unique: true})
			sorted := reference(t, layout, recs, Options{Reverse: reverse})
			n = len(distinct) / size
			for _, at := range []int{1, 2, n / 2, n - 1} {
				bad := slices.Clone(distinct)
				swapRecords(bad, size, at-1)
				checkOrderOf(t, Options{Record: k.spec, Reverse: reverse}, bad, int64(at))
				twice := slices.Concat(distinct[:at*size], distinct[(at-1)*size:])
				checkOrderOf(t, Options{Record: k.spec, Reverse: reverse}, twice, -1)
				checkOrderOf(t, Options{Record: k.spec, Reverse: reverse, Unique: true}, twice, int64(at))
			}
			checkOrderOf(t, Options{Record: k.spec, Reverse: reverse}, sorted, -1)
			checkOrderOf(t, Options{Record: k.spec, Reverse: reverse, Unique: true}, distinct, -1)
			checkOrderOf(t, Options{Record: k.spec, Reverse: reverse, Unique: true}, nil, -1)
		}
	}
}

// checkOptions returns opt in the form of options for a check of one input.
func checkOptions(opt Options) CheckOptions {
	c := fields.Shared[CheckOptions](opt)
	c.faults = opt.faults
	for _, source := range opt.sources() {
		c.Input = source
	}
	return c
}

// checkOrderOf checks data as a file, as a pipe and compressed. at is the expected index of the
// first record that is out of order.
func checkOrderOf(t *testing.T, opt Options, data []byte, at int64) {
	t.Helper()
	header := formattest.Header(t, opt.Record)
	size := header.Layout().RecordSize
	var sum format.Checksum
	sum.Add(data, size)
	for name, input := range map[string]string{"file": writeFile(t, data), "standard input": "-",
		"gzip": writeFile(t, formattest.Compress(t, data, format.Gzip))} {
		opt.Inputs, opt.Workers = []string{input}, 3
		opt.Stdin = &dribble{data: data, most: 4000}
		report, err := Check(context.Background(), checkOptions(opt))
		var disorder *DisorderError
		if found := errors.As(err, &disorder); found != (at >= 0) || !found && err != nil {
			t.Fatalf("%s: record %d is out of order, the error is %v", name, at, err)
		}
		if at >= 0 && (disorder.Record != at || disorder.Byte != at*int64(size)) {
			t.Errorf("%s: record %d is out of order, reported was %v", name, at, err)
		}
		if report.Records != int64(len(data)/size) || report.Checksum != sum.String() {
			t.Errorf("%s: %d records of checksum %s, want %d of %s", name, report.Records, report.Checksum, len(data)/size, sum)
		}
		opt.Stdin = &dribble{data: data, most: 4000}
		briefly := checkOptions(opt)
		briefly.Brief = true
		report, brief := Check(context.Background(), briefly)
		if fmt.Sprint(brief) != fmt.Sprint(err) || report.Checksum != "" ||
			at < 0 && report.Records != int64(len(data)/size) {
			t.Errorf("%s: briefly %v, %+v; at length %v", name, brief, report, err)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	spec := format.Spec{Type: "u64"}
	file := writeFile(t, make([]byte, 81))
	for name, opt := range map[string]CheckOptions{
		file:             {Record: spec, Input: Source{Name: file}},
		"standard input": {Record: spec, Stdin: bytes.NewReader(make([]byte, 81))},
		"Record.Type":    {},
	} {
		report, err := Check(context.Background(), opt)
		var disorder *DisorderError
		if err == nil || report != nil || errors.As(err, &disorder) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: report %v, error %v", name, report, err)
		}
	}
}

const liarRecords = 3000

// liar is a device whose chunks modify the records that they store.
type liar struct {
	device.Device
	lie func(recs []byte) []byte
}

func (l *liar) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	c, err := l.Device.NewChunk(ctx, opt)
	return &liarChunk{c, l}, err
}

type liarChunk struct {
	device.Chunk
	device *liar
}

func (c *liarChunk) Store(ctx context.Context, limit int64, drain bool, w device.BlockWriter) error {
	lie := func(ctx context.Context, first int64, recs []byte) error {
		recs = slices.Clone(recs)
		// Change only the last block. If records were missing before another block, the writer
		// would wait for them.
		if first+int64(len(recs)/8) == liarRecords {
			recs = c.device.lie(recs)
		}
		return w.WriteBlock(ctx, first, recs)
	}
	return c.Chunk.Store(ctx, limit, drain, device.BlockWriterFunc(lie))
}

// TestVerify makes a device fail in ways that only verification can detect, or that must be
// detected without it.
func TestVerify(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := k.make(t, "uniform", liarRecords, seeded(t))
	for name, c := range map[string]struct {
		lie     func(recs []byte) []byte
		noticed bool // the failure is detected even without Verify
	}{
		"honest":   {lie: func(recs []byte) []byte { return recs }},
		"disorder": {lie: func(recs []byte) []byte { swapRecords(recs, 8, 3); return recs }},
		// This changes the least significant byte of the key, so the order is hardly affected.
		"changed": {lie: func(recs []byte) []byte { recs[0]++; return recs }},
		"doubled": {lie: func(recs []byte) []byte { copy(recs[8:16], recs[:8]); return recs }},
		"lost":    {lie: func(recs []byte) []byte { return recs[:len(recs)-8] }, noticed: true},
	} {
		for _, verify := range []bool{false, true} {
			for _, toFile := range []bool{false, true} {
				opt := Options{Record: k.spec, Verify: verify, Inputs: []string{writeFile(t, data)}}
				opt.faults.wrapDevice = func(d device.Device) device.Device { return &liar{d, c.lie} }
				if toFile {
					opt.Output = t.TempDir() + "/out"
				}
				_, report, err := sortToBytes(t, opt)
				wrong := name != "honest" && (verify || c.noticed)
				if toFile && (err != nil) != wrong || !toFile && wrong && err == nil {
					t.Errorf("%s, verify %t, to a file %t: the error is %v", name, verify, toFile, err)
				}
				if report != nil && report.Verified != (verify && err == nil) {
					t.Errorf("%s: verified is %t", name, report.Verified)
				}
			}
		}
	}
}

// droppingDataset silently drops the last records of each source.
type droppingDataset struct{ chunker.Dataset }

func (d droppingDataset) Cut(n int64) (device.Source, error) {
	src, err := d.Dataset.Cut(n)
	if src != nil {
		_, _, _ = src.Next(1, func(_ int64, n int) []byte { return make([]byte, 8*n) })
		src = shifted{src}
	}
	return src, err
}

type shifted struct{ device.Source }

func (s shifted) Records() int64 { return s.Source.Records() - 1 }

func (s shifted) Next(max int, place func(int64, int) []byte) (int64, int, error) {
	first, n, err := s.Source.Next(max, func(first int64, n int) []byte { return place(first-1, n) })
	return first - 1, n, err
}

// TestLostRecords checks that a sort that has not read all records does not succeed.
func TestLostRecords(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	opt := small(Options{Record: k.spec, Strategy: MergeRuns, Inputs: []string{writeFile(t,
		k.make(t, "uniform", 2000, seeded(t)))}})
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return droppingDataset{d} }
	opt.Stdout, opt.Output = io.Discard, t.TempDir()+"/out"
	if _, _, err := sortToBytes(t, opt); err == nil || !strings.Contains(err.Error(), "2000 records") {
		t.Errorf("the error is: %v", err)
	}
}

// TestVerifiedGetsAllOnce checks that Options.Verified receives each output record once, at its
// position, for every kind of output.
func TestVerifiedGetsAllOnce(t *testing.T) {
	t.Parallel()
	k := kindNamed("rec7")
	size := k.layout(t).RecordSize
	data := k.make(t, "uniform", 3000, seeded(t))
	for _, to := range []string{"", t.TempDir() + "/out"} {
		opt := small(Options{Record: k.spec, Verify: true, Workers: 3, Strategy: MergeRuns, Output: to,
			Inputs: []string{writeFile(t, data)}})
		var lock sync.Mutex
		got, n := make([]byte, len(data)), 0
		opt.Verified = func(first int64, recs []byte) {
			lock.Lock()
			defer lock.Unlock()
			n += copy(got[int(first)*size:], recs)
		}
		want, _, err := sortToBytes(t, opt)
		if err != nil || n != len(data) || !bytes.Equal(got, want) {
			t.Errorf("to %q: %d of %d bytes, as written %t, %v", to, n, len(data), bytes.Equal(got, want), err)
		}
	}
}
