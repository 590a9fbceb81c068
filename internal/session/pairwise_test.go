package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// axes are the options that are crossed. The first value of each goes with all values of the others.
var axes = []axis{
	{"records", []string{"u64", "u8", "11 bytes", "31 bytes, wide"}},
	{"data", []string{"random", "empty", "one", "sorted", "nearly sorted", "few keys"}},
	{"input", []string{"file", "files", "at", "pipe", "reader", "gzip", "mixed"}},
	{"header", []string{"none", "skip", "keep"}},
	{"groups", []string{"whole", "unique", "last", "duplicates", "count"}},
	{"written", []string{"records", "argsort u32", "argsort u64", "shuffle"}},
	{"order", []string{"up", "down"}},
	{"limit", []string{"all", "none", "1", "300"}},
	{"part", []string{"whole", "1/3"}},
	{"output", []string{"file", "replaced input", "pipe", "sink"}},
	{"split", []string{"no", "files", "bytes"}},
	{"compress", []string{"none", "gzip", "zstd", "s2"}},
	{"strategy", []string{"auto", "merge", "partition", "reread", "sift"}},
	{"checkpoint", []string{"no", "yes"}},
	{"verify", []string{"no", "yes"}},
	{"spill", []string{"auto", "none", "delta", "s2", "zstd"}},
	{"chunks", []string{"small", "one"}},
	{"workers", []string{"1", "3"}},
}

// contradictions are the pairs of values that a sort refuses.
var contradictions = []contradiction{
	{"checkpoint=yes", "output=pipe|sink"},
	{"checkpoint=yes", "input=pipe|reader|gzip|mixed"},
	{"checkpoint=yes", "strategy=partition|reread|sift"},
	{"part=1/3", "input=pipe|reader|gzip|mixed"},
	{"part=1/3", "output=replaced input"},
	{"written=shuffle", "order=down"},
	{"written=shuffle", "groups=unique|last|duplicates|count"},
	{"written=argsort u32|argsort u64", "groups=count"},
	{"written=argsort u32|argsort u64|shuffle", "verify=yes"},
	{"written=argsort u32|argsort u64", "header=keep"},
	{"split=files|bytes", "output=pipe|sink"},
}

// TestOptionsPairwise sorts with every pair of options that can be combined, in as few sorts as possible. It compares
// each output with that of an independent reference.
func TestOptionsPairwise(t *testing.T) {
	rows := newCrossing(t, axes, contradictions).cover()
	t.Logf("%d sorts", len(rows))
	for i, row := range rows {
		t.Run(fmt.Sprint(i), func(t *testing.T) { newCrossed(t, row).check(t) })
	}
}

// TestFormsCrossed sorts with all combinations of the options that determine what is written and when its size is
// known.
func TestFormsCrossed(t *testing.T) {
	rows := newCrossing(t, axes, contradictions).product("groups", "written", "split", "input")
	t.Logf("%d sorts", len(rows))
	for i := 0; i < len(rows); i += 1 + len(rows)/(effort(len(rows))+1) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { newCrossed(t, rows[i]).check(t) })
	}
}

// TestContradictions checks that each contradiction is refused with an error of one line.
func TestContradictions(t *testing.T) {
	for _, row := range newCrossing(t, axes, contradictions).contradicting() {
		_, err := Sort(t.Context(), newCrossed(t, row).opt)
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "internal error") {
			t.Errorf("%v: %v", row, err)
		}
	}
}

// crossed is one sort of options that are crossed.
type crossed struct {
	row    map[string]string
	kind   plainKind
	opt    Options
	recs   []byte // of all inputs
	header []byte // before those of each input
	stdout bytes.Buffer
	sink   keptSink
}

const crossedRecords = 2500

