package conventions

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestPromisesNameTests checks that every promise of testdata/promises.txt names tests that exist.
func TestPromisesNameTests(t *testing.T) {
	text := testfiles.Read(t, "../../testdata/promises.txt")
	existing, err := exec.Command("grep", "-rhE", "--include=*_test.go", "^func Test", "../..").Output()
	if err != nil {
		t.Skipf("no grep: %v", err)
	}

	promises := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		promise, tests, found := strings.Cut(line, ": ")
		if !found || len(strings.Fields(tests)) == 0 {
			t.Errorf("no tests: %s", line)
		}
		for _, name := range strings.Fields(tests) {
			if !strings.Contains(string(existing), "func "+name+"(") {
				t.Errorf("%s: there is no test %s", promise, name)
			}
		}
		promises++
	}
	if promises < 25 {
		t.Errorf("only %d promises were found", promises)
	}
}
