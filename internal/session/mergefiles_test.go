package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/fields"
)

// mergeOptions returns opt in the form of options for a merge.
func mergeOptions(opt Options) MergeOptions {
	m := fields.Shared[MergeOptions](opt)
	m.faults = opt.faults
	return m
}

// mergeAs merges with the options of a sort.
func mergeAs(ctx context.Context, opt Options) (*Report, error) { return Merge(ctx, mergeOptions(opt)) }

// mergeToBytes merges into a pipe or a file and returns the output.
func mergeToBytes(t *testing.T, opt MergeOptions) ([]byte, error) {
	t.Helper()
	var stdout bytes.Buffer
	opt.Stdout, opt.TempDirs = &stdout, []string{t.TempDir()}
	_, err := Merge(context.Background(), opt)
	return stdout.Bytes(), err
}

// TestMergeNamesFirstDisorder merges inputs, one of them with several places out of order. The
// error must name the first place.
func TestMergeNamesFirstDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for _, first := range []int{2, engine.DisorderBytes/8 - 1, engine.DisorderBytes / 8, engine.DisorderBytes/8 + 1} {
		good, bad := k.make(t, "sorted", 400_000, seeded(t)), k.make(t, "sorted", 400_000, seeded(t))
		copy(bad[8*first:], k.make(t, "reversed", 400_000-first, seeded(t)))
		clear(bad[8*first : 8*first+8])
		opt := MergeOptions{Record: k.spec, Inputs: []string{writeFile(t, good), writeFile(t, bad)},
			MemoryBytes: MinMemory, Output: filepath.Join(t.TempDir(), "out")}
		_, err := Merge(t.Context(), opt)
		var disorder *DisorderError
		if !errors.As(err, &disorder) || disorder.File != opt.Inputs[1] || disorder.Record != int64(first) ||
			disorder.Key != "0" || disorder.After != fmt.Sprint(binary.LittleEndian.Uint64(bad[8*first-8:])) {
			t.Errorf("of record %d on: %v", first, err)
		}
	}
}

// TestMergeDisorder checks that the error names the input that is out of order, and the record,
// in one level and in several.
func TestMergeDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for _, batch := range []int{0, 2, 3} {
		for _, streams := range []bool{false, true} {
			for _, bad := range []int{0, 3, 6} {
				for _, record := range []int{299, 1, 31, 32, 33}[:effort(5)] {
					opt := MergeOptions{Record: k.spec, BatchSize: batch, Workers: 2}
					opt.faults.blockBytes = 256
					key := ""
					for i := range 7 {
						piece := k.make(t, "sorted", 300, rand.New(rand.NewPCG(uint64(i), 1)))
						if i == bad {
							swapRecords(piece, 8, record-1)
							key = fmt.Sprint(binary.LittleEndian.Uint64(piece[8*record:]))
						}
						if streams && i%2 == 1 {
							piece = formattest.Compress(t, piece, format.Gzip)
						}
						opt.Inputs = append(opt.Inputs, writeFile(t, piece))
					}
					_, err := mergeToBytes(t, opt)
					var disorder *DisorderError
					if !errors.As(err, &disorder) {
						t.Fatalf("batch %d, streams %t: input %d is not sorted, the error is %v", batch, streams, bad, err)
					}
					if disorder.File != opt.Inputs[bad] || disorder.Record != int64(record) || disorder.Byte != int64(8*record) ||
						disorder.Key != key {
						t.Errorf("batch %d, streams %t: input %d is out of order in record %d; reported was input %s: %v",
							batch, streams, bad, record, indexOf(opt.Inputs, disorder.File), err)
					}
				}
			}
		}
	}
}

func indexOf(names []string, name string) string {
	for i, n := range names {
		if n == name {
			return fmt.Sprint(i)
		}
	}
	return name
}

// TestIdleInput merges and combines an input and a stream that remains open and delivers nothing
// more. Neither an error of the input nor the end of a limited merge may wait for the stream.
func TestIdleInput(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	sorted := k.make(t, "sorted", 100_000, seeded(t))
	disordered := slices.Clone(sorted)
	swapRecords(disordered, 8, 150)
	for name, c := range map[string]struct {
		other []byte
		run   func(MergeOptions) error
	}{
		"limit": {sorted, func(opt MergeOptions) error {
			opt.Limit = 100_000
			_, err := Merge(t.Context(), opt)
			if err == nil {
				err = errors.New("other: no error") // as for the other cases
			}
			return err
		}},
		"merge": {disordered, func(opt MergeOptions) error {
			_, err := Merge(t.Context(), opt)
			return err
		}},
		"union": {disordered, func(opt MergeOptions) error {
			_, err := Combine(t.Context(), SetOptions{Inputs: opt})
			return err
		}},
		"union of sorted inputs": {sorted[:len(sorted)-1], func(opt MergeOptions) error {
			_, err := Combine(t.Context(), SetOptions{Sort: true, Inputs: opt})
			return err
		}},
	} {
		idle, end := io.Pipe()
		t.Cleanup(func() { end.Close() })
		err := c.run(MergeOptions{Record: k.spec, Stdout: io.Discard, Sources: []Source{
			{Name: "other", Reader: bytes.NewReader(c.other)},
			{Name: "idle", Reader: io.MultiReader(bytes.NewReader(sorted), idle)},
		}})
		if err == nil || !strings.Contains(err.Error(), "other") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
