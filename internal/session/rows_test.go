package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/sorttest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestRows runs the sorts that the rows of testdata/sort describe. rowSort checks each sort.
func TestRows(t *testing.T) {
	t.Parallel()
	runner := sorttest.Runner{Sort: sortRow, Seed: *seedFlag, Update: *update}
	if testfiles.Race && !*update {
		runner.Every = 8
	}
	runner.Run(t, filepath.Join("..", "..", "testdata", "sort", "*.txt"))
}

// rowMemory is the default memory limit of a row, in MiB.
const rowMemory = 64

// sortRow carries out one sort.
func sortRow(t *testing.T, settings sorttest.Settings, r *rand.Rand) sorttest.Outcome {
	t.Helper()
	seed := r.Uint64()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // a row may sort hundreds of times
	if strings.HasPrefix(settings["stop"], "kill@") {
		return runKilled(t, killedRow{settings, dir, seed})
	}
	s := newRowSort(t, settings, dir, seed)
	defer s.close()
	return s.run(t)
}

// rowSort is a sort that a row describes.
type rowSort struct {
	sorttest.Settings

	opt       Options
	data      rowData
	container rowContainer

	inputs  [][]byte // the contents of all inputs
	output  rowOutput
	files   []string // the names of the inputs that are files
	tempDir string
	outDir  string

	parts    int64 // of a merge, to merge one after the other
	framed   int   // number of records of the first input, for which its header was made
	warnings []string
	stuck    *stuck

	progress *recorder
	passes   *passCounter // nil: the device takes as many records as fit
}

// newRowSort makes the data and the files of a sort below dir. The same seed gives the same data.
func newRowSort(t *testing.T, settings sorttest.Settings, dir string, seed uint64) *rowSort {
	t.Helper()
	s := &rowSort{
		Settings: settings,
		progress: &recorder{},
		tempDir:  filepath.Join(dir, "temp"),
		outDir:   filepath.Join(dir, "out"),
		stuck:    &stuck{until: make(chan struct{})},
	}
	r := rand.New(rand.NewPCG(seed, 0))
	s.setRecords(t, r)
	s.setOptions(t)
	for _, folder := range []string{filepath.Join(dir, "in"), s.tempDir, s.outDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.setInputs(t, filepath.Join(dir, "in"), r)
	s.setOutput(t)
	return s
}

// number returns a number of the row.
func (s *rowSort) number(t *testing.T, name string, usual int) int {
	t.Helper()
	n, err := sorttest.Number(s.Settings, name, usual)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *rowSort) is(name string) bool { return sorttest.Is(s.Settings, name) }

// setOptions sets the options that depend on neither the records nor the files.
func (s *rowSort) setOptions(t *testing.T) {
	t.Helper()
	o := &s.opt
	selection := s.data.selection
	o.Reverse = selection.Reverse
	o.Unique = selection.Unique
	o.Count = selection.Count
	o.Duplicates = selection.Duplicates
	o.Limit = selection.Limit
	for _, c := range selection.Combined {
		list := map[string]*[]string{"sum": &o.Sum, "min": &o.Min, "max": &o.Max, "first": &o.First, "last": &o.Last}[c.How]
		*list = append(*list, c.String())
	}
	if selection.KeepLast {
		o.Keep = "last"
	}
	if s.is("argsort") {
		o.Argsort = s.Settings["argsort"]
	}
	if selection.Shuffle != nil {
		o.Shuffle = true
		o.Seed = *selection.Shuffle
	}

	o.Strategy = Strategy(s.Settings["strategy"])
	o.SpillCompress = s.Settings["spill-compress"]
	o.Compress = s.Settings["compress"]
	o.Verify = s.is("verify")
	o.MemoryBytes = int64(s.number(t, "memory", rowMemory)) << 20
	o.Workers = s.number(t, "workers", 2)
	o.BatchSize = s.number(t, "batch-size", 0)
	o.faults.chunkRecords = int64(s.number(t, "chunk", 0))
	o.faults.blockBytes = s.number(t, "block", testBlockBytes)
	if o.faults.chunkRecords > 0 { // a chunk has at least one block
		o.faults.blockBytes = min(o.faults.blockBytes, int(o.faults.chunkRecords)*s.data.layout.RecordSize)
	}
	if s.is("past-cache") {
		o.faults.readBytes = 1e9
	}
	o.faults.moreDevices = max(s.number(t, "devices", 1)-1, 0)
	o.Progress = s.progress
	o.Warn = func(message string) { s.warnings = append(s.warnings, message) }
	o.TempDirs = []string{s.tempDir}
	if s.is("checkpoint") {
		o.Checkpoint = filepath.Join(filepath.Dir(s.tempDir), "checkpoint")
		o.TempDirs = nil
	}
	if s.is("passes") {
		s.passes = &passCounter{layout: s.data.layout}
		o.faults.wrapDevice = choosing(s.passes.choose)
	}
	switch s.Settings["split"] {
	case "files":
		o.SplitFiles = 3
	case "bytes":
		o.SplitBytes = max(int64(len(s.data.part))/5, int64(s.data.layout.RecordSize))
	}
	if s.is("short-reads") {
		o.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return &shortBlocks{Dataset: d} }
	}
}

