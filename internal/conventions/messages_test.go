package conventions

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
)

var (
	// A flag in a text, not one of another program such as ulimit -n.
	flagInText = regexp.MustCompile(`(?:^|[ (\["'])` +
		`((?:ulimit |zstd |%s )?(?:-[cCdfkmoqrRsStTuVv]|--[a-z][a-z-]+))(?:[^\w-]|$)`)
	fieldInText = regexp.MustCompile(`\b(?:Options|Record)\.[A-Z]\w*`)
)

// textsOf calls see for the string literals of the packages that programs link.
func textsOf(t *testing.T, see func(where, text string)) {
	t.Helper()
	tools := []string{
		"cmd/...", "columns/cmd/...", "device/bench/...", "device/tune", "internal/dist", "internal/remote/remotetest",
		"internal/soak",
	}
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

// TestMessagesNameFields checks that messages of the library name options by constants of package
// option, which the command renders as flags (see TestFieldsAreFlags there): no text contains the
// name of a field or of a flag.
func TestMessagesNameFields(t *testing.T) {
	textsOf(t, func(where, text string) {
		for _, found := range flagInText.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(found[1], "-") {
				t.Errorf("%s: %q names the flag %s: name the option", where, text, found[1])
			}
		}
		// The root and columns have their own fields.
		names := strings.HasPrefix(where, "./") || strings.HasPrefix(where, "columns/") ||
			strings.HasPrefix(where, "internal/option/")
		if field := fieldInText.FindString(text); field != "" && !names {
			t.Errorf("%s: %q names the field %s: use its constant of package option", where, text, field)
		}
	})
}

// TestOptionsAreFields checks that the constants of package option are fields that have a flag,
// that each of them is used, and that package option has no other texts.
func TestOptionsAreFields(t *testing.T) {
	kinds := map[string]reflect.Type{
		"Options": reflect.TypeFor[session.Options](), "Record": reflect.TypeFor[format.Spec](),
	}
	programs := strings.Fields("Inputs Stdin Record Stdout SplitFiles SplitBytes Shuffle Seed Progress Warn Logger")
	uses := map[string]int{}
	names := map[string]bool{}
	for _, f := range goFiles(t) {
		for node := range ast.Preorder(f.parse(t, 0)) {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok || f.isTest() {
				continue
			}
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "option" {
				uses[selector.Sel.Name]++
			}
		}
	}
	textsOf(t, func(where, text string) {
		field := fieldInText.FindString(text)
		if !strings.HasPrefix(where, "internal/option/") || field == "" {
			return
		}
		kind, name, _ := strings.Cut(text, ".")
		if _, ok := kinds[kind].FieldByName(name); !ok || field != text || slices.Contains(programs, name) {
			t.Errorf("%s: %q: there is no such field, or no flag for it", where, text)
		}
		names[name] = true
	})
	seen := 0
	for name := range names {
		if uses[name] == 0 {
			t.Errorf("option.%s is not used", name)
		}
		seen += uses[name]
	}
	if len(names) < 30 || seen < 80 {
		t.Errorf("only %d options were seen, in %d places", len(names), seen)
	}
}
