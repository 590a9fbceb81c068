package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDirectoryWithoutRead writes new and replaced files and sets to a directory in which this
// user may create files but not list them. Exactly these files must remain.
func TestDirectoryWithoutRead(t *testing.T) {
	if name := os.Getenv(asUserEnv); name != "" {
		if _, err := os.ReadDir(filepath.Dir(name)); !errors.Is(err, fs.ErrPermission) {
			t.Fatalf("the directory can be listed: %v", err)
		}
		writeWithoutRead(t, name)
		return
	}
	folder, again := asAnotherUser(t)
	if err := os.Chmod(folder, 0o333); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again(filepath.Join(folder, "out"))
	}

	for name, want := range map[string]string{"out": "new", "set.000": "a", "set.001": "b", "kept": "new"} {
		if got := content(t, filepath.Join(folder, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var names []string
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"kept", "out", "set.000", "set.001", "set.index"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the directory has %q, %v; want %q", names, err, want)
	}
}

func writeWithoutRead(t *testing.T, name string) {
	folder := filepath.Dir(name)
	write(t, name, "new")
	if err := writeSet(filepath.Join(folder, "set"), nil, "ab", Split{Files: 2}); err != nil {
		t.Error(err)
	}
	given, err := Open(t.Context(), filepath.Join(folder, "given up"), FileOptions{})
	if err == nil {
		err = given.Abort()
	}
	if err != nil {
		t.Error(err)
	}

	kept := &Resumable{Owner: "a checkpoint"}
	first := openOutput(t, filepath.Join(folder, "kept"), FileOptions{Resumable: kept})
	kept.Preserve()
	if err := first.Abort(); err != nil {
		t.Error(err)
	}
	again := &Resumable{File: kept.File, Owner: kept.Owner}
	second := openOutput(t, filepath.Join(folder, "kept"), FileOptions{Resumable: again})
	_, err = second.Write([]byte("new"))
	if err = errors.Join(err, second.Commit(t.Context(), -1)); err != nil {
		t.Error(err)
	}
	if !again.Begun {
		t.Error("the kept file was not opened again")
	}
}