// run sorts and checks the result and all remaining files.
func (s *rowSort) run(t *testing.T) sorttest.Outcome {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if strings.HasPrefix(s.Settings["stop"], "cancel@") {
		s.stopBy(t, func() { cancel(errStopped) })
	}
	var report *Report
	var err error
	switch {
	case s.output.form == "records":
		return s.iterate(t)
	case s.parts > 0:
		return s.mergeParts(t)
	case s.Settings["verb"] == "merge":
		report, err = mergeAs(ctx, s.opt)
	default:
		report, err = Sort(ctx, s.opt)
	}
	s.output.close()

	if err != nil {
		s.checkFailure(t, err)
		if s.is("checkpoint") && errors.Is(err, errStopped) {
			s.resume(t)
		}
		return sorttest.Outcome{"error": s.errorText(err)}
	}
	if s.Settings["stop"] == "cancel@0" {
		t.Error("a sort that was cancelled at the start of its first phase succeeded")
	}
	s.checkOutput(t)
	s.checkReport(t, report)
	s.checkLeftovers(t)
	return outcomeOf(report)
}

// iterate yields the records of the input.
func (s *rowSort) iterate(t *testing.T) sorttest.Outcome {
	t.Helper()
	var got []byte
	var err error
	for record, failed := range Records(t.Context(), s.opt) {
		err = failed
		got = append(got, record...)
	}
	if err != nil {
		return sorttest.Outcome{"error": s.errorText(err)}
	}
	s.compare(t, got)
	s.checkLeftovers(t)
	return sorttest.Outcome{"strategy": s.output.form}
}

// mergeParts merges all parts of a merge, one after the other, and compares them with the whole. An
// odd number of parts is cut by each part, an even number in two shares.
func (s *rowSort) mergeParts(t *testing.T) sorttest.Outcome {
	t.Helper()
	opt := mergeOptions(s.opt)
	if s.parts%2 == 0 {
		for k := range int64(2) {
			opt.Part = Part{K: k, N: 2}
			share, err := Cuts(t.Context(), opt, s.parts)
			if err != nil {
				t.Fatal(err)
			}
			opt.Cuts = append(opt.Cuts[:max(len(opt.Cuts)-1, 0)], share...) // both contain the cut between them
		}
	}
	records := int64(len(s.data.recs) / s.data.layout.RecordSize)
	for k := range s.parts {
		opt.Part = Part{K: k, N: s.parts}
		report, err := Merge(t.Context(), opt)
		if err != nil {
			t.Fatalf("part %v: %v", opt.Part, err)
		}
		from, to := opt.Part.Of(records)
		if !opt.Unique && opt.Limit == 0 && report.Records != to-from {
			t.Errorf("part %v of %d: %d records were read", opt.Part, records, report.Records)
		}
	}
	s.compare(t, s.output.buffer.Bytes())
	return sorttest.Outcome{"strategy": "parts"}
}

