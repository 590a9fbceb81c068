package conventions

import (
	"go/parser"
	"slices"
	"strings"
	"testing"
)

// unstable is the sentence in the comment of each package that programs can import and that may
// change.
const unstable = "Only the root package of this module is stable"

// importedForEffect lists the packages that programs import only for their effect.
var importedForEffect = []string{"format/brotli", "remote/s3"}

// TestUnstablePackagesSaySo checks that the comment of every package outside internal says that
// only the root package is stable.
func TestUnstablePackagesSaySo(t *testing.T) {
	comments := map[string]string{}
	for _, f := range goFiles(t) {
		isHidden := strings.HasPrefix(f.folder+"/", "internal/") || strings.HasPrefix(f.folder+"/", "cmd/")
		if f.isTest() || isHidden || f.folder == "." || slices.Contains(importedForEffect, f.folder) {
			continue
		}
		comments[f.folder] += f.parse(t, parser.ParseComments|parser.PackageClauseOnly).Doc.Text()
	}
	if len(comments) < 20 {
		t.Errorf("only %d packages were found", len(comments))
	}
	for folder, comment := range comments {
		if !strings.Contains(comment, unstable) {
			t.Errorf("%s: the package comment does not say: %s", folder, unstable)
		}
	}
}
