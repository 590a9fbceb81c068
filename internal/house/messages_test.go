package house

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
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

// TestMessagesNameFields holds that a program which sorts by the library is not told of flags, and that the command,
// which puts flags in the place of fields, is told of fields that have one (see TestFieldsToFlags there).
func TestMessagesNameFields(t *testing.T) {
	kinds := map[string]reflect.Type{
		"Options": reflect.TypeFor[extsort.Options](), "Record": reflect.TypeFor[format.Spec](),
	}
	programs := strings.Fields("Inputs Stdin Record Stdout SplitFiles SplitBytes Shuffle Seed Progress Warn Logger")
	seen := 0
	textsOf(t, func(where, text string) {
		for _, found := range flagInText.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(found[1], "-") {
				t.Errorf("%s: %q names the flag %s: name the field", where, text, found[1])
			}
		}
		for _, field := range fieldInText.FindAllString(text, -1) {
			kind, name, _ := strings.Cut(field, ".")
			if _, ok := kinds[kind].FieldByName(name); !ok || slices.Contains(programs, name) {
				t.Errorf("%s: %q: there is no field %s, or no flag for it", where, text, field)
			}
			seen++
		}
	})
	if seen < 40 {
		t.Errorf("only %d fields were seen", seen)
	}
}
