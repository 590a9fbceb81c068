package dist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// cluster is a plan with a worker that does its tasks in this process.
type cluster struct {
	t      *testing.T
	folder string
	want   []byte // output of a single machine
	req    Request
	*Worker
}

const testMemory = 32 << 20

// newCluster plans the sort of two files that have the given number of records in total.
func newCluster(t *testing.T, spec format.Spec, dist string, records int64, change func(r *Request)) *cluster {
	t.Helper()
	folder := t.TempDir()
	header := formattest.Header(t, spec)
	size := int64(header.Layout().RecordSize)
	generator := formattest.Generator(t, header.Layout(), dist, 7, records)
	data := make([]byte, records*size)
	generator.Fill(data, 0)
	first := filepath.Join(folder, "a.bin")
	second := filepath.Join(folder, "b.bin")
	testfiles.Write(t, first, data[:records/3*size])
	testfiles.Write(t, second, data[records/3*size:])
	c := &cluster{t: t, folder: filepath.Join(folder, "plan")}
	c.req = Request{
		Inputs: []string{first, second}, Record: spec, Runs: 8, Parts: 8, Output: filepath.Join(folder, "out"),
	}
	if change != nil {
		change(&c.req)
	}
	one := filepath.Join(folder, "one")
	opt := session.Options{
		Inputs: c.req.Inputs, Record: spec, Reverse: c.req.Reverse, Output: one, MemoryBytes: testMemory,
	}
	if _, err := session.Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	c.want = testfiles.Read(t, one)
	if _, err := CreatePlan(t.Context(), c.folder, c.req); err != nil {
		t.Fatal(err)
	}
	c.Worker = c.worker()
	return c
}

// worker returns a worker that reads the plan from its directory, like another machine.
func (c *cluster) worker() *Worker {
	p, err := ReadPlan(c.folder)
	if err != nil {
		c.t.Fatal(err)
	}
	opt := session.Options{MemoryBytes: testMemory, Workers: 2, TempDirs: []string{c.t.TempDir()}}
	return &Worker{Plan: p, Options: opt, Tell: func(string) {}}
}

// all does all tasks with n tasks of each kind.
func (c *cluster) all(n int) {
	c.t.Helper()
	for k := range n {
		c.ok(c.Run(c.t.Context(), partOf(k, n)))
	}
	for k := range n {
		c.ok(c.Cut(c.t.Context(), partOf(k, n)))
	}
	for k := range n {
		c.ok(c.Merge(c.t.Context(), partOf(k, n)))
		c.ok(c.ReadBack(c.t.Context(), partOf(k, n)))
	}
	_, err := c.Verify(c.t.Context(), false)
	c.ok(err)
}

func (c *cluster) ok(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// check compares the output with that of a single machine and checks that no other files are left
// over.
func (c *cluster) check() {
	c.t.Helper()
	var got bytes.Buffer
	c.ok(c.Plan.Cat(c.t.Context(), &got))
	if !bytes.Equal(got.Bytes(), c.want) {
		c.t.Fatalf("%d bytes are not the %d that one machine makes", got.Len(), len(c.want))
	}
	parts := 0
	for _, name := range filesBelow(c.t, filepath.Dir(c.folder)) {
		base := filepath.Base(name)
		switch {
		case strings.HasSuffix(base, ".json"), slices.Contains([]string{"a.bin", "b.bin", "one"}, base):
		case strings.HasPrefix(name, c.req.Output):
			parts++
		default:
			c.t.Errorf("%s is left over", name)
		}
	}
	if c.req.OneFile && parts != 1 || !c.req.OneFile && parts != c.req.Parts {
		c.t.Errorf("the output has %d files", parts)
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, and not %q", err, want)
	}
}

func filesBelow(t *testing.T, folder string) (names []string) {
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	numbers = format.Spec{Type: "u64"}
	pairs   = format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
	gensort = format.Spec{Format: "gensort"}
)

// TestOutputIsThatOfOneMachine runs complete plans. Short tests write each output in one way.
func TestOutputIsThatOfOneMachine(t *testing.T) {
	for i, c := range []struct {
		name    string
		spec    format.Spec
		dist    string
		records int64
		tasks   int
		change  func(r *Request)
	}{
		{"u64", numbers, "uniform", 300_001, 8, nil},
		{"zipf pairs", pairs, "zipf", 200_003, 3, nil},
		{"equal pairs", pairs, "equal", 50_000, 8, func(r *Request) { r.OneFile = true }},
		{"gensort", gensort, "uniform", 30_000, 1, func(r *Request) { r.OneFile = true }},
		{"few, reversed", pairs, "few", 60_000, 5, func(r *Request) { r.Reverse, r.Runs, r.Parts = true, 3, 7 }},
		{"sorted, many parts", numbers, "sorted", 10_000, 2, func(r *Request) { r.Runs, r.Parts = 2, 64 }},
		{"fewer records than tasks", pairs, "few", 5, 8, func(r *Request) { r.OneFile = true }},
		{"no index", pairs, "zipf", 50_000, 3, func(r *Request) { r.NoIndex = true }},
		{"many runs", numbers, "uniform", 100_000, 4, func(r *Request) { r.Runs, r.Parts = 64, 1 }},
	} {
		for _, oneFile := range []bool{false, true} {
			if testing.Short() && oneFile != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s, one file %v", c.name, oneFile), func(t *testing.T) {
				t.Parallel()
				cluster := newCluster(t, c.spec, c.dist, c.records, func(r *Request) {
					if c.change != nil {
						c.change(r)
					}
					r.OneFile = oneFile
				})
				cluster.all(c.tasks)
				cluster.check()
			})
		}
	}
}

