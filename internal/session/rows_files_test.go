package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/sorttest"
	"github.com/extsort/extsort/internal/testfiles"
)

// rowData contains the records of a row and the expected output.
type rowData struct {
	spec      format.Spec // of the plain records
	layout    format.Layout
	recs      []byte // of all inputs
	part      []byte // the records to sort
	selection sorttest.Selection
	want      sorttest.Reference
}

// selectsAll reports whether all records are written, in any form.
func (d *rowData) selectsAll() bool {
	s := d.selection
	return !s.Unique && !s.Duplicates && s.Limit == 0
}

// setRecords generates the records and computes the expected output.
func (s *rowSort) setRecords(t *testing.T, r *rand.Rand) {
	t.Helper()
	plain, spec, err := sorttest.Spec(s.Settings)
	if err != nil {
		t.Fatal(err)
	}
	s.opt.Record = spec
	header := formattest.Header(t, plain)
	d := &s.data
	d.spec = plain
	d.layout = header.Layout()
	s.container = newRowContainer(t, s.Settings, &s.opt.Record, d.layout)
	n := s.number(t, "records", 5000)
	d.recs, err = sorttest.Make(d.layout, s.orderOfRecords(), n, r)
	if err != nil {
		t.Fatal(err)
	}
	s.container.mark(d.recs)
	d.selection, err = sorttest.SelectionOf(s.Settings)
	if err != nil {
		t.Fatal(err)
	}

	first, last := 0, n
	if number, isAll := strings.CutPrefix(s.Settings["part"], "all/"); isAll {
		s.parts, err = strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
	} else if s.is("part") {
		var k, parts int
		if _, err := fmt.Sscanf(s.Settings["part"], "%d/%d", &k, &parts); err != nil {
			t.Fatal(err)
		}
		s.opt.Part = Part{K: int64(k), N: int64(parts)}
		first, last = n*k/parts, n*(k+1)/parts
	}
	d.selection.Before = int64(first)
	d.part = d.recs[first*d.layout.RecordSize : last*d.layout.RecordSize]
	d.want = sorttest.NewReference(d.layout, d.part, d.selection)

	if s.container.skip > 0 {
		s.opt.SkipBytes = int64(s.container.skip)
		s.opt.KeepHeader = s.Settings["header"] == "keep"
	}
	switch s.Settings["tail"] {
	case "skip":
		s.opt.SkipTail = int64(len(foreignTail))
	case "count": // the number of records of each input
		s.opt.Records = int64(n / s.pieces(t))
		if n == 0 {
			s.opt.Records = NoRecords
		}
	}
}

// pieces returns the number of files that contain the records.
func (s *rowSort) pieces(t *testing.T) int {
	t.Helper()
	usual := 1
	switch s.Settings["input"] {
	case "files", "mixed", "with-pipe", "empty-and-file":
		usual = 2
	}
	return s.number(t, "pieces", usual)
}

func (s *rowSort) orderOfRecords() string {
	if order := s.Settings["order"]; order != "" {
		return order
	}
	return "random"
}

// gensortFormat has no header.
const gensortFormat = "gensort"

// A rowContainer adds headers to records and removes them.
type rowContainer struct {
	format    string
	spec      format.Spec
	size      int // of a record
	dimension int // of a vector or row
	// The size of an npy header as other programs write it; 0: as extsort writes it.
	npy  int
	skip int // foreign bytes before the records
	tail []byte
}

// foreignHeader precedes the records of a file without a known format.
var foreignHeader = []byte{0xf1, 0xf2, 0xf3, 0, 0, 0, 0xf4, 0xf5, 0xf6}

// foreignTail follows them.
var foreignTail = []byte("\xf7\xf8 tail \x00")

// newRowContainer returns the container that a row names. For a container of rows or vectors, it
// converts the keys in spec from offsets to component numbers.
func newRowContainer(t *testing.T, s sorttest.Settings, spec *format.Spec, layout format.Layout) rowContainer {
	t.Helper()
	c := rowContainer{format: spec.Format, size: layout.RecordSize}
	bytes, isVector := componentBytes[c.format]
	switch {
	case !isVector:
	case c.startsWithDimension():
		c.dimension = (c.size - dimensionBytes) / bytes
		*spec = format.Spec{Format: c.format, Keys: componentKeys(layout, dimensionBytes, bytes)}
	default:
		c.dimension = c.size / bytes
		*spec = format.Spec{Format: strings.TrimSuffix(c.format, "-rows"), Keys: componentKeys(layout, 0, bytes)}
	}
	c.spec = *spec

	switch header := s["header"]; header {
	case "", "none":
	case "skip", "keep":
		c.skip = len(foreignHeader)
	default:
		size, err := strconv.Atoi(header)
		if err != nil {
			t.Fatal(err)
		}
		c.npy = size
	}
	if sorttest.Is(s, "tail") {
		c.tail = foreignTail
	}
	return c
}

