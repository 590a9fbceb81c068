package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/testfiles"
)

// A hostile is a maliciously crafted input.
type hostile struct {
	name   string
	spec   format.Spec
	input  func(w io.Writer) error
	inputs int    // number of inputs with these bytes; 0: one
	limit  int64  // MiB; 0: 16
	merge  bool   // merge the inputs instead of sorting them
	want   string // a part of the error; "": the sort succeeds
}

const impossible = "all inputs can have at most 1 EiB"

// hostileInputs contains headers with wrong numbers, and compressed streams that expand
// enormously. The memory limit must hold, and each sort must end with an error or an output.
var hostileInputs = []hostile{
	{name: "sosd of 2^64-1 keys", spec: sosdSpec, input: lyingSosd(math.MaxUint64), want: "is impossible"},
	{name: "sosd of 2^60-1 keys", spec: sosdSpec, input: lyingSosd(1<<60 - 1), want: impossible},
	{name: "sosd of 2^50 keys", spec: sosdSpec, input: lyingSosd(1 << 50), want: "the sort needs"},
	{name: "counts whose sum overflows", spec: format.Spec{Format: "sosd", Type: "u32"}, inputs: 3,
		input: gzipped(lyingSosd(1<<60 - 1)), want: impossible},
	{name: "npy of 2^62 bytes", spec: npySpec, input: npyOf("'|u1'", "4611686018427387904"), want: impossible},
	{name: "npy of 2^63 bytes", spec: npySpec, input: npyOf("'<u8'", "1152921504606846976"), want: "impossibly large"},
	{name: "npy of many digits", spec: npySpec, input: npyOf("'<u8'", strings.Repeat("9", 100_000)), want: "999 is not"},
	{name: "npy of many items", spec: npySpec, want: "field 1 is",
		input: npyOf("["+strings.Repeat("1,", 60_000)+"]", "1")},
	{name: "npy of many lists", spec: npySpec, want: "field () is",
		input: npyOf("["+strings.Repeat("[],", 40_000)+"]", "1")},
	{name: "npy in npy in npy", spec: npySpec, want: "exceeded max depth",
		input: npyOf(strings.Repeat("[('a',", 12_000)+"'<u8'"+strings.Repeat(")]", 12_000), "1")},
	{name: "npy of a header of 4 GiB", spec: npySpec, want: "is more than",
		input: text("\x93NUMPY\x02\x00\xff\xff\xff\xff")},
	{name: "zstd with the largest window", spec: keySpec, limit: 64, want: "needs a window of more than 16 MiB",
		input: text("(\xb5/\xfd\x00\xff\x01\x00\x00")},
	{name: "zstd of 2^63 bytes", spec: keySpec, limit: 64, want: "needs a window of more than 16 MiB",
		input: text("(\xb5/\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00")},
	{name: "zstd with a dictionary", spec: keySpec, limit: 64, want: "unknown dictionary",
		input: text("(\xb5/\xfd\x23\x39\x30\x00\x00\x08\x01\x00\x00")},
	{name: "zstd whose second frame has a large window", spec: keySpec, limit: 256, want: "window of more than 8 MiB",
		input: text("(\xb5/\xfd\x00\x00\x01\x00\x00" + "(\xb5/\xfd\x00\x80\x01\x00\x00")},
	{name: "zstd bomb with a window of 16 MiB", spec: keySpec, limit: 64, input: windowBomb(16 << 20)},
	{name: "windows that are merged at once", spec: keySpec, limit: 128, inputs: 4, merge: true,
		input: windowBomb(32 << 20)},
	{name: "gzip bomb", spec: keySpec, input: gzipped(zeros(bombBytes))},
	{name: "gzip with an endless name", spec: keySpec, want: "invalid header",
		input: text("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff" + strings.Repeat("a", 5000))},
	{name: "gzip of many empty members", spec: keySpec, input: repeated(10_000, gzipped(zeros(0)))},
	{name: "s2 of a block of 4 GiB", spec: keySpec, limit: 32, want: "corrupt",
		input: text("\xff\x06\x00\x00S2sTwO\x00\x0a\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x0f\x00")},
	{name: "bzip2 bomb", spec: keySpec, want: "bzip2", input: filled("BZh91AY&SY", 1<<20)},
}

var (
	keySpec  = format.Spec{Type: "u64"}
	npySpec  = format.Spec{Format: "npy"}
	sosdSpec = format.Spec{Format: "sosd", Type: "u64"}
)

