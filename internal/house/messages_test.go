package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	// A flag in a text, not one of another program such as ulimit -n.
	flagInText = regexp.MustCompile(`(?:^|[ (\["'])` +
		`((?:ulimit |zstd |%s )?(?:-[cCdfkmoqrRsStTuVv]|--[a-z][a-z-]+))(?:[^\w-]|$)`)
	fieldInText = regexp.MustCompile(`\b(?:Options|Record)\.[A-Z]\w*`)
)

// textsOf are the string literals of the packages that a program links.
func textsOf(t *testing.T, see func(where, text string)) {
	t.Helper()
	tools := []string{"cmd/...", "device/bench/...", "device/tune", "internal/dist", "internal/soak", "internal/house"}
	for _, f := range goFiles(t) {
		if f.isTest() || slices.ContainsFunc(tools, func(p string) bool { return matches(p, f.folder) }) {
			continue
		}
		for node := range ast.Preorder(f.parse(t, 0)) {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				see(f.folder+"/"+f.name, text)
			}
		}
	}
}

// TestMessagesNameFields holds that a program which sorts by the library is not told of flags, and that the command has
// a flag for each field that it may be told of.
func TestMessagesNameFields(t *testing.T) {
	named := map[string]bool{"Options.Sources": true} // no flag gives these
	textsOf(t, func(where, text string) {
		for _, found := range flagInText.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(found[1], "-") {
				t.Errorf("%s: %q names the flag %s: name the field", where, text, found[1])
			}
		}
		for _, field := range fieldInText.FindAllString(text, -1) {
			named[field] = true
		}
	})
	table := map[string]bool{"Options.Sources": true}
	for _, f := range goFiles(t) {
		if f.folder == "cmd/extsort" && f.name == "fields.go" {
			for _, field := range fieldInText.FindAllString(f.text, -1) {
				table[field] = true
			}
		}
	}
	if diff := cmp.Diff(table, named); diff != "" {
		t.Errorf("the fields of cmd/extsort/fields.go are not those that messages name:\n%s", diff)
	}
}
