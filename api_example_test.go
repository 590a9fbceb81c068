package extsort_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

func ExampleSortSlice() {
	records := []byte("delta4alpha2gamma9alpha1")
	sorted, err := extsort.SortSlice(context.Background(), records, extsort.Options{
		Record: extsort.Record(6).Key(0, extsort.Bytes(5)), Unique: true,
	})
	fmt.Println(string(sorted), err)
	// Output: alpha2delta4gamma9 <nil>
}

func ExampleRecords() {
	input := []byte{3, 0, 9, 0, 1, 0, 7, 0}
	for record, err := range extsort.Records(context.Background(), extsort.Options{
		Stdin: bytes.NewReader(input), Record: extsort.Keys(extsort.U16), Reverse: true,
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if key := binary.LittleEndian.Uint16(record); key > 1 {
			fmt.Println(key)
		}
	}
	// Output:
	// 9
	// 7
	// 3
}

func ExamplePlanFor() {
	plan, err := extsort.PlanFor(context.Background(), extsort.Options{
		Record: extsort.Keys(extsort.U64), MemoryBytes: 1 << 30, Output: "sorted.bin",
	}, 60_000_000_000)
	fmt.Println(plan.OutputBytes, plan.TempBytes > 450_000_000_000, plan.Seconds > 0, err)
	// Output: 480000000000 true true <nil>
}

func ExampleKeys() {
	fmt.Printf("%+v\n", extsort.Keys(extsort.U64))
	// Output: {Format: Type:u64 Member: RecordSize:0 Keys:[] NaN: Float:}
}

func ExampleRecord() {
	fmt.Println(extsort.Record(100).Key(0, extsort.Bytes(10)).Desc().Keys)
	// Output: [0:bytes10:desc]
}

// A warning is a record of a logger: here that such records are not spilled as differences.
func ExampleOptions_logger() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	_, err := extsort.Sort(context.Background(), extsort.Options{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Record: extsort.Record(1000), SpillCompress: "delta",
		Logger: logger,
	})
	fmt.Println(err)
	// Output:
	// level=WARN msg="temporary data with records of 1000 bytes cannot be compressed by delta and is stored uncompressed"
	// <nil>
}

// Inputs need not be files: here two are in memory, one to be read at any place and one in sequence.
func ExampleSource() {
	object := []byte("bdf")
	_, err := extsort.Sort(context.Background(), extsort.Options{
		Sources: []extsort.Source{
			{Name: "object", At: bytes.NewReader(object), Size: int64(len(object))},
			{Name: "upload", Reader: strings.NewReader("ace")},
		},
		Record: extsort.Keys(extsort.U8), Stdout: os.Stdout,
	})
	fmt.Println("", err)
	// Output: abcdef <nil>
}

// upload is an object of a store that is there when it is complete.
type upload struct{ strings.Builder }

func (u *upload) Commit(context.Context) error {
	fmt.Println("complete:", u)
	return nil
}

func (u *upload) Abort() error {
	fmt.Println("given up")
	return nil
}

// The second sort fails: its input has half a record.
func ExampleSink() {
	for _, key := range []format.Type{extsort.U8, extsort.U16} {
		_, err := extsort.Sort(context.Background(), extsort.Options{
			Stdin: strings.NewReader("cab"), Record: extsort.Keys(key), Sink: &upload{},
		})
		fmt.Println(err != nil)
	}
	// Output:
	// complete: abc
	// false
	// given up
	// true
}

// A Tracker can be asked from another goroutine, by a ticker say, while the sort runs.
func ExampleTracker() {
	var tracker extsort.Tracker
	_, err := extsort.Sort(context.Background(), extsort.Options{
		Stdin: strings.NewReader("cab"), Stdout: io.Discard, Record: extsort.Keys(extsort.U8), Progress: &tracker,
	})
	s := tracker.Snapshot()
	fmt.Printf("phase %d of %d, %s: %d of %d bytes, %v left, %v\n",
		s.PhaseIndex, s.Phases, s.Phase, s.Done, s.Total, s.Remaining, err)
	// Output: phase 3 of 3, finish: 6 of 6 bytes, 0s left, <nil>
}