func newCrossed(t *testing.T, row map[string]string) *crossed {
	t.Helper()
	r := rand.New(rand.NewPCG(46, 20)) // which is not what this test varies
	c := &crossed{row: row}
	c.kind = plainKinds[slices.IndexFunc(plainKinds, func(k plainKind) bool { return k.name == row["records"] })]
	c.recs = c.data(r)
	if row["header"] != "none" {
		c.header = []byte{0xf1, 0xf2, 0xf3, 0, 0, 0, 0xf4, 0xf5, 0xf6}
	}

	c.opt = Options{
		Record: c.kind.spec, Reverse: row["order"] == "down", Verify: row["verify"] == "yes", Workers: 1, Raw: true,
		Strategy: Strategy(row["strategy"]), SpillCompress: row["spill"], Compress: row["compress"],
		SkipBytes: int64(len(c.header)), KeepHeader: row["header"] == "keep",
	}
	c.setForm()
	c.opt.Limit = map[string]int64{"all": 0, "none": NoRecords, "1": 1, "300": 300}[row["limit"]]
	if row["part"] == "1/3" {
		c.opt.Part = Part{K: 1, N: 3}
	}
	if row["workers"] == "3" {
		c.opt.Workers = 3
	}
	if row["chunks"] == "small" {
		c.opt = small(c.opt)
	}
	switch row["split"] {
	case "files":
		c.opt.SplitFiles = 3
	case "bytes":
		c.opt.SplitBytes = int64(c.kind.size) * crossedRecords / 5
	}
	c.setInput(t, r)
	c.setOutput(t)
	return c
}

func (c *crossed) data(r *rand.Rand) []byte {
	n, keys := crossedRecords, 1<<min(8*c.kind.size, 24)
	switch c.row["data"] {
	case "empty":
		n = 0
	case "one":
		n = 1
	case "few keys":
		keys = 7
	}
	recs := c.kind.make(n, keys, r)
	sorted := c.kind.want(recs, Options{Reverse: c.row["order"] == "down"})
	switch c.row["data"] {
	case "sorted":
		return sorted
	case "nearly sorted":
		for range 10 {
			from, to := r.IntN(n)*c.kind.size, r.IntN(n)*c.kind.size
			copy(sorted[to:to+c.kind.size], slices.Clone(sorted[from:from+c.kind.size]))
		}
		return sorted
	}
	return recs
}

func (c *crossed) setForm() {
	switch c.row["groups"] {
	case "unique":
		c.opt.Unique = true
	case "last":
		c.opt.Unique, c.opt.Keep = true, "last"
	case "count":
		c.opt.Unique, c.opt.Count = true, true
	case "duplicates":
		c.opt.Duplicates = true
	}
	switch written, width, _ := strings.Cut(c.row["written"], " "); written {
	case "argsort":
		c.opt.Argsort = width
	case "shuffle":
		c.opt.Shuffle, c.opt.Seed = true, 20
	}
}

func (c *crossed) setInput(t *testing.T, r *rand.Rand) {
	t.Helper()
	third := len(c.recs) / c.kind.size / 3 * c.kind.size
	whole := slices.Concat(c.header, c.recs)
	halves := [][]byte{slices.Concat(c.header, c.recs[:third]), slices.Concat(c.header, c.recs[third:])}
	packed := func(data []byte) []byte { return compressed(t, data, format.Gzip) }
	switch c.row["input"] {
	case "file":
		c.opt.Inputs = []string{writeFile(t, whole)}
	case "files":
		c.opt.Inputs = []string{writeFile(t, halves[0]), writeFile(t, halves[1])}
	case "at":
		c.opt.Sources = []Source{{Name: "bytes", At: bytes.NewReader(whole), Size: int64(len(whole)), Version: "1"}}
	case "pipe":
		c.opt.Stdin = &dribble{data: whole, most: 3000}
	case "reader":
		c.opt.Sources = []Source{{Name: "stream", Reader: &dribble{data: whole, most: 1 + r.IntN(100)}}}
	case "gzip":
		c.opt.Inputs = []string{writeFile(t, packed(whole))}
	case "mixed":
		c.opt.Inputs = []string{writeFile(t, halves[0]), writeFile(t, packed(halves[1]))}
	}
	if in := c.row["input"]; in == "gzip" || in == "mixed" {
		c.opt.Raw = false
	}
}

func (c *crossed) setOutput(t *testing.T) {
	t.Helper()
	c.opt.Output = filepath.Join(t.TempDir(), "out")
	switch c.row["output"] {
	case "replaced input":
		if len(c.opt.Inputs) > 0 {
			c.opt.Output = c.opt.Inputs[0]
		}
	case "pipe":
		c.opt.Output, c.opt.Stdout = "", &c.stdout
	case "sink":
		c.opt.Output, c.opt.Sink = "", &c.sink
	}
	if c.row["checkpoint"] == "yes" {
		c.opt.Checkpoint = filepath.Join(t.TempDir(), "kept")
	} else {
		c.opt.TempDirs = []string{t.TempDir()}
	}
}