// componentBytes contains the size of a component of each kind of vectors and rows.
var componentBytes = map[string]int{
	"fvecs": 4, "ivecs": 4, "bvecs": 1,
	"fbin": 4, "ibin": 4, "u8bin": 1, "i8bin": 1,
	"npy-rows": 4,
}

// dimensionBytes is the size of the dimension before each vector of fvecs, ivecs and bvecs.
const dimensionBytes = 4

func (c *rowContainer) startsWithDimension() bool { return strings.HasSuffix(c.format, "vecs") }

// componentKeys returns the keys of a layout as numbers of components, which have a size in bytes.
// first is the offset of component 0.
func componentKeys(layout format.Layout, first, bytes int) (keys []string) {
	for _, f := range layout.Key {
		key := strconv.Itoa((f.Offset - first) / bytes)
		if f.Desc {
			key += ":desc"
		}
		keys = append(keys, key)
	}
	return keys
}

// mark writes the dimension before each vector, if the format requires that.
func (c *rowContainer) mark(recs []byte) {
	if !c.startsWithDimension() {
		return
	}
	for at := 0; at < len(recs); at += c.size {
		binary.LittleEndian.PutUint32(recs[at:], uint32(c.dimension))
	}
}

// file returns the contents of a file with records.
func (c *rowContainer) file(t *testing.T, recs []byte) []byte {
	t.Helper()
	switch {
	case c.skip > 0 || c.tail != nil:
		return slices.Concat(foreignHeader[:c.skip], recs, c.tail)
	case c.npy > 0:
		return paddedNpy(c.npy, recs)
	case c.format == "npz":
		return zipped(t, formattest.Npy(t, c.spec.Type, recs))
	case strings.HasSuffix(c.format, "bin"):
		return bigannFile(recs, c.size, c.dimension)
	case c.format == "npy-rows":
		return npyRows("<f4", recs, c.dimension)
	case c.dimension > 0 || c.format == "" || c.format == gensortFormat: // without a header
		return slices.Clone(recs)
	}
	header := formattest.Header(t, c.spec)
	return append(header.Encode(int64(len(recs)/header.Layout().RecordSize)), recs...)
}

// npyShape finds the number of records in a header of npy.
var npyShape = regexp.MustCompile(`'shape': \((\d+),`)

// records returns the records of an output file and checks their number in the header.
func (c *rowContainer) records(file []byte, size int, keep bool) ([]byte, error) {
	announced := int64(-1)
	switch {
	case keep:
		rest, found := bytes.CutPrefix(file, foreignHeader)
		rest, foundTail := bytes.CutSuffix(rest, c.tail)
		if !found || !foundTail {
			return nil, fmt.Errorf("a file of %d bytes doesn't have the header and the tail of the input", len(file))
		}
		file = rest
	case strings.HasPrefix(c.format, "npy") || c.format == "npz":
		end := 10 + int(binary.LittleEndian.Uint16(file[8:]))
		shape := npyShape.FindSubmatch(file[:end])
		if shape == nil {
			return nil, fmt.Errorf("the header has no shape: %q", file[:end])
		}
		announced, _ = strconv.ParseInt(string(shape[1]), 10, 64)
		file = file[end:]
	case strings.HasSuffix(c.format, "bin"):
		announced = int64(binary.LittleEndian.Uint32(file))
		file = file[8:]
	case c.format == "sosd":
		announced = int64(binary.LittleEndian.Uint64(file))
		file = file[8:]
	}
	if announced >= 0 && announced != int64(len(file)/size) {
		return nil, fmt.Errorf("the header announces %d records, %d follow", announced, len(file)/size)
	}
	return file, nil
}

// inputNames are the ways to name files.
var inputNames = map[string]string{
	"":        "%d",
	"plain":   "%d",
	"api":     "Options.MemoryBytes Job.Input%d",
	"spaces":  " a  b %d ",
	"newline": "a\nb%d",
	"bytes":   "\xff\xfe%d",
	"dash":    "--output%d",
}