func ExampleSort() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "sorted")
	report, err := extsort.Sort(context.Background(), extsort.Options{
		Stdin: strings.NewReader("delta4alpha2gamma9"), Record: extsort.Record(6).Key(5, extsort.U8).Desc(), Output: name,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sorted, err := os.ReadFile(name)
	fmt.Println(report.Records, report.Strategy, string(sorted), err)
	// Output: 3 in-core gamma9delta4alpha2 <nil>
}

func ExampleMerge() {
	_, err := extsort.Merge(context.Background(), extsort.MergeOptions{
		Sources: []extsort.Source{{Reader: strings.NewReader("ace")}, {Reader: strings.NewReader("bdf")}},
		Record:  extsort.Keys(extsort.U8), Stdout: os.Stdout,
	})
	fmt.Println("", err)
	// Output: abcdef <nil>
}

// Each part may be merged by another process, which needs not find the cuts again.
func ExampleCuts() {
	opt := extsort.MergeOptions{
		Sources: []extsort.Source{{At: strings.NewReader("aceg"), Size: 4}, {At: strings.NewReader("bdfh"), Size: 4}},
		Record:  extsort.Keys(extsort.U8), Stdout: os.Stdout,
	}
	cuts, err := extsort.Cuts(context.Background(), opt, 2)
	fmt.Println(cuts, err)
	opt.Part, opt.Cuts = extsort.Part{K: 1, N: 2}, cuts
	_, err = extsort.Merge(context.Background(), opt)
	fmt.Println("", err)
	// Output:
	// [[0 0] [2 2] [4 4]] <nil>
	// efgh <nil>
}

func ExampleCheck() {
	_, err := extsort.Check(context.Background(), extsort.CheckOptions{
		Input:  extsort.Source{Name: "letters", Reader: strings.NewReader("acb")},
		Record: extsort.Keys(extsort.Bytes(1)),
	})
	if disorder, ok := errors.AsType[*extsort.DisorderError](err); ok {
		fmt.Println(disorder.File, disorder.Record, disorder)
	}
	// Output: letters 2 letters: record 3 (byte 2) is out of order: "b" after "c"
}

func ExamplePlan() {
	records := make([]byte, 1000)
	plan, err := extsort.Plan(context.Background(), extsort.Options{
		Sources: []extsort.Source{{Name: "records", At: bytes.NewReader(records), Size: int64(len(records))}},
		Record:  extsort.Record(10), Devices: []string{"cpu"}, MemoryBytes: 64 << 20,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Strategy, plan.Records, plan.RecordSize)
	// Output: in-core 100 10
}

func ExampleDevices() {
	for _, d := range extsort.Devices(context.Background()).Devices[:1] { // the CPU is the first
		fmt.Println(d.Kind)
	}
	// Output: cpu
}

// Other errors that are types are LayoutError, PartialRecordError and DisorderError.
func ExampleMemoryError() {
	_, err := extsort.Sort(context.Background(), extsort.Options{
		Stdin: strings.NewReader(""), Record: extsort.Keys(extsort.U8), MemoryBytes: 1 << 20,
	})
	if memory, ok := errors.AsType[*extsort.MemoryError](err); ok {
		fmt.Println(memory.Limit, memory.Least)
	}
	// Output: 1048576 16777216
}

func ExamplePartialRecordError() {
	_, err := extsort.Sort(context.Background(), extsort.Options{
		Stdin: bytes.NewReader(make([]byte, 19)), Stdout: io.Discard, Record: format.Spec{Type: "u64"},
	})
	if partial, ok := errors.AsType[*extsort.PartialRecordError](err); ok {
		fmt.Println(partial.Bytes, "bytes of a record of", partial.RecordSize, "at byte", partial.Byte)
	}
	// Output: 3 bytes of a record of 8 at byte 16
}