// resume continues a sort that was cancelled.
func (s *rowSort) resume(t *testing.T) {
	t.Helper()
	s.opt.Progress = nil
	s.opt.faults.output = nil
	report, err := Sort(t.Context(), s.opt)
	if err != nil {
		t.Errorf("the sort can't be resumed: %v", err)
		return
	}
	s.checkOutput(t)
	s.checkCounts(t, report)
	s.checkLeftovers(t)
}

// outcomeOf returns the values of a report that a row can contain.
func outcomeOf(r *Report) sorttest.Outcome {
	var stages []string
	for _, phase := range r.Detail.Phases {
		stages = append(stages, phase.Name)
	}
	spilled := "nothing spilled"
	if r.BytesSpilled > 0 {
		spilled = "spilled"
	}
	changed := "as planned"
	for _, change := range r.Detail.Changes {
		changed = fmt.Sprintf("instead of %s: %s", change.Planned, change.Why)
	}
	queue := r.Detail.Plan.Sizes.Queue
	return sorttest.Outcome{
		"strategy": string(r.Strategy),
		"chunks":   fmt.Sprintf("%d chunks", r.Detail.Chunks),
		"levels":   fmt.Sprintf("%d levels", r.Detail.MergeLevels),
		"spilled":  spilled,
		"spills":   fmt.Sprintf("spilled %.0f times", float64(r.BytesSpilled)/float64(max(r.BytesRead, 1))),
		"bytes":    fmt.Sprintf("%d bytes spilled", r.BytesSpilled),
		"budget":   fmt.Sprintf("%d planned, %d stay", r.Detail.Plan.TempBytes, r.Detail.Plan.KeptBytes),
		"direct":   fmt.Sprintf("direct I/O of input %t, output %t", queue.Input, queue.Output),
		"stages":   strings.Join(stages, " + "),
		"changed":  changed,
		"codec":    cmp.Or(r.Detail.SpillCodec, "no codec"),
	}
}

// changing matches the parts of an error that vary between runs.
var changing = regexp.MustCompile(`(write record \d+ \(byte \d+\): )?(write out/out at byte \d+: )?`)

// errorText returns an error as one line, without the parts that vary between runs.
func (s *rowSort) errorText(err error) string {
	if errors.Is(err, errStopped) {
		return errStopped.Error()
	}
	text := strings.ReplaceAll(err.Error(), filepath.Dir(s.outDir)+string(filepath.Separator), "")
	text = strings.ReplaceAll(text, "\n", "; ")
	return changing.ReplaceAllString(text, "")
}

// checkReport checks the counts of a report, its plan, and the progress of the sort.
func (s *rowSort) checkReport(t *testing.T, r *Report) {
	t.Helper()
	s.checkCounts(t, r)
	if s.passes != nil && r.Strategy == Reread && r.Detail.Chunks != s.passes.count {
		t.Errorf("%d passes, and the report has %d chunks", s.passes.count, r.Detail.Chunks)
	}
	if r.Verified != s.opt.Verify {
		t.Errorf("the report says verified: %t", r.Verified)
	}
	if r.Detail.MemoryLimit != s.opt.MemoryBytes {
		t.Errorf("the report has a memory limit of %d bytes", r.Detail.MemoryLimit)
	}
	budget := int64(0)
	for _, line := range r.Detail.Plan.Budget.Lines {
		budget += line.Bytes
	}
	if budget > s.opt.MemoryBytes {
		t.Errorf("the plan divides %d bytes of memory, the limit is %d", budget, s.opt.MemoryBytes)
	}

	p := s.progress
	if p.open || len(p.faults) > 0 {
		t.Errorf("progress: %q, a phase is open at the end: %t", p.faults, p.open)
	}
	// Without the phases before the plan.
	observed := r.Detail.Phases[len(r.Detail.Phases)-len(p.phases):]
	for i, total := range p.totals {
		if observed[i].Name != p.phases[i] {
			t.Errorf("phase %q is called %q in the report", p.phases[i], observed[i].Name)
		}
		if total >= 0 && p.bytes[i] != total && s.data.selectsAll() && len(r.Detail.Changes) == 0 {
			t.Errorf("phase %q announced %d bytes, %d passed", p.phases[i], total, p.bytes[i])
		}
	}
}

