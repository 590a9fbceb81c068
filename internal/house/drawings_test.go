package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDrawings redraws the pictures of docs/how-it-works in a copy and compares them. The script itself fails if a
// label leaves its box or covers another one.
func TestDrawings(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skipf("no awk: %v", err)
	}
	const folder = "../../docs/how-it-works"
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("sh", filepath.Join(copied, "draw.sh")).CombinedOutput(); err != nil {
		t.Fatalf("draw.sh: %v\n%s", err, said)
	}

	drawn, err := filepath.Glob(filepath.Join(copied, "*.svg"))
	if err != nil || len(drawn) < 8 {
		t.Fatalf("%d drawings, %v", len(drawn), err)
	}
	for _, name := range drawn {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, filepath.Base(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the drawing of its text: run docs/how-it-works/draw.sh (%v)", filepath.Base(name), err)
		}
	}
}
