package session

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// TestKeptHeaderWarnings keeps a header and sorts with every option that changes the records, and
// with none. In a header of a recognized format, the count is updated instead.
func TestKeptHeaderWarnings(t *testing.T) {
	t.Parallel()
	const foreign, vectors = "HDR06\x00\x00\x00", "\x06\x00\x00\x00\x02\x00\x00\x00"
	const records, number = "cabacacabadb", "may no longer be right"
	for name, c := range map[string]struct {
		opt  Options
		want string // of the warning, of a foreign header
		out  uint32 // records
	}{
		"nothing":      {Options{}, "", 6},
		"reverse":      {Options{Reverse: true}, "", 6},
		"unique":       {Options{Unique: true}, number, 3},
		"count":        {Options{Unique: true, Count: true}, "those of the output have 10", 3},
		"duplicates":   {Options{Duplicates: true}, number, 2},
		"limit":        {Options{Limit: 5}, number, 5},
		"high limit":   {Options{Limit: 6}, "", 6},
		"no records":   {Options{Limit: NoRecords}, number, 0},
		"part":         {Options{Part: Part{K: 1, N: 3}}, number, 2},
		"whole part":   {Options{Part: Part{K: 0, N: 1}}, "", 6},
		"shuffle":      {Options{Shuffle: true}, "", 6},
		"a sample":     {Options{Shuffle: true, Limit: 3}, number, 3},
		"split by one": {Options{SplitFiles: 1}, "", 6},
		"split":        {Options{SplitFiles: 2}, "each file of the output has fewer records", 0},
		"split bytes":  {Options{SplitBytes: 12}, "each file of the output has fewer records", 0},
	} {
		for _, header := range []string{foreign, vectors} {
			for _, way := range []string{"file", "compressed", "merge", "merge compressed"} {
				data := records
				if strings.HasPrefix(way, "merge") {
					data = sortedPairs(data)
				}
				folder, opt := t.TempDir(), c.opt
				in := filepath.Join(folder, "in.u8bin")
				content := []byte(header + data + "tail")
				packed := strings.HasSuffix(way, "compressed")
				merging := strings.HasPrefix(way, "merge")
				if packed {
					in += ".gz"
					content = compressed(t, content, format.Gzip)
				}
				if packed && opt.Part.N > 0 || merging && (opt.Shuffle || opt.Reverse) || merging && packed && opt.Limit != 0 ||
					merging && opt.Part.N > 0 && opt.Limit > 0 || packed && opt.Limit == NoRecords {
					continue // cannot be combined
				}
				if err := os.WriteFile(in, content, 0o600); err != nil {
					t.Fatal(err)
				}
				var warnings []string
				opt.Record, opt.Inputs = format.Spec{RecordSize: 2}, []string{in}
				opt.SkipBytes, opt.SkipTail, opt.KeepHeader = 8, 4, true
				opt.Output, opt.TempDirs = filepath.Join(folder, "out"), []string{folder}
				opt.Warn = func(message string) { warnings = append(warnings, message) }
				run := Sort
				if merging {
					run = mergeAs
				}
				if _, err := run(t.Context(), opt); err != nil {
					t.Errorf("%s, %q, %s: %v", name, header, way, err)
					continue
				}
				want := c.want
				if header == vectors && want != "those of the output have 10" { // whose number is set
					want = ""
				}
				if got := strings.Join(warnings, "\n"); (got != "") != (want != "") || !strings.Contains(got, want) {
					t.Errorf("%s, %q, %s: the warning is %q, want %q", name, header, way, got, want)
				}
				checkFramed(t, opt, header, c.out)
			}
		}
	}
}

// sortedPairs sorts records of 2 bytes.
func sortedPairs(s string) string {
	var pairs []string
	for i := 0; i < len(s); i += 2 {
		pairs = append(pairs, s[i:i+2])
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "")
}

// checkFramed looks for the header and the tail in each file of the output.
func checkFramed(t *testing.T, opt Options, header string, records uint32) {
	t.Helper()
	names := []string{opt.Output}
	if opt.SplitFiles+int(opt.SplitBytes) > 0 {
		names, _ = filepath.Glob(opt.Output + ".[0-9]*")
	}
	size := 2
	if opt.Count {
		size += output.CountBytes
	}
	total := 0
	for _, name := range names {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		body, ok := bytes.CutSuffix(got, []byte("tail"))
		if !ok || len(body) < 8 {
			t.Errorf("%s has no tail: %q", name, got)
			continue
		}
		there := (len(body) - 8) / size
		total += there
		want := []byte(header)
		if !strings.HasPrefix(header, "HDR") {
			binary.LittleEndian.PutUint32(want, uint32(there))
		}
		if !bytes.Equal(body[:8], want) {
			t.Errorf("%s begins with %q, want %q", name, body[:8], want)
		}
	}
	if len(names) == 0 || len(names) == 1 && records > 0 && total != int(records) || len(names) > 1 && total != 6 {
		t.Errorf("%d files have %d records, want %d", len(names), total, records)
	}
}

// TestFrameIsInvalid checks that every invalid frame is reported with its option.
func TestFrameIsInvalid(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]Options{
		"Options.Records -2":                          {Records: -2},
		"Options.SkipTail -1":                         {SkipTail: -1},
		"Options.Records: Record.Format sosd":         {Records: 1, Record: format.Spec{Format: "sosd", Type: "u64"}},
		"Options.SkipTail: an archive":                {SkipTail: 1, Record: format.Spec{Format: "npz"}},
		"1048577 bytes are more than the maximum":     {SkipTail: MaxKeptHeader + 1, KeepHeader: true},
		"Options.KeepHeader: needs Options.SkipBytes": {KeepHeader: true},
	} {
		if opt.Record.Format == "" {
			opt.Record = u64Spec
		}
		if _, err := Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestLongTail skips tails that are too long to be kept.
func TestLongTail(t *testing.T) {
	t.Parallel()
	data := make([]byte, 8+MaxKeptHeader+1)
	for way, opt := range waysIn(t, data) {
		opt.Record, opt.Records, opt.KeepHeader, opt.Raw = u64Spec, 1, true, true
		if way == "many files" {
			opt.Inputs = opt.Inputs[:1]
		}
		_, _, err := sortToBytes(t, opt)
		if err == nil || !strings.Contains(err.Error(), "leave Options.KeepHeader out") {
			t.Errorf("%s: %v", way, err)
		}
		if opt.KeepHeader = false; opt.Stdin != nil {
			opt.Stdin = bytes.NewReader(data)
		}
		if got, _, err := sortToBytes(t, opt); err != nil || len(got) != 8 {
			t.Errorf("%s: %d bytes, %v", way, len(got), err)
		}
	}
}

// TestRecordsHaveNoFrame checks that Records yields only records, without a header or a tail.
func TestRecordsHaveNoFrame(t *testing.T) {
	t.Parallel()
	opt := Options{Record: format.Spec{RecordSize: 2}, Sources: []Source{{Reader: strings.NewReader("headcabatail")}},
		SkipBytes: 4, SkipTail: 4, KeepHeader: true}
	var got []string
	for rec, err := range Records(t.Context(), opt) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(rec))
	}
	if !slices.Equal(got, []string{"ba", "ca"}) {
		t.Errorf("records %q", got)
	}
}
