//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestMain runs the command instead of the tests if this program was started by one of them.
func TestMain(m *testing.M) {
	if os.Getenv("EXTSORT_COLUMNS_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestSignalsEndIdleSort sends a signal to a sort that waits for input, and then a second one.
func TestSignalsEndIdleSort(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-k", "k", "-o", filepath.Join(t.TempDir(), "out"), "-")
	command.Env = append(os.Environ(), "EXTSORT_COLUMNS_TEST_COMMAND=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// A batch is more than a pipe holds, so that it is written only after the command has caught its signals.
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	batch.Field(0).(*array.Int64Builder).AppendValues(make([]int64, 1<<18), nil)
	if err := ipc.NewWriter(stdin, ipc.WithSchema(schema)).Write(batch.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	command.Wait() // its error is the signal
	if status := command.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("the command ended with %v", command.ProcessState)
	}
}
