package conventions

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestActionsArePinned checks that the workflows name actions by their full hash, since a tag can be
// moved, and the version in a comment, for readers. Each action has one hash in all workflows.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	uses := regexp.MustCompile(`uses: *(.*)`)
	pinned := regexp.MustCompile(`^([\w.-]+/[\w.-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+\b`)
	hashes := map[string]string{}
	for _, name := range files {
		text := testfiles.Read(t, name)
		for line := range strings.Lines(string(text)) {
			use := uses.FindStringSubmatch(line)
			if use == nil {
				continue
			}
			action := pinned.FindStringSubmatch(use[1])
			if action == nil {
				t.Errorf("%s: %s is not pinned: name OWNER/NAME@HASH # vX.Y.Z", name, use[1])
				continue
			}
			if known := hashes[action[1]]; known != "" && known != action[2] {
				t.Errorf("%s: %s has two hashes", name, action[1])
			}
			hashes[action[1]] = action[2]
		}
	}
	if len(hashes) == 0 {
		t.Error("no workflow uses an action")
	}
}