const bombBytes = 64 << 20

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// filled writes begin and then n zeros. It generates the zeros during the write, because the
// test's own memory would count towards the memory of each sort.
func filled(begin string, n int64) func(io.Writer) error {
	return func(w io.Writer) error {
		zeros, err := os.Open("/dev/zero")
		if err != nil {
			return err
		}
		defer zeros.Close()
		_, err = io.Copy(w, io.MultiReader(strings.NewReader(begin), io.LimitReader(zeros, n)))
		return err
	}
}

// zeros compress well.
func zeros(n int64) func(io.Writer) error { return filled("", n) }

func repeated(times int, input func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		var once bytes.Buffer
		err := input(&once)
		for range times {
			_, failed := w.Write(once.Bytes())
			err = errors.Join(err, failed)
		}
		return err
	}
}

// lyingSosd writes far fewer keys than its header says, but more than a plan samples.
func lyingSosd(keys uint64) func(io.Writer) error {
	return filled(string(binary.LittleEndian.AppendUint64(nil, keys)), 2<<20)
}

// npyOf returns an array of 64 bytes with a header of version 2.
func npyOf(dtype, records string) func(io.Writer) error {
	header := "{'descr': " + dtype + ", 'fortran_order': False, 'shape': (" + records + ",)}\n"
	size := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(header)))
	return filled(string(size)+header, 64)
}

func gzipped(input func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z, err := format.NewWriter(w, format.Gzip, 1)
		if err != nil {
			return err
		}
		return errors.Join(input(z), z.Close())
	}
}

// windowBomb writes a small zstd frame of many zeros that requires a large window.
func windowBomb(window int) func(io.Writer) error {
	return func(w io.Writer) error {
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
		if err != nil {
			return err
		}
		return errors.Join(zeros(bombBytes)(z), z.Close())
	}
}

// hostileChild is set in the process that reads a hostile input: see memoryChild.
const hostileChild = "EXTSORT_TEST_HOSTILE"

// TestHostileInputs reads each hostile input in a separate process, from a file and from a pipe.
func TestHostileInputs(t *testing.T) {
	if os.Getenv(hostileChild) != "" || testfiles.Race || runtime.GOOS != "linux" {
		t.Skip("not with the race detector, and only where the system tells the memory in use")
	}
	t.Parallel()
	for i, h := range hostileInputs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			in := filepath.Join(t.TempDir(), "in")
			f := testfiles.Create(t, in)
			if err := errors.Join(h.input(f), f.Close()); err != nil {
				t.Fatal(err)
			}
			for _, piped := range []bool{false, true} {
				if piped && h.inputs > 1 {
					continue
				}
				child := exec.Command(os.Args[0], "-test.run", "^TestReadHostileInput$", "-test.v")
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %t %s", hostileChild, i, piped, in))
				if said, err := child.CombinedOutput(); err != nil {
					t.Errorf("piped %t: %v\n%s", piped, err, said)
				}
			}
		})
	}
}

// TestReadHostileInput is the sort or the merge that TestHostileInputs starts in a process.
func TestReadHostileInput(t *testing.T) {
	var i int
	var piped bool
	var in string
	if n, _ := fmt.Sscan(os.Getenv(hostileChild), &i, &piped, &in); n != 3 {
		t.Skip("run by TestHostileInputs")
	}
	debug.SetGCPercent(50) // as the command does
	h := hostileInputs[i]
	limit := max(h.limit, 16) << 20
	opt := Options{Record: h.spec, MemoryBytes: limit, Workers: 2, Verify: true, Devices: []string{"cpu"},
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
	for range max(h.inputs, 1) {
		opt.Inputs = append(opt.Inputs, in)
	}
	if piped {
		opt.pipe(t, in)
	}
	run := Sort
	if h.merge {
		run = mergeAs
	}
	endPeak := engine.WatchPeak()
	_, err := run(t.Context(), opt)
	if peak := endPeak(); peak > limit {
		t.Errorf("%d MiB of memory at the peak, the limit is %d MiB", peak>>20, limit>>20)
	}
	refused := err != nil && strings.Contains(err.Error(), h.want) && len(err.Error()) < 600
	// For a file, this is detected immediately.
	cutShort := err != nil && !piped && strings.Contains(err.Error(), "the file was cut short")
	if (h.want != "" || err != nil) && !(h.want != "" && refused) && !cutShort {
		t.Errorf("error %v, want %q", err, h.want)
	}
}