// setInputs writes the inputs.
func (s *rowSort) setInputs(t *testing.T, dir string, r *rand.Rand) {
	t.Helper()
	form := s.Settings["input"]
	pieces := s.cut(s.pieces(t), r)
	if form == "empty-and-file" {
		pieces = [][]byte{nil, pieces[0], nil, pieces[1]}
	}
	if s.Settings["verb"] == "merge" {
		for i, piece := range pieces {
			order := sorttest.Selection{Reverse: s.opt.Reverse}
			pieces[i] = sorttest.NewReference(s.data.layout, piece, order).Bytes
		}
	}
	pattern, ok := inputNames[s.Settings["names"]]
	if !ok {
		t.Fatalf("names=%s", s.Settings["names"])
	}
	s.framed = len(pieces[0]) / s.data.layout.RecordSize
	for i, piece := range pieces {
		content := s.container.file(t, piece)
		name := filepath.Join(dir, fmt.Sprintf(pattern, i))
		switch {
		case form == "stuck" || form == "stuck-gzip":
			if form == "stuck-gzip" {
				content = formattest.Compress(t, content, format.Gzip)
			}
			s.stuck.data = content[:len(content)/2]
			s.opt.Stdin = s.stuck
			continue
		case form == "pipe":
			s.opt.Stdin = &dribble{data: content, most: 3000}
			continue
		case form == "with-pipe" && i == len(pieces)/2:
			s.opt.Stdin = &dribble{data: content, most: 77}
			s.opt.Inputs = append(s.opt.Inputs, "-")
			continue
		case form == "reader":
			s.opt.Sources = []Source{{Name: "stream", Reader: &dribble{data: content, most: 1 + r.IntN(5000)}}}
			continue
		case form == "at":
			s.opt.Sources = []Source{{
				Name: "bytes", At: bytes.NewReader(content), Size: int64(len(content)), Version: "1",
			}}
			continue
		case form == "gzip" || form == "mixed" && i%2 == 1:
			content = formattest.Compress(t, content, format.Gzip)
		case form == "with-pipe" && i%3 == 2:
			content = formattest.Compress(t, content, format.Zstd)
		}
		writeOnce(t, name, content)
		s.inputs = append(s.inputs, content)
		s.files = append(s.files, name)
		s.opt.Inputs = append(s.opt.Inputs, name)
	}
	packed := form == "gzip" || form == "stuck-gzip" || form == "mixed" || form == "with-pipe"
	s.opt.Raw = !packed && s.opt.Record.Format == ""
}

// cut divides the records into pieces: two are a third and the rest, others have random sizes, and
// if their records are counted, all have the same size.
func (s *rowSort) cut(pieces int, r *rand.Rand) (all [][]byte) {
	size := s.data.layout.RecordSize
	rest := s.data.recs
	for ; pieces > 1; pieces-- {
		n := len(rest) / size
		switch {
		case s.Settings["tail"] == "count":
			n /= pieces
		case pieces == 2:
			n /= 3
		default:
			n = min(r.IntN(2*n/pieces+1), n)
		}
		all = append(all, rest[:n*size])
		rest = rest[n*size:]
	}
	return append(all, rest)
}

// writeOnce writes a file, unless it has these contents already: the input of a checkpoint must
// not change.
func writeOnce(t *testing.T, name string, content []byte) {
	t.Helper()
	if now, err := os.ReadFile(name); err == nil && bytes.Equal(now, content) {
		return
	}
	testfiles.Write(t, name, content)
}

// rowOutput is the destination of a sort.
type rowOutput struct {
	form   string
	names  []string // of the files that may be in the directory of the output
	old    []byte   // previous content of the output; nil: no previous file, or the output is an input
	buffer bytes.Buffer
	sink   keptSink
	opened []*os.File
	piped  sync.WaitGroup
	split  bool
	over   int // the input that is overwritten
}

func (o *rowOutput) close() {
	for _, f := range o.opened {
		f.Close()
	}
	o.opened = nil
	o.piped.Wait()
}

func (s *rowSort) close() {
	close(s.stuck.until)
	s.output.close()
}

// splitName matches the names of the files of a split output.
var splitName = regexp.MustCompile(`^out\.(\d{3}(\.\w+)?|index)$`)

