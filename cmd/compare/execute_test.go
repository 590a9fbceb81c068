package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestMain makes the test binary act as the programs of a script.
func TestMain(m *testing.M) {
	if role := os.Getenv("COMPARE_TEST_ROLES"); role != "" && len(os.Args) > 1 {
		os.Exit(play(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// play acts as one of the programs: cat, write a text, touch memory, fail, hang.
func play(args []string) int {
	switch args[0] {
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "write":
		fmt.Print(args[1])
	case "allocate":
		memory := make([]byte, 64<<20)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		fmt.Print(memory[0])
		io.Copy(io.Discard, os.Stdin)
	case "fail":
		fmt.Fprintln(os.Stderr, "starting\nit went wrong")
		return 3
	case "hang":
		fmt.Print("begun")
		time.Sleep(time.Hour)
	}
	return 0
}

// stage returns a workshop in which the program "act" is this test binary.
func stage(t *testing.T) *workshop {
	t.Helper()
	t.Setenv("COMPARE_TEST_ROLES", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &workshop{dir: t.TempDir(), tools: map[string]string{"act": self}, log: io.Discard}
}

func TestPipeline(t *testing.T) {
	shop := stage(t)
	s := script{{commands: []command{{"act", "write", "some text"}, {"act", "cat"}, {"act", "cat"}}, output: "out"}}
	m, err := shop.execute(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(shop.dir, "out"))
	if err != nil || string(text) != "some text" {
		t.Errorf("the pipeline wrote %q, %v", text, err)
	}
	if m.seconds <= 0 {
		t.Errorf("it took %v s", m.seconds)
	}
}

// TestPeakMemory samples a program that has touched memory and waits for the end of its input.
func TestPeakMemory(t *testing.T) {
	shop := stage(t)
	if anonymousMemory(os.Getpid()) == 0 {
		t.Skip("this system does not tell")
	}
	cmd := shop.prepare(t.Context(), command{"act", "allocate"})
	input, inputErr := cmd.StdinPipe()
	output, outputErr := cmd.StdoutPipe()
	if err := errors.Join(inputErr, outputErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	peak := watchMemory([]*exec.Cmd{cmd}).stop()
	input.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if peak < 64<<20 || peak > 256<<20 {
		t.Errorf("a program that touches 64 MiB had a peak of %d bytes", peak)
	}
}

func TestFailureTellsItsLastLine(t *testing.T) {
	shop := stage(t)
	for name, s := range map[string]script{
		"alone":         single("act", "fail"),
		"in a pipeline": {{commands: []command{{"act", "fail"}, {"act", "cat"}}, output: "out"}},
	} {
		if _, err := shop.execute(
			context.Background(),
			s,
		); err == nil || !strings.Contains(err.Error(), "it went wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAProgramThatIsMissing(t *testing.T) {
	shop := stage(t)
	s := script{{commands: []command{{"act", "hang"}, {"no-such-program"}}}}
	// The error must also end the first program.
	if _, err := shop.execute(context.Background(), s); err == nil {
		t.Error("a missing program ran")
	}
}

// TestInterruptionEndsWhatRuns interrupts a pipeline whose first program has written something.
func TestInterruptionEndsWhatRuns(t *testing.T) {
	shop := stage(t)
	reason := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(shop.path("out")); len(text) > 0 {
				cancel(reason)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	s := script{{commands: []command{{"act", "hang"}, {"act", "cat"}}, output: "out"}}
	if _, err := shop.execute(ctx, s); !errors.Is(err, reason) {
		t.Errorf("got %v, want the reason of the interruption", err)
	}
}

func TestWorkshopLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) settings {
		return settings{workFolder: dir, table: tableSettings{versions: []version{{Name: "extsort", path: path}}}}
	}
	shop, err := openWorkshop(context.Background(), at(self), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	testfiles.Write(t, shop.path("data"), []byte("data"))
	shop.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	missing := at(filepath.Join(dir, "none"))
	if _, err := openWorkshop(context.Background(), missing, io.Discard); err == nil {
		t.Error("a command that is not there was taken")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind after a failure: %v, %v", left, err)
	}
}

func TestSettleLeavesNothing(t *testing.T) {
	shop := stage(t)
	shop.settleLimit = 3<<20 + 1
	for _, bytes := range []int64{0, 1000, 1 << 30} {
		if err := shop.settle(bytes); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(shop.dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
