package spill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompleteOutputIsRemembered: a checkpoint that is removed only in part still knows that the output is complete,
// and names no run. Here a folder of spill that is not empty cannot be removed.
func TestCompleteOutputIsRemembered(t *testing.T) {
	dir := t.TempDir()
	folder, out := filepath.Join(dir, "kept"), filepath.Join(dir, "out")
	c, err := OpenCheckpoint(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	stuck := filepath.Join(folder, spillPrefix+"1")
	file, err := os.Create(out)
	if err = errors.Join(err, c.Identify(Identity{{"the sort", "x"}}, out), c.kept.putRun(&keptRun{}),
		c.SetOutput(out), c.SetComplete(file), file.Close(), os.MkdirAll(filepath.Join(stuck, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	if err := c.Close(); err == nil {
		t.Error("there is no error")
	}
	if c, err = OpenCheckpoint(folder, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Identify(Identity{{"the sort", "x"}, {"the inputs", "now one of them"}}, out); err != nil {
		t.Error(err)
	}
	if s := c.State(); !s.Complete || s.Runs > 0 {
		t.Errorf("%+v is kept", s)
	}
	if err := errors.Join(os.RemoveAll(stuck), c.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestCheckpointIsMadeOnce: of many that begin at once, one has the folder.
func TestCheckpointIsMadeOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	opened := make(chan *Checkpoint, 8)
	for range cap(opened) {
		go func() {
			c, err := OpenCheckpoint(folder, false)
			if err != nil && !strings.Contains(err.Error(), "another process works there") {
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

// TestManifestIsMadeWhole: no part of a manifest ever stands under its name. What a crash leaves of one that was being
// made is in nobody's way, and goes with the folder; something else under that name is refused, and stays.
func TestManifestIsMadeWhole(t *testing.T) {
	folder := t.TempDir()
	manifest, part := filepath.Join(folder, manifestName), filepath.Join(folder, spillPrefix+"PART")
	if err := os.WriteFile(part, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCheckpoint(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.SetOutput("out"), c.Close()); err != nil {
		t.Fatal(err)
	}
	prepare(manifest) // as a process does that was about to when the first one did
	if c, err = OpenCheckpoint(folder, false); err != nil || c.Output() != "out" {
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
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(manifest, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCheckpoint(folder, false); err == nil || !strings.Contains(err.Error(), "its manifest is damaged") {
		t.Errorf("the error is: %v", err)
	}
	if still, err := os.ReadFile(manifest); string(still) != text {
		t.Errorf("what stood there is %q now, %v", still, err)
	}
}

// TestManifestOfAnotherShape: a value that is whole, but not of its key, is damage as well.
func TestManifestOfAnotherShape(t *testing.T) {
	name := filepath.Join(t.TempDir(), manifestName)
	var m manifest
	if err := errors.Join(m.open(name, false), m.put(identityKey, 5), m.db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := m.open(name, true); err == nil || !strings.Contains(err.Error(), "its manifest is damaged") {
		t.Errorf("the error is: %v", err)
	}
}
