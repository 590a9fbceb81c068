package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// maxFirstReads is the maximum number of system calls that read the first bytes of an input.
const maxFirstReads = 4

// tracedReads are the system calls that can read a file.
const tracedReads = "mmap,read,pread64,readv,preadv,preadv2,copy_file_range,splice,sendfile"

// TestInputIsMapped traces sorts of a file of 15 MiB, which is too small for a trial whether maps
// are slow. They map the file, and read only its first bytes with system calls. Calls to preadv2
// only test whether the page cache holds the file.
func TestInputIsMapped(t *testing.T) {
	if err := exec.Command("strace", "-f", "-y", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("strace is missing or may not trace: %v", err)
	}
	dir := t.TempDir()
	script := `cd "$1" && mkdir spill && extsort gen -t u64 --size 15M -o in`
	if status, _, stderr := shell(t, script, dir); status != 0 {
		t.Fatal(stderr)
	}

	in := regexp.QuoteMeta("<" + filepath.Join(dir, "in") + ">")
	maps := regexp.MustCompile(`mmap\(NULL, 15728640, PROT_READ, MAP_SHARED, \d+` + in)
	reads := regexp.MustCompile(`(?:p?read(?:64|v)?|copy_file_range|splice|sendfile)\(\d+` + in)
	for _, c := range []string{
		"extsort -d cpu -t u64 -o out in",
		"extsort -d cpu -t u64 -o out < in",
		"extsort -d cpu -t u64 -S 24M --strategy merge -T spill -o out in",
		"extsort -d cpu -t u64 -S 24M --strategy partition -T spill -o out in",
		"extsort -d cpu -t u64 -S 24M --strategy reread -o out in",
	} {
		trace := filepath.Join(dir, "trace")
		script := `cd "$1" && strace -f -y -o "$2" -e trace=` + tracedReads + ` ` + c
		if status, _, stderr := shell(t, script, dir, trace); status != 0 {
			t.Errorf("%s: %s", c, stderr)
			continue
		}
		calls := testfiles.Read(t, trace)
		text := string(calls)
		if n := len(maps.FindAllString(text, -1)); n != 1 {
			t.Errorf("%s: the input is mapped %d times", c, n)
		}
		if all := reads.FindAllString(text, -1); len(all) > maxFirstReads {
			t.Errorf("%s: %d calls read the input, such as %s", c, len(all), strings.Join(all[:maxFirstReads], ", "))
		}
	}
}
