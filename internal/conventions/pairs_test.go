package conventions

import (
	"go/parser"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxPairs is the maximum percentage of package pairs in which one package imports the other. It
// may only decrease: few packages should import a new package.
const maxPairs = 24.2

// TestFewPackagesKnowEachOther counts the pairs of packages that import each other, among the
// packages of this module that a program needs which imports the root.
func TestFewPackagesKnowEachOther(t *testing.T) {
	imports := importsOfPackages(t)
	linked := linkedBy(imports, ".")
	known := map[string]int{}
	pairs := 0
	for _, from := range linked {
		for to := range imports[from] {
			known[to]++
			pairs++
		}
	}

	n := len(linked)
	share := 100 * float64(pairs) / float64(n*(n-1)/2)
	t.Logf("%d of %d pairs of %d packages: %.1f %%", pairs, n*(n-1)/2, n, share)
	if n < 20 || pairs < n {
		t.Fatalf("only %d packages and %d pairs were found", n, pairs)
	}
	if share > maxPairs {
		most := slices.MaxFunc(linked, func(a, b string) int { return known[a] - known[b] })
		t.Errorf("%.1f %% of all pairs of packages know each other, at most %.1f %% are allowed; %d packages import %s",
			share, maxPairs, known[most], most)
	}
}

// importsOfPackages returns, for each package, the packages of this module that its product files
// import on any system.
func importsOfPackages(t *testing.T) map[string]map[string]bool {
	t.Helper()
	imports := map[string]map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if imports[f.folder] == nil {
			imports[f.folder] = map[string]bool{}
		}
		for _, spec := range f.parse(t, parser.ImportsOnly).Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, ours := folderOf(name); ours {
				imports[f.folder][strings.TrimPrefix(to, "/")] = true
			}
		}
	}
	return imports
}

// linkedBy returns the packages that a package imports, directly or not, and the package itself.
func linkedBy(imports map[string]map[string]bool, root string) []string {
	seen := map[string]bool{root: true}
	for open := []string{root}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		for to := range imports[next] {
			if !seen[to] {
				seen[to] = true
				open = append(open, to)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestLinkedBy finds the packages behind a package, each once.
func TestLinkedBy(t *testing.T) {
	imports := map[string]map[string]bool{
		"a": {"b": true, "c": true},
		"b": {"c": true},
		"c": {},
		"d": {"a": true},
	}
	for root, want := range map[string]string{"a": "a b c", "b": "b c", "c": "c", "d": "a b c d"} {
		if got := strings.Join(linkedBy(imports, root), " "); got != want {
			t.Errorf("%s links %q, want %q", root, got, want)
		}
	}
}