// isSplit reports whether a file belongs to a split output.
func (o *rowOutput) isSplit(name string) bool { return o.split && splitName.MatchString(name) }

// errNoSpace is the error of an output that is full.
var errNoSpace = errors.New("no space left for the test")

// failure returns the error that a sort must have.
func (o *rowOutput) failure(stop string) error {
	switch {
	case strings.HasPrefix(stop, "cancel@") && !strings.HasPrefix(o.form, "full-"):
		return errStopped
	case o.form == "full-pipe" || o.form == "full-at-once":
		return errNobodyReads
	case o.form == "full-file":
		return errNoSpace
	}
	return nil
}

// setOutput opens the output.
func (s *rowSort) setOutput(t *testing.T) {
	t.Helper()
	o := &s.output
	o.form = s.Settings["output"]
	o.split = s.is("split")
	name := filepath.Join(s.outDir, "out")
	switch o.form {
	case "", "file", "old", "full-file":
		s.opt.Output = name
		o.names = []string{"out"}
	case "link":
		s.opt.Output = name
		o.names = []string{"out"}
		if err := os.Symlink(s.files[0], name); err != nil {
			t.Skip(err)
		}
	case "input":
		s.opt.Output = s.files[0]
	case "sink":
		s.opt.Sink = &o.sink
	case "records":
	case "stuck":
		s.stuck.left = len(s.data.want.Bytes) / 4
		if s.is("compress") {
			s.stuck.left = 10
		}
		s.opt.Stdout = s.stuck
	case "pipe":
		s.opt.Stdout = &o.buffer
	case "os-pipe":
		s.opt.Stdout = o.pipe(t)
	case "full-at-once":
		s.opt.Stdout = &brokenPipe{}
	case "full-pipe":
		s.opt.Stdout = &brokenPipe{after: len(s.data.want.Bytes) / 3}
	case "over", "over-second", "over-name", "over-link", "over-other":
		s.overwrite(t)
	default:
		t.Fatalf("output=%s", o.form)
	}
	if o.form == "old" || o.form == "full-file" {
		o.old = []byte("old")
		writeOnce(t, name, o.old)
	}
	if o.form == "full-file" {
		s.opt.faults.output = func(operation string) error {
			if operation == "write output" || operation == "reserve output" {
				return errNoSpace
			}
			return nil
		}
	}
}

// overwrite makes an input the output. It is open for reading and writing, as with a shell's 1<>.
func (s *rowSort) overwrite(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("descriptors have no names")
	}
	o := &s.output
	if o.form == "over-second" {
		o.over = 1
	}
	name := s.files[o.over]
	if o.form == "over-other" {
		name = filepath.Join(filepath.Dir(s.outDir), "other")
		_ = os.Remove(name)
		if err := os.Link(s.files[o.over], name); err != nil {
			t.Fatal(err)
		}
	}
	f := testfiles.Open(t, name, os.O_RDWR)
	o.opened = append(o.opened, f)
	descriptor := fmt.Sprint("/dev/fd/", f.Fd())
	switch o.form {
	case "over-name":
		s.opt.Output = descriptor
	case "over-link":
		s.opt.Output = filepath.Join(filepath.Dir(s.outDir), "link")
		_ = os.Remove(s.opt.Output)
		if err := os.Symlink(descriptor, s.opt.Output); err != nil {
			t.Fatal(err)
		}
	default:
		s.opt.Stdout = f
	}
}

// isOver reports whether an input is overwritten.
func (o *rowOutput) isOver() bool { return strings.HasPrefix(o.form, "over") }

// pipe returns a pipe of the system whose bytes are collected.
func (o *rowOutput) pipe(t *testing.T) *os.File {
	t.Helper()
	from, to := testfiles.Pipe(t)
	o.opened = append(o.opened, to)
	o.piped.Go(func() {
		_, _ = io.Copy(&o.buffer, from)
		from.Close()
	})
	return to
}

// written returns the files that a sort wrote, decompressed.
func (s *rowSort) written(t *testing.T) (files [][]byte) {
	t.Helper()
	o := &s.output
	read := func(name string) []byte {
		return testfiles.Read(t, name)
	}
	switch {
	case o.split:
		return splitFiles(t, s.opt.Output)
	case o.form == "sink":
		files = [][]byte{o.sink.Bytes()}
	case o.isOver():
		files = [][]byte{read(s.files[o.over])}
	case s.opt.Output != "":
		files = [][]byte{read(s.opt.Output)}
	default:
		files = [][]byte{o.buffer.Bytes()}
	}
	if s.is("compress") {
		files[0] = decompressed(t, files[0])
	}
	return files
}