// checkCounts compares the counts of a report with the counts of the reference.
func (s *rowSort) checkCounts(t *testing.T, r *Report) {
	t.Helper()
	size := int64(s.data.layout.RecordSize)
	read := int64(len(s.data.part)) / size
	if s.data.selection.Limit < 0 {
		read = 0
	}
	want := s.data.want
	stopsEarly := s.Settings["verb"] == "merge" && s.data.selection.Limit > 0
	if r.BytesRead != r.Records*size || r.Records != read && !(stopsEarly && r.Records < read) {
		t.Errorf("the report has %d records and %d bytes read, there were %d", r.Records, r.BytesRead, read)
	}
	if r.RecordsOut != want.Records() || r.BytesWritten != int64(len(want.Bytes)) {
		t.Errorf("the report has %d records and %d bytes written, not %d and %d", r.RecordsOut, r.BytesWritten,
			want.Records(), len(want.Bytes))
	}
}

// checkLeftovers checks that the directories contain only the output.
func (s *rowSort) checkLeftovers(t *testing.T) {
	t.Helper()
	if left := testfiles.Names(t, s.tempDir); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
	if s.opt.Checkpoint != "" {
		if _, err := os.Stat(s.opt.Checkpoint); err == nil {
			t.Error("the checkpoint is left")
		}
	}
	for _, name := range testfiles.Names(t, s.outDir) {
		if !slices.Contains(s.output.names, name) && !s.output.isSplit(name) {
			t.Errorf("beside the output there is %q", name)
		}
	}
}

// checkFailure checks that a failed or cancelled sort leaves only the old output and the inputs.
func (s *rowSort) checkFailure(t *testing.T, err error) {
	t.Helper()
	if want := s.output.failure(s.Settings["stop"]); want != nil && !errors.Is(err, want) {
		t.Errorf("the error is %v, not %v", err, want)
	}
	text := err.Error()
	if s.is(sorttest.Refused) && (strings.Contains(text, "\n") || strings.Contains(text, "internal error")) {
		t.Errorf("not an error of one line: %v", err)
	}
	said := strings.Contains(text, incomplete)
	damaged := false
	for i, name := range s.files {
		got, readErr := os.ReadFile(name)
		if readErr != nil {
			t.Error(readErr)
		}
		damaged = damaged || !bytes.Equal(got, s.inputs[i])
	}
	if damaged != said {
		t.Errorf("an input was changed: %t, and the error says: %v", damaged, err)
	}
	if s.output.old != nil {
		got, readErr := os.ReadFile(s.opt.Output)
		if readErr != nil || !bytes.Equal(got, s.output.old) {
			t.Errorf("the old output is gone: %d bytes, %v", len(got), readErr)
		}
	}
	if s.opt.Sink != nil && !slices.Equal(s.output.sink.ends, []string{"abort"}) {
		t.Errorf("the sink ended by %q", s.output.sink.ends)
	}
	if s.opt.Checkpoint == "" {
		s.checkLeftovers(t)
	}
}

// A passCounter counts the passes of a device and narrows the first ones, as if fewer records fit
// than expected.
type passCounter struct {
	layout format.Layout

	mu    sync.Mutex
	count int
}

func (c *passCounter) choose(low, high uint64) (uint64, error) {
	keyer, err := format.NewKeyer(c.layout)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if most := ^uint64(0) >> (64 - keyer.PrefixBits()); c.count < 6 && low < most {
		high = low + (min(high, most)-low)/uint64(2+c.count%3)
	}
	return high, nil
}

var errStopped = errors.New("stopped by the test")

// stopBy arranges for stop to be called at the moment that the row specifies.
func (s *rowSort) stopBy(t *testing.T, stop func()) {
	t.Helper()
	_, at, found := strings.Cut(s.Settings["stop"], "@")
	if !found {
		return
	}
	switch at {
	case "stuck":
		s.stuck.reached = sync.OnceFunc(stop)
		return
	case "sync", "sync-directory":
		s.stopBySync(map[string]string{"sync": "sync output", "sync-directory": "sync directory"}[at], stop)
		return
	}
	phase, middle := strings.CutSuffix(at, "+")
	stage, err := strconv.Atoi(phase)
	if err != nil {
		t.Fatalf("stop=%s: %v", s.Settings["stop"], err)
	}
	c := &canceller{cancel: stop, stage: stage}
	if middle {
		c.after = int64(len(s.data.recs)) / 2
	}
	s.opt.Progress = c
}

