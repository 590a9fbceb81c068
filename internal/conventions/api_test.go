package conventions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAPI holds what the stable packages offer: testdata/api is what go doc -all says of them.
func TestAPI(t *testing.T) {
	goFiles(t) // go test runs this again when one of them has changed
	for folder, name := range map[string]string{".": "extsort.txt", "./format": "format.txt"} {
		command := exec.Command("go", "doc", "-all", folder)
		command.Dir = root
		got, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		golden := filepath.Join(root, "testdata", "api", name)
		if updating(t) {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("the API is not that of %s; if that is meant: go test ./internal/conventions -run API -update\n%s",
				golden, diff)
		}
	}
}
