package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program is what a block of a page is in that is no whole program.
const program = `package main

import (
	"context"
	"fmt"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

func main() {
	ctx := context.Background()
	BLOCK
}
`

// TestProgramsOfPages builds the Go programs of the pages and has each sort a file.
func TestProgramsOfPages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	block, ran := regexp.MustCompile("(?s)\n```go\n(.*?)\n```"), 0
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, name := range append(pages, "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range block.FindAllStringSubmatch(string(text), -1) {
			source := match[1]
			if !strings.HasPrefix(source, "package main") {
				source = strings.Replace(program, "BLOCK", source, 1)
			}
			t.Run(filepath.Base(name), func(t *testing.T) { runProgram(t, source) })
			ran++
		}
	}
	if ran < 2 {
		t.Errorf("%d programs ran", ran)
	}
}

// runProgram sorts records of 16 bytes by it, which may be in log.bin or keys.bin.
func runProgram(t *testing.T, source string) {
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	write := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(main, []byte(strings.ReplaceAll(source, "/mnt/scratch", dir)))
	here, err := filepath.Abs("testdata/program/main.go") // as if it stood in this module
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
	cmd := exec.Command(binary)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "1000 records by in-core") {
		t.Errorf("%v: %q\n%s", err, said, source)
	}
	if sorted := readFile(t, dir, "sorted.bin"); len(sorted) != 16*1000 {
		t.Errorf("%d bytes are sorted", len(sorted))
	}
}
