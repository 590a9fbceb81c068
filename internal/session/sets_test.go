package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/merge/sets"
)

// setFaultCases are set operations and joins in which every operation fails once. Their inputs are
// the same file twice.
func setFaultCases(t *testing.T) (cases []faultCase) {
	k := kindNamed("u64")
	sorted := reference(t, k.layout(t), k.make(t, "few", 150, seeded(t)), Options{})
	var counts []int
	for rest := sorted; len(rest) > 0; {
		n := 1
		for n*8 < len(rest) && bytes.Equal(rest[:8], rest[n*8:][:8]) {
			n++
		}
		counts = append(counts, n)
		rest = rest[n*8:]
	}
	var squares []byte
	rest := sorted
	for _, n := range counts {
		squares = append(squares, bytes.Repeat(rest[:8], n*n)...)
		rest = rest[n*8:]
	}

	add := func(name string, set SetOptions, want []byte) {
		cases = append(cases, faultCase{
			name: name,
			opt:  Options{Record: k.spec},
			data: sorted,
			want: want,
			run: func(ctx context.Context, opt Options) (*Report, error) {
				set := set
				set.Inputs = mergeOptions(opt)
				set.Inputs.Inputs = append(slices.Clone(opt.Inputs), opt.Inputs...)
				if set.Operation == sets.Compare {
					set.Both = opt.Output
					set.Inputs.Output = ""
				}
				report, err := Combine(ctx, set)
				if report == nil {
					return nil, err
				}
				return report.Report, err
			},
		})
	}
	add("union", SetOptions{Operation: sets.Union}, sorted)
	add("compare", SetOptions{Operation: sets.Compare}, sorted)
	add("join that spills", SetOptions{Operation: sets.Join}, squares)
	return cases
}

// combineCopies runs a set operation on several copies of the input of a sort.
func combineCopies(t *testing.T, set SetOptions, opt Options, copies int) (*Report, error) {
	opt.Verify = false
	opt.Inputs = slices.Repeat(opt.Inputs, max(copies, 2))
	set.Inputs = mergeOptions(opt)
	if set.Operation == sets.Compare {
		set.Inputs.Output = ""
	}
	report, err := Combine(t.Context(), set)
	if err != nil {
		return nil, err
	}
	return report.Report, nil
}

// TestSetsThatKeepNoHeader lists operations that cannot copy a header to their output.
func TestSetsThatKeepNoHeader(t *testing.T) {
	t.Parallel()
	in := writeFile(t, []byte("HEADaabbcc"))
	for name, set := range map[string]SetOptions{
		"join":            {Operation: sets.Join},
		"join with Right": {Operation: sets.Join, Right: &MergeOptions{}},
		"sorted union":    {Operation: sets.Union, Sort: true},
	} {
		var out bytes.Buffer
		set.Inputs = MergeOptions{
			Record:     format.Spec{Type: "u16"},
			Inputs:     []string{in, in},
			SkipBytes:  4,
			KeepHeader: true,
			Stdout:     &out,
		}
		if set.Right != nil {
			set.Inputs.Inputs = []string{in}
			set.Right.Record = set.Inputs.Record
			set.Right.Inputs = []string{in}
			set.Right.SkipBytes = 4
		}
		_, err := Combine(t.Context(), set)
		bad, ok := errors.AsType[*option.Error](err)
		if !ok || bad.Field != option.KeepHeader || out.Len() > 0 {
			t.Errorf("%s: %v; it wrote %q", name, err, out.Bytes())
		}
	}
}

// TestCompareFilesAppearTogether fails each operation of a comparison that writes three files. After
// an error, either all of them are complete or none has appeared.
func TestCompareFilesAppearTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	testfiles.Write(t, in, []byte("aabbcc"))
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "both")}
	for failAt := int64(0); ; failAt++ {
		injected := &injector{failAt: failAt}
		inputs := Options{Record: format.Spec{Type: "u16"}, Inputs: []string{in, in}}
		inputs.faults.output = injected.step
		set := SetOptions{Operation: sets.Compare, OnlyA: names[0], OnlyB: names[1], Both: names[2]}
		set.Inputs = mergeOptions(inputs)
		_, err := Combine(t.Context(), set)
		found := 0
		for _, name := range names {
			if os.Remove(name) == nil {
				found++
			}
		}
		if found != 0 && found != len(names) || err == nil && found == 0 {
			t.Errorf("operation %d, %s: %d files have appeared, and the error is %v", failAt, injected.operation(), found, err)
		}
		if injected.failed.Load() == nil {
			break
		}
	}
}

// TestSetOutputsThatLoseData checks that a set operation refuses to overwrite an input or one of its
// own outputs.
func TestSetOutputsThatLoseData(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := k.make(t, "sorted", 3000, seeded(t))
	const overwrites, twice = "would be overwritten", "two outputs cannot be the same file"
	const first = "the first input"
	for name, c := range map[string]struct {
		set       SetOptions
		over      int    // the input that is also Stdout
		withRight bool   // B is in Right
		reason    string // "": the operation succeeds
	}{
		"sorted A":          {SetOptions{Operation: sets.Union, Sort: true}, 0, false, overwrites},
		"sorted B":          {SetOptions{Operation: sets.Union, Sort: true}, 1, false, overwrites},
		"sorted B in Right": {SetOptions{Operation: sets.Subtract, Sort: true}, 1, true, overwrites},
		"B in Right":        {SetOptions{Operation: sets.Subtract}, 1, true, overwrites},
		"Compare":           {SetOptions{Operation: sets.Compare, Sort: true, OnlyB: "-"}, 0, false, overwrites},
		"Compare, two":      {SetOptions{Operation: sets.Compare, OnlyA: first, OnlyB: "new"}, -1, false, "one of several"},
		"same output":       {SetOptions{Operation: sets.Compare, OnlyA: "new", Both: "new"}, -1, false, twice},
		"same path":         {SetOptions{Operation: sets.Compare, OnlyA: "new", OnlyB: "./new"}, -1, false, twice},
		"two streams":       {SetOptions{Operation: sets.Compare, OnlyA: "-", OnlyB: "-"}, -1, false, twice},
		"sorted, split": {SetOptions{Operation: sets.Union, Sort: true, Inputs: MergeOptions{
			Output: filepath.Join(t.TempDir(), "set"), SplitFiles: 2}}, -1, false, ""},
	} {
		files := []string{writeFile(t, data), writeFile(t, data)}
		set := c.set
		if set.OnlyA == first {
			set.OnlyA = files[0]
		}
		set.Inputs.Record = k.spec
		set.Inputs.Inputs = files
		set.Inputs.Stdout = &bytes.Buffer{}
		if c.withRight {
			set.Inputs.Inputs = files[:1]
			set.Right = &MergeOptions{Record: k.spec, Inputs: files[1:]}
		}
		if c.over >= 0 {
			f := testfiles.Open(t, files[c.over], os.O_RDWR)
			set.Inputs.Stdout = f
		}
		_, err := Combine(t.Context(), set)
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range files {
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: an input has changed: %v", name, err)
			}
		}
	}
}
