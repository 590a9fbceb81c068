//go:build linux

package powerloss

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// traced lists the calls that change files, make changes durable or end the process. It includes
// calls that the model does not know, so that a test fails if a command begins to use one.
const traced = "openat,creat,open,openat2,close,dup,dup2,dup3,fcntl,mkdir,mkdirat,rmdir,unlink,unlinkat," +
	"link,linkat,symlink,symlinkat,rename,renameat,renameat2,lseek,read,write,writev,pwrite64,pwritev," +
	"pwritev2,ftruncate,truncate," +
	"fallocate,copy_file_range,sendfile,splice,mmap,msync,fsync,fdatasync,sync,syncfs,sync_file_range,exit_group"

// maxString is larger than any single write.
const maxString = "67108864"

// A call is a successful system call. begin and end are lines of the trace.
type call struct {
	name       string
	args       []string
	result     int64
	opened     string // path of the descriptor that the call returned, if any
	begin, end int
}

// trace runs a command, which must succeed, and returns its calls in the order of their ends.
func trace(t *testing.T, args []string) []call {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace")
	options := []string{"-f", "-y", "-x", "-X", "raw", "-s", maxString, "-o", name, "-e", "trace=" + traced}
	if said, err := exec.Command("strace", append(options, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	return parseTrace(t, name)
}

// needStrace skips a test if processes cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if err := exec.Command("strace", "-f", "-y", "-X", "raw", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("no strace here, or it may not trace: %v", err)
	}
}

// parseTrace joins the two parts of calls that were interrupted by calls of other threads.
func parseTrace(t *testing.T, name string) (calls []call) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type begun struct {
		text string
		line int
	}
	unfinished := map[string]begun{} // by thread
	lines := bufio.NewReaderSize(f, 1<<20)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return calls
		}
		thread, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text, begin := strings.TrimLeft(text, " "), n
		if first, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			unfinished[thread] = begun{first, n}
			continue
		}
		if _, rest, ok := strings.Cut(text, " resumed>"); ok && strings.HasPrefix(text, "<... ") {
			text, begin = unfinished[thread].text+rest, unfinished[thread].line
		}
		if c, ok := parseCall(text); ok {
			c.begin, c.end = begin, n
			calls = append(calls, c)
		}
	}
}

// returned matches a return value: a number, and the path of an opened file.
var returned = regexp.MustCompile(`^(\d\w*)(?:<([^>]*)>)?`)

// parseCall parses NAME(ARGUMENTS) = RESULT. It returns false for failed calls. A call that ends
// the process has no result.
func parseCall(text string) (c call, ok bool) {
	at := strings.LastIndex(text, " = ")
	name, args, ok := strings.Cut(text[:max(at, 0)], "(")
	if !ok {
		return c, false
	}
	c.name, c.args = name, splitArgs(strings.TrimSuffix(strings.TrimRight(args, " "), ")"))
	m := returned.FindStringSubmatch(text[at+len(" = "):])
	if m == nil {
		return c, name == "exit_group"
	}
	result, err := strconv.ParseInt(m[1], 0, 64)
	c.result, c.opened = result, m[2]
	return c, err == nil
}

// splitArgs splits at the commas that are neither in a string nor in a path.
func splitArgs(text string) (args []string) {
	var quoted, inPath bool
	from := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && !inPath:
			quoted = !quoted
		case c == '<' && !quoted:
			inPath = true
		case c == '>' && !quoted:
			inPath = false
		case c == ',' && !quoted && !inPath:
			args = append(args, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(args, strings.TrimSpace(text[from:]))
}
