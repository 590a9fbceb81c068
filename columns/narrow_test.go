package columns

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestWrongStatistics sorts files whose statistics claim a smaller range or no nulls.
func TestWrongStatistics(t *testing.T) {
	const nulls = 7
	low := binary.LittleEndian.AppendUint64(nil, 0x0102030405060708)
	high := binary.LittleEndian.AppendUint64(nil, 0x0102030405067777)
	middle := binary.LittleEndian.AppendUint64(nil, 0x0102030405061111)
	c := &testColumn{columnKind: columnKinds[5], path: "a", optional: true, values: [][]byte{low, high}}
	for i := range 1000 {
		value := bytes.Clone(low)
		value[1] = byte(0x10 + i%100)
		c.values = append(c.values, value)
	}
	for range nulls {
		c.values = append(c.values, nil)
	}
	nullCount := func(n byte) []byte { // the field before the maximum, in Thrift's compact protocol
		return append([]byte{2 * n, 0x28, 8}, high...)
	}
	for name, change := range map[string][2][]byte{
		"maximum": {high, middle},
		"minimum": {low, middle},
		"nulls":   {nullCount(nulls), nullCount(0)},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			in := filepath.Join(folder, "in.parquet")
			table := &testTable{columns: []*testColumn{c}, rows: len(c.values)}
			data := table.withFooter(t, in, change[0])
			footer := footerOf(data)
			copy(footer, bytes.ReplaceAll(footer, change[0], change[1]))
			testfiles.Write(t, in, data)
			opt := Options{
				Inputs:      []string{in},
				Keys:        []Key{{Column: "a"}},
				Output:      filepath.Join(folder, "out"),
				Compression: "snappy",
				Memory:      MinMemory,
				TempDirs:    []string{folder},
			}
			if _, err := sortBy(context.Background(), opt, true); !errors.Is(err, errStatistics) {
				t.Errorf("with the statistics: %v", err)
			}
			if _, err := Sort(context.Background(), opt); err != nil {
				t.Fatal(err)
			}
			table.compare(t, readForeign(t, opt.Output), table.selected(opt))
		})
	}
}

// withFooter writes files, which have random row groups, until the footer contains some bytes.
func (t *testTable) withFooter(tb testing.TB, name string, part []byte) []byte {
	tb.Helper()
	for seed := range uint64(100) {
		t.write(tb, rand.New(rand.NewPCG(seed, 1)), name, 0, t.rows, true)
		data := testfiles.Read(tb, name)
		if bytes.Contains(footerOf(data), part) {
			return data
		}
	}
	tb.Fatal("the statistics are not in the footer")
	return nil
}

// footerOf returns the end of a file, from the footer on.
func footerOf(data []byte) []byte {
	const end = 8 // the length of the footer and the magic
	return data[len(data)-end-int(binary.LittleEndian.Uint32(data[len(data)-end:])):]
}
