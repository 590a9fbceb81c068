package house

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReliabilityNamesTests holds that each test that docs/reliability.md names is there.
func TestReliabilityNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 40 {
		t.Fatalf("the page names only %d tests", len(names))
	}
	there, err := exec.Command("grep", "-rhE", "--include=*_test.go", "^func Test", "../..").Output()
	if err != nil {
		t.Skipf("no grep: %v", err)
	}
	for _, name := range names {
		if !strings.Contains(string(there), "func "+name[1]+"(") {
			t.Errorf("%s is named, and there is none", name[1])
		}
	}
}