// stamps returns the times at which the records of tasks were written.
func (c *cluster) stamps() map[string]string {
	stamps := map[string]string{}
	for _, name := range filesBelow(c.t, c.folder) {
		info, err := os.Stat(name)
		c.ok(err)
		if strings.HasSuffix(name, ".json") {
			stamps[filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)] = info.ModTime().String()
		}
	}
	return stamps
}

// TestOnlyWhatWasLostIsDoneAgain removes files and records.
func TestOnlyWhatWasLostIsDoneAgain(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 40_000, nil)
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	before := c.stamps()
	c.ok(os.Remove(c.Plan.runFile(3)))
	c.ok(os.Remove(c.Plan.recordFile(parts, 5)))
	name, _ := c.Plan.partFile(6)
	c.ok(os.Truncate(name, 16))
	c.ok(os.Remove(c.Plan.recordFile(cuts, 7)))
	status, err := c.Plan.Status(t.Context())
	if c.ok(err); Ranges(status.RunsLeft) != "3" || Ranges(status.Left) != "5-6" || status.Cut || status.Next != "run" {
		t.Errorf("status %+v", status)
	}
	c.all(2)
	c.check()
	after := c.stamps()
	maps.DeleteFunc(after, func(name, at string) bool { return before[name] == at })
	if got := slices.Sorted(maps.Keys(after)); fmt.Sprint(got) !=
		"[cuts/00004.json cuts/00005.json cuts/00006.json cuts/00007.json cuts/00008.json "+
			"parts/00005.json parts/00006.json plan/manifest.json runs/00003.json]" {
		t.Errorf("done again: %v", got)
	}
	c.all(2) // there is nothing left to do
	c.check()
}

