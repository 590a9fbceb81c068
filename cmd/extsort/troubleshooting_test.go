package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestTroubleshootingQuotesMessages checks that the code still contains the messages in
// docs/troubleshooting.md.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	page := testfiles.Read(t, "../../docs/troubleshooting.md")
	quoted := regexp.MustCompile("`([^`]+)`")
	fromElsewhere := " no such file or directory | no space left on device | pthread_create failed | killed |" +
		" extsort devices | nvidia-smi "
	code := messagesInCode(t)
	seen := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if strings.Contains(fromElsewhere, " "+match[1]+" ") {
				continue
			}
			seen++
			if !strings.Contains(code, match[1]) {
				t.Errorf("no message contains %q", match[1])
			}
		}
	}
	if seen < 15 {
		t.Errorf("found only %d messages", seen)
	}
}

// messagesInCode returns the non-test Go files of the module as one text. String literals that
// are joined by + across lines become one literal.
func messagesInCode(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`" *\+\s*"`).ReplaceAllString(text.String(), "")
}