// isOrdered reports whether the output consists of whole records in the order of their keys.
func (s *rowSort) isOrdered() bool {
	selection := s.data.selection
	return selection.ArgsortBytes == 0 && selection.Shuffle == nil && s.data.want.Size == s.data.layout.RecordSize
}

// compare compares records with the reference and runs the check on them.
func (s *rowSort) compare(t *testing.T, got []byte) {
	t.Helper()
	want := s.data.want
	if !bytes.Equal(got, want.Bytes) {
		t.Fatalf("%d bytes were written, %d are due; the first difference is in record %d", len(got), len(want.Bytes),
			sorttest.FirstDifference(got, want.Bytes, want.Size))
	}
	if !s.isOrdered() {
		return
	}
	report, err := Check(t.Context(), CheckOptions{
		Input:   Source{Name: "output", At: bytes.NewReader(got), Size: int64(len(got))},
		Record:  s.data.spec,
		Raw:     true,
		Reverse: s.opt.Reverse,
		Unique:  s.opt.Unique || s.opt.Duplicates,
		Workers: s.opt.Workers,
		faults:  faults{blockBytes: s.opt.faults.blockBytes},
	})
	if err != nil || !report.Sorted || report.Records != want.Records() {
		t.Errorf("the check of the output: %+v, %v", report, err)
	}
}

// readAgain checks a written file with a header as another command would: by its format.
func (s *rowSort) readAgain(t *testing.T, file []byte) {
	t.Helper()
	spec := s.container.spec
	if spec.Format == "" || s.container.skip > 0 || s.container.tail != nil || !s.isOrdered() {
		return
	}
	if spec.Format == "npz" { // its output is an array
		spec = format.Spec{Format: "npy"}
	}
	report, err := Check(t.Context(), CheckOptions{Input: Source{Reader: bytes.NewReader(file)}, Record: spec,
		Reverse: s.opt.Reverse, MemoryBytes: s.opt.MemoryBytes})
	if err != nil || !report.Sorted {
		t.Errorf("the output can't be read again: %+v, %v", report, err)
	}
}

// checkFrameWarning checks that a sort warns if the header that it keeps does not fit its output.
func (s *rowSort) checkFrameWarning(t *testing.T, files int) {
	t.Helper()
	if !s.opt.KeepHeader {
		return
	}
	want := s.data.want
	fits := files == 1 && want.Size == s.data.layout.RecordSize && want.Records() == int64(s.framed)
	warned := slices.ContainsFunc(s.warnings, func(w string) bool { return strings.Contains(w, "the kept header of ") })
	if warned == fits {
		t.Errorf("%d files with %d records have the header of %d; the warnings are %q", files, want.Records(), s.framed,
			s.warnings)
	}
}

// checkOutput compares the written records with the reference.
func (s *rowSort) checkOutput(t *testing.T) {
	t.Helper()
	var got []byte
	want := s.data.want
	var last []byte // record of the files before
	written := s.written(t)
	s.checkFrameWarning(t, len(written))
	for _, file := range written {
		s.readAgain(t, file)
		container := s.container
		if s.data.selection.ArgsortBytes > 0 {
			container = rowContainer{}
		}
		recs, err := container.records(file, want.Size, s.opt.KeepHeader)
		if err != nil {
			t.Fatal(err)
		}
		if s.isOrdered() && len(recs) > 0 {
			if last != nil && sorttest.EqualKeys(s.data.layout, last, recs) {
				t.Error("a key is in two files")
			}
			last = recs[len(recs)-want.Size:]
		}
		got = append(got, recs...)
	}
	s.compare(t, got)
	for i, name := range s.files { // the sort must not change its other inputs
		isOutput := name == s.opt.Output || s.output.form == "link" && i == 0
		if isOutput || s.output.isOver() && i == s.output.over {
			continue
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, s.inputs[i]) {
			t.Errorf("input %d was changed: %v", i, err)
		}
	}
	if s.opt.Sink != nil && !slices.Equal(s.output.sink.ends, []string{"commit"}) {
		t.Errorf("the sink ended by %q", s.output.sink.ends)
	}
}