// TestTwoAttemptsAtOnce does every task twice at the same time.
func TestTwoAttemptsAtOnce(t *testing.T) {
	for _, oneFile := range []bool{false, true} {
		c := newCluster(t, pairs, "zipf", 40_000, func(r *Request) { r.OneFile = oneFile })
		twice := func(do func(w *Worker) error) {
			var group sync.WaitGroup
			for range 2 {
				w := c.worker()
				group.Go(func() {
					if err := do(w); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		twice(func(w *Worker) error { return w.Run(t.Context(), partOf(0, 1)) })
		twice(func(w *Worker) error { return w.Cut(t.Context(), partOf(0, 1)) })
		twice(func(w *Worker) error { return w.Merge(t.Context(), partOf(0, 1)) })
		_, err := c.Verify(t.Context(), false)
		c.ok(err)
		c.check()
	}
}

// TestWhatDoesNotFitIsRefused checks the error messages.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	refused := func(err error, want string) {
		t.Helper()
		refused(t, err, want)
		if retry := (*RetryError)(nil); errors.As(err, &retry) {
			t.Errorf("%v is worth no other try", err)
		}
	}
	c := newCluster(t, numbers, "uniform", 10_000, nil)
	refused(c.Merge(t.Context(), partOf(0, 8)), "cuts/00000.json: no such file")
	refused(c.Cut(t.Context(), partOf(0, 1)), "run 0 of 8 is not done: run extsort dist run --part 0/8")
	_, err := c.Verify(t.Context(), false)
	refused(err, "run 0 of 8 is not done")
	refused(c.Plan.Cat(t.Context(), nil), "not verified")
	for _, folder := range []string{c.folder, c.Plan.path(runs.folder), c.Plan.path(cuts.folder), c.req.Output} {
		c.Options.Checkpoint = folder
		refused(c.Run(t.Context(), partOf(0, 2)), "contains files of the plan, and is removed at the end")
	}
	c.Options.Checkpoint = ""
	c.ok(c.Run(t.Context(), partOf(0, 2)))
	testfiles.Write(t, c.req.Inputs[1], make([]byte, 8))
	refused(c.Run(t.Context(), partOf(1, 2)), "b.bin: has changed since the plan was made")
	_, err = CreatePlan(t.Context(), c.folder, c.req)
	refused(err, "contains another plan")
	plan := testfiles.Read(t, c.Plan.path(planName))
	testfiles.Write(t, c.Plan.path(planName), bytes.Replace(plan, []byte(`"runs": 8`), []byte(`"runs": 9`), 1))
	_, err = ReadPlan(c.folder)
	refused(err, "plan.json: was changed")
}

// manifestSaver keeps the first manifest that it finds in the directory of a checkpoint.
type manifestSaver struct {
	folder string
	text   []byte
}

func (s *manifestSaver) Begin(string, int64) {
	if text, err := os.ReadFile(filepath.Join(s.folder, "manifest")); err == nil && s.text == nil {
		s.text = text
	}
}

func (s *manifestSaver) Add(int64) {}
func (s *manifestSaver) End()      {}

// TestCompleteCheckpointIsNoRun restores the state after a process was killed that had completed a
// run, but not removed its checkpoint. The run may have no records.
func TestCompleteCheckpointIsNoRun(t *testing.T) {
	for _, records := range []int64{10_000, 4} {
		c := newCluster(t, numbers, "uniform", records, nil)
		saver := &manifestSaver{folder: filepath.Join(t.TempDir(), "kept")}
		c.Options.Checkpoint, c.Options.TempDirs, c.Options.Progress = saver.folder, nil, saver
		c.ok(c.Run(t.Context(), partOf(0, 8)))
		c.ok(os.Remove(c.Plan.recordFile(runs, 0)))

		c.ok(os.Mkdir(saver.folder, 0o700))
		testfiles.Write(t, filepath.Join(saver.folder, "manifest"), saver.text)
		kept, err := spill.OpenCheckpoint(t.Context(), saver.folder, false)
		c.ok(err)
		file, err := os.Open(c.Plan.runFile(0))
		c.ok(err)
		err = errors.Join(kept.SetOutput(spill.KeptOutput{Name: "kept"}), kept.SetComplete(file), file.Close(), kept.Close())
		c.ok(err)
		before := 0
		c.Options.Warn = func(message string) {
			if strings.Contains(message, "an earlier run has completed output") {
				before++
			}
		}
		c.ok(c.Run(t.Context(), partOf(0, 8)))
		if before != 1 {
			t.Errorf("the checkpoint was found complete %d times", before)
		}
		c.all(1)
		c.check()
	}
}

// TestWhatIsOfAnotherPlanIsMadeAnew makes a new plan in the directory of a complete sort whose
// plan was removed.
func TestWhatIsOfAnotherPlanIsMadeAnew(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 40_000, nil)
	c.all(1)
	c.ok(os.Remove(c.Plan.path(planName)))
	c.req.Runs = 5
	_, err := CreatePlan(t.Context(), c.folder, c.req)
	c.ok(err)
	c.Worker = c.worker()
	refused(t, c.Run(t.Context(), partOf(0, 1)), "manifest.json: belongs to another plan: remove it")
	c.ok(os.Remove(c.Plan.path(manifestName)))
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	if status, err := c.Plan.Status(t.Context()); err != nil || status.Next != "cut" {
		t.Errorf("status %+v, error %v", status, err)
	}
	refused(t, c.Merge(t.Context(), partOf(0, 1)), "cuts/00000.json: belongs to another plan (run extsort dist cut ")
	c.all(2)
	c.check()
}

// TestTogetherEnds checks that nothing starts after an error or a cancellation.
func TestTogetherEnds(t *testing.T) {
	var begun atomic.Int64
	fault := errors.New("the tenth")
	do := func(_ context.Context, i int) error {
		begun.Add(1)
		if i < 10 {
			return nil
		}
		return fault
	}
	if err := runConcurrently(t.Context(), 10_000, do); err != fault || begun.Load() > 100 {
		t.Errorf("%v after %d", err, begun.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runConcurrently(
		ctx,
		10,
		func(context.Context, int) error { return nil },
	); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestChangedRunIsNoticed changes a run between its task and the merge.
func TestChangedRunIsNoticed(t *testing.T) {
	c := newCluster(t, numbers, "uniform", 10_000, func(r *Request) { r.Parts = 2 })
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	run := testfiles.Read(t, c.Plan.runFile(2))
	slices.Reverse(run)
	testfiles.Write(t, c.Plan.runFile(2), run)
	refused(t, c.Merge(t.Context(), partOf(0, 1)), "00002: record ")
	c.ok(c.Run(t.Context(), partOf(0, 1))) // its size still equals the recorded size
	c.ok(os.Remove(c.Plan.runFile(2)))
	c.all(1)
	c.check()
}

// TestReadBackNoticesDamage changes a byte of a part.
func TestReadBackNoticesDamage(t *testing.T) {
	c := newCluster(t, pairs, "uniform", 10_000, nil)
	c.all(1)
	name, _ := c.Plan.partFile(4)
	part := testfiles.Read(t, name)
	part[15] ^= 1
	testfiles.Write(t, name, part)
	refused(t, c.ReadBack(t.Context(), partOf(0, 1)), "00004: does not contain the records that were written")
}

// TestCancelledTaskLeavesNothing cancels a task before it is done.
func TestCancelledTaskLeavesNothing(t *testing.T) {
	c := newCluster(t, pairs, "uniform", 10_000, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx, partOf(0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if names := filesBelow(t, c.Plan.path(runs.folder)); len(names) > 0 {
		t.Errorf("%v is left over", names)
	}
}

// TestErrorsAreClassed checks which errors are retryable.
func TestErrorsAreClassed(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		also []error
		want bool
	}{
		{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, nil, true},
		{fmt.Errorf("read: %w", syscall.ESTALE), nil, true},
		{full, nil, false},
		{full, fullDiskErrors, true},
		{plan.NewRoomError([]string{"x"}, 2, 1, 0, false), nil, true},
		{os.ErrNotExist, fullDiskErrors, false},
		{&session.MemoryError{}, fullDiskErrors, false},
	} {
		err := fmt.Errorf("run 3: %w", markRetryable(c.err, c.also...))
		if _, retry := errors.AsType[*RetryError](err); retry != c.want {
			t.Errorf("%v: worth another try %v", err, retry)
		}
	}
}

// TestMergeInLevels uses more runs than memory can hold at once, so that the merge spills.
func TestMergeInLevels(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 40_000, func(r *Request) { r.Runs, r.Parts = 20, 2 })
	c.Options.BatchSize = 3
	c.all(2)
	c.check()
}

// TestLostOutputIsMadeAgain removes the single output file, so that its parts are no longer done.
func TestLostOutputIsMadeAgain(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 40_000, func(r *Request) { r.OneFile = true })
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	c.ok(c.Merge(t.Context(), partOf(0, 2)))
	c.ok(os.Remove(c.Plan.partialName()))
	refused(t, c.Merge(t.Context(), partOf(1, 2)), "make the same plan again")
	_, err := CreatePlan(t.Context(), c.folder, c.req)
	c.ok(err)
	c.all(2)
	c.check()
	_, err = CreatePlan(t.Context(), c.folder, c.req)
	c.ok(err)
	c.check()
}
