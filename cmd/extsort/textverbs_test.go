package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// runVerb runs a command line in this process and returns its standard output, or its exit status
// and its standard error.
func runVerb(t *testing.T, stdin io.Reader, args ...string) (out []byte, code int, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, stdin, &stdout, &stderr)
	return stdout.Bytes(), code, stderr.String()
}

// mustRunVerb is runVerb for commands that succeed.
func mustRunVerb(t *testing.T, stdin io.Reader, args ...string) []byte {
	t.Helper()
	out, code, problems := runVerb(t, stdin, args...)
	if code != exitDone || problems != "" {
		t.Fatalf("extsort %s: status %d, %s", strings.Join(args, " "), code, problems)
	}
	return out
}

var textFormsToParse = []string{"csv", "tsv", "jsonl", "hex"}

// TestPrintAndParse prints records of containers that gen writes, and of types by many names, in every
// form, and parses the lines. The bytes must be the same.
func TestPrintAndParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	out := filepath.Join(dir, "out")
	check := func(flags []string) {
		t.Helper()
		want := testfiles.Read(t, in)
		for _, form := range textFormsToParse {
			as := append([]string{"--as", form}, flags...)
			lines := mustRunVerb(t, nil, slices.Concat([]string{"print"}, as, []string{in})...)
			mustRunVerb(t, iotest.HalfReader(bytes.NewReader(lines)), append([]string{"parse", "-o", out}, as...)...)
			back := testfiles.Read(t, out)
			if !bytes.Equal(back, want) {
				t.Errorf("%v: %d bytes became %d by way of %.200q", as, len(want), len(back), lines)
			}
		}
	}
	for _, flags := range [][]string{
		{"-t", "u64"},
		{"-t", "u64", "-f", "npy"},
		{"-t", "u64", "-f", "sosd"},
		{"-f", "gensort"},
	} {
		mustRunVerb(t, nil, slices.Concat([]string{"gen", "-n", "77", "-o", in}, flags)...)
		check(flags)
	}

	r := rand.New(rand.NewPCG(1, 2))
	recs := make([]byte, 64*50)
	for i := range recs {
		recs[i] = byte(r.Uint32() >> (8 * (r.Uint32() % 4)))
	}
	for _, name := range []string{
		"uint64_t", "int8_t", "float", "double", "int", "unsigned", "bool", "half", "bfloat16", "<u8", ">f4",
		"|S10", "<U3", "FI4", "BI8", "ZD5", "PD3", "CH10", "uuid", "sha1", "sha256", "time_s", "time_msbe",
		"time_us", "time_ns",
		"zoned:4", "packed:7", "ebcdic:9", "char8", "i128be", "u24", "u48be", "f16", "f80",
	} {
		typ, ok := format.NamedType(name)
		if !ok {
			t.Fatalf("unknown type %s", name)
		}
		fields := "a=" + name + " rest=" + format.Type{Kind: format.Bytes, Size: 64 - typ.Size}.String()
		testfiles.Write(t, in, recs)
		check([]string{"--fields", fields})
	}
}

// TestReadErrorsOfVerbs lets standard input fail at random offsets. Each verb must print one line,
// and leave the old output and no other file.
func TestReadErrorsOfVerbs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	recs := mustRunVerb(t, nil, "gen", "-t", "u64", "-n", "40000", "--dist", "sorted")
	lines := mustRunVerb(t, bytes.NewReader(recs), "print", "-t", "u64", "--as", "csv")
	testfiles.Write(t, file("sorted"), recs)
	if err := os.Mkdir(file("spill"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, row := range []struct {
		command string // with -t u64; SORTED is a sorted file, OUT the output
		input   []byte
	}{
		{"-o OUT -T SPILL", recs},
		{"-u --count -o OUT -T SPILL --strategy merge", recs},
		{"-o OUT -T SPILL --strategy partition", recs},
		{"-c", recs},
		{"-m -o OUT - SORTED", recs},
		{"shuffle -o OUT -T SPILL", recs},
		{"info --all -", recs},
		{"print --as csv -o OUT", recs},
		{"print --tail 3 -o OUT", recs},
		{"print --sample 3 -o OUT", recs},
		{"top -o OUT -T SPILL", recs},
		{"parse -o OUT", lines},
		{"find --keys - -o OUT -T SPILL SORTED", lines},
		{"find --keys - --keys-as binary --missing -o OUT -T SPILL SORTED", recs},
		{"find --keys - --keys-as records --count -o OUT -T SPILL SORTED", recs},
		{"union -o OUT - SORTED", recs},
		{"intersect -o OUT SORTED -", recs},
		{"subtract -o OUT --sort -T SPILL SORTED -", recs},
		{"compare --only-a OUT - SORTED", recs},
		{"join -o OUT SORTED -", recs},
	} {
		args := strings.Fields(strings.NewReplacer("OUT", file("out"), "SORTED", file("sorted"), "SPILL", file("spill")).
			Replace(row.command))
		at := 1
		if strings.HasPrefix(args[0], "-") {
			at = 0
		}
		args = slices.Insert(args, at, "-t", "u64")
		for range 3 {
			testfiles.Write(t, file("out"), []byte("old"))
			offset := r.IntN(len(row.input))
			failing := io.MultiReader(bytes.NewReader(row.input[:offset]), iotest.ErrReader(errors.New("the test fails")))
			_, code, problems := runVerb(t, failing, args...)
			isLine := strings.HasPrefix(problems, "extsort: ") && strings.Count(problems, "\n") == 1
			if code != exitError || !isLine || !strings.Contains(problems, "the test fails") {
				t.Errorf("%s, error at %d: status %d, %q", row.command, offset, code, problems)
			}
			old, err := os.ReadFile(file("out"))
			if err != nil || string(old) != "old" {
				t.Errorf("%s, error at %d: the output has %d bytes, %v", row.command, offset, len(old), err)
			}
			left := slices.Concat(testfiles.Names(t, dir), testfiles.Names(t, file("spill")))
			if !slices.Equal(left, []string{"out", "sorted", "spill"}) {
				t.Errorf("%s, error at %d: files %q", row.command, offset, left)
			}
		}
	}
}
