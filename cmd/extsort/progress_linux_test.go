package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal with this many columns. Output written to tty can be read
// from other.
func openTerminal(t *testing.T, columns uint16) (other, tty *os.File) {
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { other.Close() })
	fd := int(other.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	return other, tty
}

// onTerminal returns the output of use on a terminal with this many columns.
func onTerminal(t *testing.T, columns uint16, use func(tty *os.File)) string {
	t.Helper()
	other, tty := openTerminal(t, columns)
	shown := make(chan string, 1)
	go func() {
		var text []byte
		buf := make([]byte, 1<<16)
		for {
			n, err := other.Read(buf)
			text = append(text, buf[:n]...)
			if err != nil { // the last writer has closed the terminal
				shown <- string(text)
				return
			}
		}
	}()
	use(tty)
	tty.Close()
	select {
	case text := <-shown:
		return text
	case <-time.After(time.Minute):
		t.Fatal("the terminal has no end")
	}
	return ""
}

// runOnTerminal returns the output of a command line whose two output streams are a terminal.
func runOnTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	return onTerminal(t, columns, func(tty *os.File) {
		if code := run(t.Context(), args, nil, tty, tty); code != exitDone {
			t.Errorf("%s: exit %d", args, code)
		}
	})
}

func TestReportsFitATerminal(t *testing.T) {
	folder := t.TempDir()
	in, out := filepath.Join(folder, "in"), filepath.Join(folder, "out")
	outputOf(t, "gen", "-t", "u64", "-n", "3M", "-o", in)
	for _, columns := range []uint16{80, 200} {
		for _, args := range [][]string{
			{"plan", "-t", "u64", "-S", "16M", "-T", folder, "-o", out, in}, {"devices"}, {"--help"},
			{"info", "-t", "u64", in},
			{"-t", "u64", "-S", "16M", "-T", folder, "--stats", "--explain", "--progress", "never", "-o", out, in},
		} {
			text := runOnTerminal(t, columns, args...)
			for line := range strings.Lines(text) {
				if n := len(
					[]rune(strings.TrimRight(line, "\r\n")),
				); n > int(columns) && !strings.Contains(line, folder) {
					t.Errorf("%s: %d of %d columns: %q", args, n, columns, line)
				}
			}
			if len(text) < 50 {
				t.Errorf("%s shows %q", args, text)
			}
		}
		if text := runOnTerminal(t, columns, "-q", "-t", "u64", "-S", "16M", "-T", folder, "-o", out, in); text != "" {
			t.Errorf("a quiet run shows %q", text)
		}
	}
}

// awaitShown waits until a bar is drawn.
func awaitShown(t *testing.T, b *bars) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ; !b.shown.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no bar is shown")
		}
	}
}

func TestABarFitsATerminal(t *testing.T) {
	for _, columns := range []uint16{40, 52, 80, 200} {
		text := onTerminal(t, columns, func(tty *os.File) {
			b := (&app{stderr: tty}).startBars("auto")
			b.quietTime, b.tick = 0, time.Millisecond
			b.Begin("sort runs", 987<<30)
			for range 20 {
				b.Add(40 << 30)
				time.Sleep(2 * time.Millisecond)
			}
			awaitShown(t, b)
			b.Close()
		})
		if !strings.Contains(text, "sort runs") || strings.Contains(text, "\x1b[3") {
			t.Errorf("%q", text)
		}
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if width := len([]rune(line)); width >= int(columns) {
				t.Errorf("%d of %d columns: %q", width, columns, line)
			}
		}
	}
}

// TestADumbTerminalHasNoBar checks that nothing is drawn if the terminal cannot move its cursor.
func TestADumbTerminalHasNoBar(t *testing.T) {
	for term, want := range map[string]bool{"dumb": false, "xterm": true} {
		t.Setenv("TERM", term)
		text := onTerminal(t, 80, func(tty *os.File) {
			b := (&app{stderr: tty}).startBars("auto")
			b.quietTime, b.tick = 0, time.Millisecond
			b.Begin("sort runs", 100)
			if want {
				awaitShown(t, b)
			}
			b.Close()
			b.Done("sorted", 600<<20, 3.1)
		})
		if (text != "") != want || want && !strings.HasSuffix(text, "\rsorted 600 MiB in 3.1 s\r\n") {
			t.Errorf("TERM=%s shows %q", term, text)
		}
	}
}

// TestErrorsWrapOnATerminal checks that an error wraps at the width of a terminal, or at 80
// columns if that is unknown, and is one line elsewhere.
func TestErrorsWrapOnATerminal(t *testing.T) {
	args := []string{"-R", "4", "-k", "2:u32", "-k", "9:u8", "-t", "u8", "x"}
	_, whole := runCommand(t, args...)
	whole = strings.TrimSpace(whole)
	if strings.Contains(whole, "\n") || len(whole) <= 80 {
		t.Fatalf("not one long line: %q", whole)
	}
	for columns, most := range map[uint16]int{40: 40, 72: 72, 0: 80, 500: 500} {
		text := onTerminal(t, columns, func(tty *os.File) { run(t.Context(), args, nil, tty, tty) })
		lines := strings.Split(strings.TrimSpace(text), "\r\n")
		for _, line := range lines {
			if len(line) > most {
				t.Errorf("%d columns: %q has %d", columns, line, len(line))
			}
		}
		if got := strings.Join(lines, " "); got != whole {
			t.Errorf("%d columns: %q, want %q", columns, got, whole)
		}
	}
}
