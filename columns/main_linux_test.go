package columns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// processVariable makes the program of the tests sort a file; see sortInProcess.
const processVariable = "EXTSORT_TEST_PROCESS"

func TestMain(m *testing.M) {
	if key := os.Getenv(processVariable); key != "" {
		_, err := Sort(context.Background(), Options{
			Inputs: os.Args[1:2],
			Keys:   []Key{{Column: key}},
			Output: os.Args[2],
			Memory: MinMemory,
		})
		fmt.Println(peakKiB())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sortInProcess sorts a damaged file in a process of its own, which must end with status 0, or with status 2 and
// one line, and must stay within the memory limit.
func sortInProcess(t *testing.T, data []byte, key string) {
	t.Helper()
	folder := t.TempDir()
	in := filepath.Join(folder, "in")
	testfiles.Write(t, in, data)
	cmd := exec.Command(os.Args[0], in, filepath.Join(folder, "out"))
	cmd.Env = append(os.Environ(), processVariable+"="+key)
	var said bytes.Buffer
	cmd.Stderr = &said
	peak, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err != nil && (!failed || exit.ExitCode() != 2), err != nil && bytes.Count(said.Bytes(), []byte("\n")) != 1:
		t.Errorf("%v: %s", err, said.Bytes())
	}
	kib, err := strconv.Atoi(string(bytes.TrimSpace(peak)))
	if err != nil || kib<<10 > MinMemory {
		t.Errorf("a sort has used %d KiB, %v", kib, err)
	}
}

// peakKiB returns the most memory that this process has used. The usage that the parent gets includes its own.
func peakKiB() (kib int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if n, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 && err == nil {
			return kib
		}
	}
	return 0
}
