package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestCompleteOutputIsRemembered removes a checkpoint only in part. It must still record that the
// output is complete, and list no run. Not even the first step may be skipped: if the runs cannot be
// removed from the manifest, their files stay.
func TestCompleteOutputIsRemembered(t *testing.T) {
	dir := t.TempDir()
	folder, out := filepath.Join(dir, "kept"), filepath.Join(dir, "out")
	c := openCheckpoint(t, folder, false)
	spilled := filepath.Join(folder, spillPrefix+"1")
	file, err := os.Create(out)
	if err = errors.Join(err, c.Identify(Identity{{"the sort", "x"}}, out), putRun(c, &keptRun{}),
		c.SetOutput(KeptOutput{Name: RawName(out)}), c.SetComplete(file), file.Close(),
		os.WriteFile(spilled, nil, 0o600), os.Mkdir(filepath.Join(folder, newManifest), 0o700)); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	err = c.Close()
	if _, gone := os.Stat(spilled); err == nil || gone != nil {
		t.Errorf("the manifest was not written, with error %v; the spill file: %v", err, gone)
	}
	if err := os.Remove(filepath.Join(folder, newManifest)); err != nil {
		t.Fatal(err)
	}

	removeFile = func(name string) error {
		if name == spilled {
			return errors.New("busy")
		}
		return os.Remove(name)
	}
	defer func() { removeFile = os.Remove }()
	c = openCheckpoint(t, folder, false)
	c.Finish()
	if err := c.Close(); err == nil {
		t.Error("there is no error")
	}
	removeFile = os.Remove
	if c, err = OpenCheckpoint(t.Context(), folder, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Identify(Identity{{"the sort", "x"}, {"the inputs", "now one of them"}}, out); err != nil {
		t.Error(err)
	}
	if s := c.State(); !s.Complete || s.Runs > 0 {
		t.Errorf("%+v is kept", s)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestForeignFilesStay puts files into the directory of a checkpoint. A foreign file is refused and
// stays. If it appears during the sort, it stays with the directory, and Close returns an error.
func TestForeignFilesStay(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]struct{ without, with bool }{
		newManifest: {true, true}, removedLock: {true, true}, ".nfs0001": {true, true}, ".fuse_hidden1": {true, true},
		"spill-7": {false, true}, longIndexes: {false, true}, "run-0-0123456789abcdef": {false, true},
		"run-1.bin": {}, "run-0-": {}, "run-0-0123456789abcdeg": {}, "run-07-0123456789abcdef": {},
		"spill-": {}, "spill-07": {}, "spill--1": {}, "spill-notes.txt": {}, "thesis": {},
	} {
		for _, hasManifest := range []bool{false, true} {
			folder := filepath.Join(t.TempDir(), "kept")
			file := filepath.Join(folder, name)
			var err error
			if hasManifest {
				filledCheckpoint(t, folder)
			} else {
				err = os.Mkdir(folder, 0o700)
			}
			if err = errors.Join(err, os.WriteFile(file, []byte(name), 0o600)); err != nil {
				t.Fatal(err)
			}
			accepted := ours.without || hasManifest && ours.with
			c, err := OpenCheckpoint(t.Context(), folder, false)
			if (err == nil) != accepted {
				t.Errorf("%s, manifest %t: the error is: %v", name, hasManifest, err)
			}
			if c == nil { // the file appears later
				err = os.Remove(file)
				c = openCheckpoint(t, folder, false)
				err = errors.Join(err, os.WriteFile(file, []byte(name), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			c.Finish()
			closing := c.Close()
			_, err = os.Stat(file)
			if foreign := !ours.with; (closing != nil) != foreign || (err == nil) != foreign {
				t.Errorf("%s, manifest %t: closed with %v, and the file: %v", name, hasManifest, closing, err)
			}
		}
	}
}

// TestCheckpointIsMadeOnce opens the same checkpoint several times at once. Only one call may
// succeed.
func TestCheckpointIsMadeOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	opened := make(chan *Checkpoint, 8)
	for range cap(opened) {
		go func() {
			c, err := OpenCheckpoint(t.Context(), folder, false)
			if err != nil && !strings.Contains(err.Error(), "another process uses it") {
				t.Error(err)
			}
			opened <- c
		}()
	}
	var all []*Checkpoint
	for range cap(opened) {
		if c := <-opened; c != nil {
			all = append(all, c)
		}
	}
	if len(all) != 1 {
		t.Fatalf("%d have it", len(all))
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
}

// TestRunWithoutIndexIsNotKept checks that the manifest does not list a run whose index file cannot be
// written, because a directory has its name.
func TestRunWithoutIndexIsNotKept(t *testing.T) {
	index := ""
	for _, blocked := range []bool{false, true} {
		folder := filepath.Join(t.TempDir(), "kept")
		c := openCheckpoint(t, folder, false)
		s := openSpill(t, Options{Store: c, Folders: []string{folder}, Checkpoint: c})
		if blocked {
			if err := os.MkdirAll(filepath.Join(folder, index, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w := s.NewRun(Origin{Records: 100})
		err := w.WriteBlock(t.Context(), 0, formattest.Numbered(0, 100))
		_, finishErr := w.Finish()
		if err = errors.Join(err, finishErr, c.Wait()); (err != nil) != blocked || c.State().Runs > 0 == blocked {
			t.Errorf("blocked %t: %d runs are kept, error %v", blocked, c.State().Runs, err)
		}
		files, err := filepath.Glob(filepath.Join(folder, runIndexPrefix+"*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		index = filepath.Base(files[0])
		s.Close()
		c.Close()
	}
}

// TestFailedProgressIsReported checks that an update of the progress returns the error of the last one.
func TestFailedProgressIsReported(t *testing.T) {
	t.Parallel()
	c := openCheckpoint(t, filepath.Join(t.TempDir(), "kept"), false)
	defer c.Close()
	failed := errors.New("the disk is full")
	_, first := c.SetWritten(&Written{}, func() error { return failed }, true)
	_ = c.Wait()
	started, err := c.SetWritten(&Written{}, func() error { return nil }, false)
	if started || first != nil || !errors.Is(err, failed) {
		t.Errorf("started %t, errors %v and %v", started, first, err)
	}
}

// TestManifestIsMadeWhole checks that a partial manifest left by a crash does no harm and is
// removed with the directory. Something else under that name is refused and stays.
func TestManifestIsMadeWhole(t *testing.T) {
	folder := t.TempDir()
	part := filepath.Join(folder, newManifest)
	testfiles.Write(t, part, make([]byte, 5000))
	c := openCheckpoint(t, folder, false)
	err := errors.Join(c.SetOutput(KeptOutput{Name: "out"}), os.WriteFile(part, []byte("x"), 0o600), c.Close())
	if err != nil {
		t.Fatal(err)
	}
	if c, err = OpenCheckpoint(t.Context(), folder, false); err != nil || c.Output().Name != "out" {
		t.Fatalf("the output is lost, %v", err)
	}
	c.Finish()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	const text = "shopping: a manifest of somebody else"
	manifest := filepath.Join(folder, manifestName)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(manifest, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = OpenCheckpoint(t.Context(), folder, false)
	if err == nil || !strings.Contains(err.Error(), "its manifest is damaged") {
		t.Errorf("the error is: %v", err)
	}
	if still, err := os.ReadFile(manifest); string(still) != text {
		t.Errorf("what stood there is %q now, %v", still, err)
	}
}

// filledCheckpoint makes a checkpoint with everything that one can have.
func filledCheckpoint(t *testing.T, folder string) {
	t.Helper()
	c := openCheckpoint(t, folder, false)
	written := &Written{Of: []RunRecords{{0, 40}, {40, 9}}}
	written = written.With(Stretch{Records: 20, Taken: []int64{19, 1}, Sum: SumOf([]byte("a"))}, 8)
	blocks := []Block{{Records: 40, Bytes: 320, Sum: 77, Key: []byte("01234567")}}
	err := errors.Join(
		c.Identify(Identity{{"the output", "/a/na\xffme"}, {"the sample", "x"}}, "/missing"),
		putRun(c, &keptRun{Origin: Origin{Records: 40}, Blocks: blocks}),
		putRun(c, &keptRun{Origin: Origin{First: 40, Records: 9}, Blocks: blocks}),
		c.SetOutput(KeptOutput{Name: ".na\xffme", Inode: 7, Mode: 0o600}),
	)
	c.SetWritten(written, func() error { return nil }, true)
	if err = errors.Join(err, c.Wait(), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedManifest truncates the manifest and the index of a run at every byte, changes every
// byte, and appends some. Each time there must be a one-line error with advice, and no file may
// change. The intact files must contain everything that was entered.
func TestDamagedManifest(t *testing.T) {
	folder := t.TempDir()
	filledCheckpoint(t, folder)
	c := openCheckpoint(t, folder, true)
	out := c.Output()
	if len(c.manifest.Runs) != 2 || c.Written().Records() != 20 || out.Name != ".na\xffme" || out.Mode != 0o600 ||
		string(c.manifest.Runs[0].Blocks[0].Key) != "01234567" || c.manifest.Identity[0][1] != "/a/na\xffme" {
		t.Errorf("the checkpoint has %+v", c.manifest.content)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{manifestName, c.manifest.Runs[1].indexName()} {
		t.Run(name, func(t *testing.T) { damageEverywhere(t, folder, name) })
	}
	again := openCheckpoint(t, folder, true)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(folder, c.manifest.Runs[1].indexName())); err != nil {
		t.Fatal(err)
	}
	checkDamaged(t, folder, "removed")
}

func damageEverywhere(t *testing.T, folder, name string) {
	t.Helper()
	name = filepath.Join(folder, name)
	whole := testfiles.Read(t, name)
	try := func(what string, text []byte) {
		testfiles.Write(t, name, text)
		checkDamaged(t, folder, what)
	}
	for i := range whole {
		try(fmt.Sprint("cut at ", i), whole[:i])
		for _, mask := range []byte{1, 0x20, 0x80, 0xff} {
			changed := slices.Clone(whole)
			changed[i] ^= mask
			try(fmt.Sprintf("byte %d changed by %#x", i, mask), changed)
		}
	}
	try("longer", append(slices.Clone(whole), ' '))
	testfiles.Write(t, name, whole)
}

func checkDamaged(t *testing.T, folder, what string) {
	t.Helper()
	_, err := OpenCheckpoint(t.Context(), folder, false)
	if err == nil {
		t.Fatalf("%s: there is no error", what)
	}
	text := err.Error()
	if !strings.Contains(text, "damaged") || !strings.Contains(text, "remove the directory") ||
		strings.Contains(text, "\n") {
		t.Errorf("%s: the error is: %v", what, err)
	}
}

// TestManifestOfAnotherShape checks that an intact manifest with a value of the wrong type counts
// as damaged.
func TestManifestOfAnotherShape(t *testing.T) {
	for _, body := range []string{`[]`, `{"identity":5}`, `{"runs":[null]}`,
		`{"written":{"Of":[{"First":0,"Records":1}],"Stretches":[{"Records":1,"Taken":[]}]}}`} {
		folder := t.TempDir()
		text := fmt.Sprintf(manifestHeader, manifestVersion, checksum([]byte(body)), len(body)) + body
		testfiles.Write(t, filepath.Join(folder, manifestName), []byte(text))
		checkDamaged(t, folder, body)
	}
}

// TestNothingOpenIsRemoved checks that no file is removed while it is open. On NFS and FUSE such a
// file gets another name in its directory, which then cannot be removed.
func TestNothingOpenIsRemoved(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(t.TempDir(), "kept")
	filledCheckpoint(t, folder)
	var removed atomic.Int64
	removeFile = func(name string) error {
		removed.Add(1)
		descriptors, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Error(err)
		}
		for _, d := range descriptors {
			if open, _ := os.Readlink("/proc/self/fd/" + d.Name()); open == name && name != folder {
				t.Errorf("%s is removed while it is open", name)
			}
		}
		return os.Remove(name)
	}
	defer func() { removeFile = os.Remove }()
	leftOver := filepath.Join(folder, ".nfs0001")
	c, err := OpenCheckpoint(t.Context(), folder, false)
	if err = errors.Join(err, os.WriteFile(leftOver, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	spilled, err := c.Create("")
	if err = errors.Join(err, spilled.Close()); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) || removed.Load() < 6 {
		t.Errorf("the folder is still there, or %d files were removed: %v", removed.Load(), err)
	}
}

// TestStretchSums checks that a sum does not depend on where the bytes are cut, and that it changes
// with every bit and with the order of the bytes.
func TestStretchSums(t *testing.T) {
	p := make([]byte, 300)
	for i := range p {
		p[i] = byte(i * 7)
	}
	want := SumOf(p)
	for i := range p {
		for j := i; j <= len(p); j += 17 {
			sum := SumOf(p[:i]).Join(SumOf(p[i:j]), int64(j-i)).Join(SumOf(p[j:]), int64(len(p)-j))
			if sum != want {
				t.Fatalf("cut at %d and %d the sum is another one", i, j)
			}
		}
		q := slices.Clone(p)
		q[i] ^= 1 << (i % 8)
		if SumOf(q) == want {
			t.Errorf("byte %d is changed, and the sum is the same", i)
		}
	}
	if swapped := SumOf(p[100:200]).Join(SumOf(p[:100]), 100).Join(SumOf(p[200:]), 100); swapped == want {
		t.Error("in another order the sum is the same")
	}
	var read StretchSum
	if text, err := want.MarshalText(); err != nil || read.UnmarshalText(text) != nil || read != want {
		t.Errorf("%s is read as %+v, %v", text, read, err)
	}
}

// TestStretchesAreFew adds many stretches. Only a few may be kept, and their sums must be right.
func TestStretchesAreFew(t *testing.T) {
	var w = &Written{Of: []RunRecords{{0, 1000}}}
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i * i)
	}
	for i := range 500 {
		sum := SumOf(data[2*i : 2*i+2])
		w = w.With(Stretch{Records: int64(2*i + 2), Taken: []int64{int64(2*i + 2)}, Sum: sum}, 1)
	}
	if len(w.Stretches) > maxStretches || len(w.Stretches) < maxStretches/2 || w.Records() != 1000 {
		t.Errorf("there are %d stretches, up to record %d", len(w.Stretches), w.Records())
	}
	from := int64(0)
	for _, s := range w.Stretches {
		if s.Sum != SumOf(data[from:s.Records]) || s.Taken[0] != s.Records {
			t.Errorf("stretch from %d: %+v", from, s)
		}
		from = s.Records
	}
}

// openCheckpoint opens a checkpoint, which the caller closes.
func openCheckpoint(t *testing.T, folder string, readOnly bool) *Checkpoint {
	t.Helper()
	c, err := OpenCheckpoint(t.Context(), folder, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// putRun adds a run with its index file to a checkpoint.
func putRun(c *Checkpoint, run *keptRun) error {
	return errors.Join(run.writeBlocks(c.folder), c.manifest.addRun(run))
}
