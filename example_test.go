package extsort_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort"
)

// The records of most examples are a name of 5 characters and a number of one character.
var named = extsort.Record{
	Size: 6,
	Keys: []extsort.KeyField{{Offset: 0, Type: extsort.Bytes(5)}},
}

// letters are records of one character.
var letters = extsort.Record{Type: extsort.Bytes(1)}

func ExampleSort() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, []byte("delta4alpha2gamma9"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	output := filepath.Join(dir, "sorted")
	report, err := extsort.Sort(context.Background(), extsort.Job{
		Input: extsort.Input{Paths: []string{input}},
		Record: extsort.Record{
			Size: 6,
			Keys: []extsort.KeyField{{Offset: 5, Type: extsort.U8, Desc: true}},
		},
		Output: extsort.Output{Path: output},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sorted, err := os.ReadFile(output)
	fmt.Println(report.RecordsWritten, report.Strategy, string(sorted), err)
	// Output: 3 in-core gamma9delta4alpha2 <nil>
}

// A computed key is a function of fields. Here, points with two coordinates of one byte are sorted along
// a Hilbert curve.
func ExampleKeyField_compute() {
	points := []byte("baaabbab")
	sorted, _, err := extsort.SortBytes(context.Background(), points, extsort.Job{
		Record: extsort.Record{Size: 2, Keys: []extsort.KeyField{{Compute: "hilbert(0:u8,1:u8)"}}},
	})
	fmt.Println(string(sorted), err)
	// Output: aaabbbba <nil>
}

// Inputs and outputs need not be files. Pass os.Stdin as Input.Reader to sort standard input.
func ExampleSort_stream() {
	_, err := extsort.Sort(context.Background(), extsort.Job{
		Input:  extsort.Input{Reader: strings.NewReader("sorting")},
		Record: letters,
		Output: extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: ginorst <nil>
}

// With Verify, the report has checksums and a summary.
func ExampleSort_verify() {
	report, err := extsort.Sort(context.Background(), extsort.Job{
		Input:  extsort.Input{Reader: strings.NewReader("sorting")},
		Record: letters,
		Output: extsort.Output{Writer: os.Stdout},
		Verify: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println()
	fmt.Println(report.Verified, report.ChecksumIn == report.ChecksumOut)
	fmt.Println(report.Summary.Records, report.Summary.First, report.Summary.Last)
	// Output:
	// ginorst
	// true true
	// 7 "g" "t"
}

func ExampleSortSlice() {
	type city struct {
		name   string
		people int
	}
	cities := []city{{"Bergen", 290_000}, {"Oslo", 710_000}, {"Aarhus", 290_000}}
	err := extsort.SortSlice(context.Background(), cities,
		extsort.By(func(c city) int { return c.people }).Desc(),
		extsort.By(func(c city) string { return c.name }))
	fmt.Println(cities, err)
	// Output: [{Oslo 710000} {Aarhus 290000} {Bergen 290000}] <nil>
}

// Without keys, numbers are ordered by their value.
func ExampleSortSlice_numbers() {
	numbers := []float64{2.5, -1, 0.5, -3}
	err := extsort.SortSlice(context.Background(), numbers)
	fmt.Println(numbers, err)
	// Output: [-3 -1 0.5 2.5] <nil>
}

// Tags name the key fields of a struct.
func ExampleSortSlice_tags() {
	type event struct {
		Time  int64 `extsort:"2,desc"`
		Level uint8 `extsort:"1"`
		Text  string
	}
	events := []event{{10, 2, "a"}, {30, 1, "b"}, {20, 2, "c"}}
	err := extsort.SortSlice(context.Background(), events)
	fmt.Println(events, err)
	// Output: [{30 1 b} {20 2 c} {10 2 a}] <nil>
}

func ExampleSortBytes() {
	records := []byte("delta4alpha2gamma9alpha1")
	sorted, _, err := extsort.SortBytes(context.Background(), records, extsort.Job{
		Record: named,
		Select: extsort.Unique(extsort.KeepFirst),
	})
	fmt.Println(string(sorted), err)
	// Output: alpha2delta4gamma9 <nil>
}

func ExampleRecords() {
	var report extsort.Report
	job := extsort.Job{
		Input:   extsort.Input{Reader: bytes.NewReader([]byte{3, 0, 9, 0, 1, 0, 7, 0})},
		Record:  extsort.Record{Type: extsort.U16},
		Reverse: true,
	}
	for record, err := range extsort.Records(context.Background(), job, &report) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(binary.LittleEndian.Uint16(record))
	}
	fmt.Println(report.RecordsRead, "records")
	// Output:
	// 9
	// 7
	// 3
	// 1
	// 4 records
}

func ExampleMerge() {
	_, err := extsort.Merge(context.Background(), extsort.MergeJob{
		Input: extsort.Input{Sources: []extsort.Source{
			{Name: "first", Reader: strings.NewReader("ace")},
			{Name: "second", Reader: strings.NewReader("bdf")},
		}},
		Record: letters,
		Output: extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: abcdef <nil>
}

// Each part can be merged by another process.
func ExampleCuts() {
	job := extsort.MergeJob{
		Input: extsort.Input{Sources: []extsort.Source{
			{ReaderAt: strings.NewReader("aceg"), Size: 4},
			{ReaderAt: strings.NewReader("bdfh"), Size: 4},
		}},
		Record: letters,
		Output: extsort.Output{Writer: os.Stdout},
	}
	cuts, err := extsort.Cuts(context.Background(), job, 2)
	fmt.Println(cuts, err)

	job.Input.Part = extsort.Part{Index: 1, Count: 2}
	job.Cuts = cuts
	_, err = extsort.Merge(context.Background(), job)
	fmt.Println("", err)
	// Output:
	// [[0 0] [2 2] [4 4]] <nil>
	// efgh <nil>
}

func ExampleCheck() {
	report, err := extsort.Check(context.Background(), extsort.CheckJob{
		Input:  extsort.Input{Sources: []extsort.Source{{Name: "letters", Reader: strings.NewReader("acb")}}},
		Record: letters,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if report.Disorder != nil {
		fmt.Println(report.Disorder.Record, report.Disorder)
	}
	// Output: 2 letters: record 3 (byte 2) is out of order: "b" after "c"
}

// A large file can be checked in parts, by several processes.
func ExampleSummary_Append() {
	file := strings.NewReader("abccde")
	var whole *extsort.CheckReport
	for part := range int64(2) {
		report, err := extsort.Check(context.Background(), extsort.CheckJob{
			Input: extsort.Input{
				Sources: []extsort.Source{{ReaderAt: file, Size: 6}},
				Part:    extsort.Part{Index: part, Count: 2},
			},
			Record: letters,
		})
		if err != nil || report.Disorder != nil {
			fmt.Println(report, err)
			return
		}
		if whole == nil {
			whole = report
			continue
		}
		fmt.Println("in order:", whole.Precedes(&report.Summary, false))
		if err := whole.Append(&report.Summary); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(whole.Records, "records,", whole.Duplicates, "duplicate, from", whole.First, "to", whole.Last)
	// Output:
	// in order: true
	// 6 records, 1 duplicate, from "a" to "e"
}

func ExamplePlan() {
	records := make([]byte, 1000)
	forecast, err := extsort.Plan(context.Background(), extsort.Job{
		Input: extsort.Input{Sources: []extsort.Source{
			{Name: "records", ReaderAt: bytes.NewReader(records), Size: int64(len(records))},
		}},
		Record: extsort.Record{Size: 10},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(forecast.Strategy, forecast.Records, forecast.RecordSize)
	// Output: in-core 100 10
}

func ExamplePlanFor() {
	forecast, err := extsort.PlanFor(context.Background(), extsort.Job{
		Record:    extsort.Record{Type: extsort.U64},
		Output:    extsort.Output{Path: "sorted.bin"},
		Resources: extsort.Resources{Memory: 1 << 30},
	}, 60_000_000_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(forecast.OutputBytes, forecast.TempBytes > 450_000_000_000, forecast.Predicted > 0)
	// Output: 480000000000 true true
}

func ExampleDevices() {
	devices, _ := extsort.Devices(context.Background())
	fmt.Println(devices[0].Kind)
	// Output: cpu
}

// A selection can be limited to its first records, and their positions can be written instead of
// them.
func ExampleUnique() {
	records := "delta4alpha2gamma9alpha1"
	for _, selection := range []extsort.Selection{
		extsort.All(),
		extsort.First(2),
		extsort.Unique(extsort.KeepLast),
		extsort.Unique(extsort.KeepFirst).First(2),
		extsort.Duplicates(),
	} {
		_, err := extsort.Sort(context.Background(), extsort.Job{
			Input:  extsort.Input{Reader: strings.NewReader(records)},
			Record: named,
			Select: selection,
			Output: extsort.Output{Writer: os.Stdout},
		})
		fmt.Println("", err)
	}
	// Output:
	// alpha2alpha1delta4gamma9 <nil>
	// alpha2alpha1 <nil>
	// alpha1delta4gamma9 <nil>
	// alpha2delta4 <nil>
	// alpha2 <nil>
}

// Counted appends the number of records with each key.
func ExampleCounted() {
	counted, _, err := extsort.SortBytes(context.Background(), []byte("banana"), extsort.Job{
		Record: letters,
		Select: extsort.Counted(extsort.KeepFirst),
	})
	for ; len(counted) >= 9; counted = counted[9:] {
		fmt.Printf("%c %d\n", counted[0], binary.LittleEndian.Uint64(counted[1:]))
	}
	fmt.Println(err)
	// Output:
	// a 3
	// b 1
	// n 2
	// <nil>
}

// Each record is a letter and a number. The numbers of each letter are added.
func ExampleFields() {
	records := []byte{'b', 4, 'a', 2, 'c', 1, 'a', 3}
	sums, _, err := extsort.SortBytes(context.Background(), records, extsort.Job{
		Record: extsort.Record{Size: 2, Keys: []extsort.KeyField{{Type: extsort.U8}}},
		Select: extsort.Unique(extsort.KeepFirst).Combine(extsort.Fields{Sum: []string{"1:u8"}}),
	})
	for ; len(sums) >= 2; sums = sums[2:] {
		fmt.Printf("%c %d\n", sums[0], sums[1])
	}
	fmt.Println(err)
	// Output:
	// a 5
	// b 4
	// c 1
	// <nil>
}

func ExamplePositions() {
	positions, _, err := extsort.SortBytes(context.Background(), []byte("dbca"), extsort.Job{
		Record: letters,
		Select: extsort.Positions(extsort.U32),
	})
	for ; len(positions) >= 4; positions = positions[4:] {
		fmt.Print(binary.LittleEndian.Uint32(positions), " ")
	}
	fmt.Println(err)
	// Output: 3 1 2 0 <nil>
}

// One input is in memory and read at any offset, the other is read sequentially.
func ExampleSource() {
	object := []byte("bdf")
	_, err := extsort.Sort(context.Background(), extsort.Job{
		Input: extsort.Input{Sources: []extsort.Source{
			{Name: "object", ReaderAt: bytes.NewReader(object), Size: int64(len(object))},
			{Name: "upload", Reader: strings.NewReader("ace")},
		}},
		Record: letters,
		Output: extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: abcdef <nil>
}

// upload is a Sink.
type upload struct{ strings.Builder }

func (u *upload) Commit(context.Context) error {
	fmt.Println("complete:", u)
	return nil
}

func (u *upload) Abort() error {
	fmt.Println("discarded")
	return nil
}

// The second sort fails: its input ends in the middle of a record.
func ExampleSink() {
	for _, key := range []extsort.Type{extsort.U8, extsort.U16} {
		_, err := extsort.Sort(context.Background(), extsort.Job{
			Input:  extsort.Input{Reader: strings.NewReader("cab")},
			Record: extsort.Record{Type: key},
			Output: extsort.Output{Sink: &upload{}},
		})
		if partial, ok := errors.AsType[*extsort.PartialRecordError](err); ok {
			fmt.Println(partial.Bytes, "of", partial.RecordSize, "bytes at", partial.Offset)
		}
	}
	// Output:
	// complete: abc
	// discarded
	// 1 of 2 bytes at 2
}

// The sorted records replace a file when all of them are written.
func ExampleCreateFile() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "sorted")

	file, err := extsort.CreateFile(ctx, name)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = extsort.Sort(ctx, extsort.Job{
		Input:  extsort.Input{Reader: strings.NewReader("cab")},
		Record: letters,
		Output: extsort.Output{Sink: file},
	})
	sorted, readErr := os.ReadFile(name)
	fmt.Println(string(sorted), err, readErr)
	// Output: abc <nil> <nil>
}

func ExampleParseMemory() {
	for _, text := range []string{"64M", "2GB", "much"} {
		limit, err := extsort.ParseMemory(text)
		fmt.Println(limit, err != nil)
	}
	// Output:
	// 67108864 false
	// 2000000000 false
	// 0 true
}

func ExampleProgress() {
	var last extsort.Progress
	_, err := extsort.Sort(context.Background(), extsort.Job{
		Input:    extsort.Input{Reader: strings.NewReader("cab")},
		Record:   letters,
		Output:   extsort.Output{Sink: &upload{}},
		Progress: func(p extsort.Progress) { last = p },
	})
	fmt.Printf("phase %d of %d, %s: %d of %d bytes, %v left, %v\n",
		last.PhaseIndex, last.Phases, last.Phase, last.Done, last.Total, last.Remaining, err)
	// Output:
	// complete: abc
	// phase 3 of 3, finish: 6 of 6 bytes, 0s left, <nil>
}

// A warning is a record of the logger.
func ExampleJob_logger() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	var log strings.Builder
	_, _, err := extsort.SortBytes(context.Background(), nil, extsort.Job{
		Record: extsort.Record{Size: 1000},
		Tuning: extsort.Tuning{SpillCompression: "delta"},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	})
	fmt.Println(strings.ReplaceAll(log.String(), "bytes ", "bytes\n"), err)
	// Output:
	// level=WARN msg="temporary data with records of 1000 bytes
	// cannot be compressed with delta and is stored uncompressed"
	//  <nil>
}

// All invalid fields are reported at once.
func ExampleOptionError() {
	_, err := extsort.Sort(context.Background(), extsort.Job{
		Input:  extsort.Input{Paths: []string{"log.bin"}},
		Record: extsort.Record{Size: 16, Keys: []extsort.KeyField{{Offset: 8}}},
	})
	fmt.Println(err)
	if option, ok := errors.AsType[*extsort.OptionError](err); ok {
		fmt.Println("first:", option.Option)
	}
	// Output:
	// Record.Keys[0].Type is missing: set it, for example to extsort.U32
	// Output is empty: set Output.Path, Output.Writer or Output.Sink
	// first: Record.Keys[0].Type
}

func ExampleResourceError() {
	_, err := extsort.Sort(context.Background(), extsort.Job{
		Input:     extsort.Input{Reader: strings.NewReader("")},
		Record:    letters,
		Output:    extsort.Output{Writer: os.Stdout},
		Resources: extsort.Resources{Memory: 1 << 20},
	})
	if resource, ok := errors.AsType[*extsort.ResourceError](err); ok {
		fmt.Println(resource.Option, resource.Available, resource.Needed)
	}
	// Output: Resources.Memory 1048576 16777216
}
