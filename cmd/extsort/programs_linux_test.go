package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// program turns a block of statements into a complete program.
const program = `package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/extsort/extsort"
)

var (
	_ = binary.LittleEndian
	_ = os.ReadFile
	_ extsort.Job
)

func main() {
	ctx := context.Background()
	_ = ctx
	BLOCK
}
`

// goBlock matches a Go program on a page. A comment before it contains the program's output,
// unless the program sorts log.bin or keys.bin into sorted.bin.
var goBlock = regexp.MustCompile("(?s)\n(?:<!-- prints: ([^\n]*) -->\n)?```go\n(.*?)\n```")

// TestProgramsOfPages builds and runs the Go programs on the pages.
func TestProgramsOfPages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	ran := 0
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, name := range append(pages, "../../README.md") {
		text := testfiles.Read(t, name)
		for _, match := range goBlock.FindAllStringSubmatch(string(text), -1) {
			prints, source := match[1], match[2]
			if !strings.HasPrefix(source, "package main") {
				source = strings.Replace(program, "BLOCK", source, 1)
			}
			t.Run(filepath.Base(name), func(t *testing.T) { runProgram(t, source, prints) })
			ran++
		}
	}
	if ran < 2 {
		t.Errorf("%d programs ran", ran)
	}
}

// runProgram builds and runs a program in a directory with the inputs log.bin and keys.bin, 1000
// records of 16 bytes each. If the page does not specify the program's output, the program must
// sort one of these files into sorted.bin. Otherwise, sorted.bin already exists and contains a
// million sorted 64-bit keys.
func runProgram(t *testing.T, source, prints string) {
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	write := func(name string, data []byte) {
		testfiles.Write(t, name, data)
	}
	write(main, []byte(strings.ReplaceAll(source, "/mnt/scratch", dir)))
	// The program is built as part of this module, so that its imports are resolved here.
	here, err := filepath.Abs("testdata/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: main}})
	if err != nil {
		t.Fatal(err)
	}
	write(main+".json", overlay)
	binary := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-overlay", main+".json", "-o", binary, "./testdata/program")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, said, source)
	}
	mustRun(t, dir, "gen", "-R", "16", "-k", "0:u64", "-n", "1000", "-o", "log.bin")
	mustRun(t, dir, "gen", "-R", "16", "-k", "0:u64", "-n", "1000", "-o", "keys.bin")
	if prints != "" {
		mustRun(t, dir, "gen", "-t", "u64", "-n", "1000000", "-o", "unsorted.bin")
		mustRun(t, dir, "-t", "u64", "-o", "sorted.bin", "unsorted.bin")
	}
	cmd := exec.Command(binary)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if prints != "" {
		if err != nil || strings.TrimSpace(string(said)) != prints {
			t.Errorf("%v: printed %q, want %q\n%s", err, said, prints, source)
		}
		return
	}
	if err != nil || !strings.HasPrefix(string(said), "1000 records by in-core") {
		t.Errorf("%v: %q\n%s", err, said, source)
	}
	if sorted := readFile(t, dir, "sorted.bin"); len(sorted) != 16*1000 {
		t.Errorf("%d bytes are sorted", len(sorted))
	}
}