// check sorts, and compares what came with what is due.
func (c *crossed) check(t *testing.T) {
	t.Helper()
	report, err := Sort(t.Context(), c.opt)
	if err != nil {
		t.Fatalf("%v: %v", c.row, err)
	}
	want, size := c.want()
	if got := c.got(t); !bytes.Equal(got, want) {
		t.Fatalf("%v: %d bytes came by strategy %s, due are %d; the first difference is in record %d", c.row, len(got),
			report.Strategy, len(want), firstDifference(got, want, size))
	}
	if report.RecordsOut != int64(len(want)/size) {
		t.Errorf("%v: the report has %d records, due are %d", c.row, report.RecordsOut, len(want)/size)
	}
	for _, folder := range c.opt.TempDirs {
		if left := leftIn(t, folder); len(left) > 0 {
			t.Errorf("%v: left behind: %q", c.row, left)
		}
	}
	if _, err := os.Stat(c.opt.Checkpoint); c.opt.Checkpoint != "" && err == nil {
		t.Errorf("%v: the checkpoint is left behind", c.row)
	}
}

// want is the records that are due, and their size.
func (c *crossed) want() (want []byte, size int) {
	n := len(c.recs) / c.kind.size
	from, to := 0, n
	if c.opt.Part.N > 0 {
		from, to = n*int(c.opt.Part.K)/int(c.opt.Part.N), n*int(c.opt.Part.K+1)/int(c.opt.Part.N)
	}
	part := c.recs[from*c.kind.size : to*c.kind.size]
	at, counts := c.kind.selected(part, c.opt)
	if c.opt.Shuffle {
		at = shuffled(from, to, c.opt)
	}
	if c.opt.Limit == NoRecords {
		at = nil
	}

	var index [8]byte
	for i, p := range at {
		switch {
		case c.opt.Argsort != "":
			binary.LittleEndian.PutUint64(index[:], uint64(from+p))
			want = append(want, index[:argsortBytes[c.opt.Argsort]]...)
			continue
		case c.opt.Count:
			want = append(want, part[p*c.kind.size:(p+1)*c.kind.size]...)
			want = binary.LittleEndian.AppendUint64(want, counts[i])
			continue
		}
		want = append(want, part[p*c.kind.size:(p+1)*c.kind.size]...)
	}
	switch {
	case c.opt.Argsort != "":
		return want, argsortBytes[c.opt.Argsort]
	case c.opt.Count:
		return want, c.kind.size + output.CountBytes
	}
	return want, c.kind.size
}

// shuffled is the order of records by the hash of a seed and their index among all, as positions from the first on.
func shuffled(from, to int, opt Options) (at []int) {
	key := func(p int) uint64 {
		seed := binary.LittleEndian.AppendUint64(nil, opt.Seed)
		return xxh3.Hash(binary.LittleEndian.AppendUint64(seed, uint64(from+p)))
	}
	for p := range to - from {
		at = append(at, p)
	}
	slices.SortStableFunc(at, func(p, q int) int { return cmp.Compare(key(p), key(q)) })
	if opt.Limit > 0 {
		at = at[:min(int(opt.Limit), len(at))]
	}
	return at
}

// got is the records of the output, of all its files, without their headers.
func (c *crossed) got(t *testing.T) (recs []byte) {
	t.Helper()
	var files [][]byte
	switch {
	case c.row["output"] == "pipe":
		files = [][]byte{c.plain(t, c.stdout.Bytes())}
	case c.row["output"] == "sink":
		files = [][]byte{c.plain(t, c.sink.Bytes())}
	case c.row["split"] != "no":
		files = splitFiles(t, c.opt.Output)
	default:
		data, err := os.ReadFile(c.opt.Output)
		if err != nil {
			t.Fatal(err)
		}
		files = [][]byte{c.plain(t, data)}
	}
	for _, file := range files {
		if c.opt.KeepHeader {
			if !bytes.HasPrefix(file, c.header) {
				t.Fatalf("%v: a file of %d bytes has no header", c.row, len(file))
			}
			file = file[len(c.header):]
		}
		recs = append(recs, file...)
	}
	return recs
}

func (c *crossed) plain(t *testing.T, data []byte) []byte {
	if c.opt.Compress == "none" {
		return data
	}
	return decompressed(t, data)
}