// stopBySync calls stop while a file or a directory is synced. The sync itself ends only after the
// sort, unless another sort continues with the file.
func (s *rowSort) stopBySync(synced string, stop func()) {
	s.opt.faults.output = func(operation string) error {
		if operation != synced {
			return nil
		}
		stop()
		if !s.is("checkpoint") {
			<-s.stuck.until
		}
		return nil
	}
}

// stuck is a Reader and a Writer that blocks after some bytes until the sort has ended.
type stuck struct {
	data    []byte // to read
	left    int    // number of bytes to accept
	reached func() // is called before it blocks
	until   chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, s.block()
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *stuck) Write(p []byte) (int, error) {
	s.left -= len(p)
	if s.left < 0 {
		return 0, s.block()
	}
	return len(p), nil
}

func (s *stuck) block() error {
	s.reached()
	<-s.until
	return io.ErrClosedPipe
}

// rowChild is set in a process that runs the sort of a row until it kills itself.
const rowChild = "EXTSORT_TEST_ROW"

// A killedRow contains the parameters of such a process.
type killedRow struct {
	Settings sorttest.Settings
	Dir      string
	Seed     uint64
}

// runKilled sorts in a process that kills itself, checks the files that it left, and sorts again.
func runKilled(t *testing.T, row killedRow) sorttest.Outcome {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestRowChild$")
	child.Env = append(os.Environ(), rowChild+"="+string(text))
	said, err := child.CombinedOutput()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.ExitCode() == -1
	if err != nil && !killed || err == nil && row.Settings["stop"] == "kill@0" {
		t.Fatalf("the sort was not killed: %v\n%s", err, said)
	}

	in, out := readDir(t, filepath.Join(row.Dir, "in")), readDir(t, filepath.Join(row.Dir, "out"))
	if !killed { // the sort ended first, so start another one
		_ = os.RemoveAll(filepath.Join(row.Dir, "out"))
	}
	s := newRowSort(t, row.Settings, row.Dir, row.Seed)
	defer s.close()
	if killed {
		s.checkKilled(t, in, out)
	}
	return s.run(t)
}

// readDir returns the contents of all files of a directory by name.
func readDir(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range testfiles.Names(t, dir) {
		data := testfiles.Read(t, filepath.Join(dir, name))
		files[name] = data
	}
	return files
}

// checkKilled checks the files that a killed sort left: the inputs, the old output and at most
// one other file.
func (s *rowSort) checkKilled(t *testing.T, in, out map[string][]byte) {
	t.Helper()
	if left := testfiles.Names(t, s.tempDir); len(left) > 0 {
		t.Errorf("a killed sort leaves temporary files: %q", left)
	}
	for i, name := range s.files {
		if got := in[filepath.Base(name)]; !bytes.Equal(got, s.inputs[i]) {
			t.Errorf("a killed sort changed input %d", i)
		}
	}
	others := len(out) + len(in) - len(s.files)
	if s.output.old != nil {
		others--
		if !bytes.Equal(out["out"], s.output.old) {
			t.Errorf("a killed sort changed the old output: it has %d bytes", len(out["out"]))
		}
	}
	if others > 1 {
		t.Errorf("a killed sort left %d files", others)
	}
}

// TestRowChild runs in the process that runKilled starts.
func TestRowChild(t *testing.T) {
	text := os.Getenv(rowChild)
	if text == "" {
		t.Skip("run by TestRows")
	}
	var row killedRow
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		t.Fatal(err)
	}
	s := newRowSort(t, row.Settings, row.Dir, row.Seed)
	s.stopBy(t, func() {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Error(err)
		}
		_ = self.Kill()
		select {} // wait for the kill
	})
	_, _ = Sort(t.Context(), s.opt)
	s.output.close()
}
