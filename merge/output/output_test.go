package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

var errInjected = errors.New("injected fault")

// faults makes operation number failAt fail, counted from 0.
type faults struct {
	named  bool // unnamed files are not supported
	failAt int
	count  int
	failed string // the operation that failed
}

func (f *faults) step(operation string) error {
	if f.named && operation == "create output" {
		return errors.ErrUnsupported
	}
	f.count++
	if f.count-1 == f.failAt {
		f.failed = operation
		return errInjected
	}
	return nil
}

// create begins an output of records under name.
func create(name string, fault func(string) error, opt Options) (*Sink, error) {
	out, err := Open(context.Background(), name, opt.File(FileOptions{Fault: fault}))
	if err != nil {
		return nil, err
	}
	return NewSink(context.Background(), out, opt)
}

// writeThree writes a small output with a header and two blocks, the second first.
func writeThree(name string, fault func(string) error) error {
	header := func(records int64) []byte { return fmt.Appendf(nil, "n=%02d", records) }
	sink, err := create(name, fault, Options{RecordSize: 2, Records: 5, Header: header})
	if err != nil {
		return err
	}
	err = errors.Join(
		sink.WriteBlock(context.Background(), 2, []byte("cc")),
		sink.WriteBlock(context.Background(), 0, []byte("aabb")))
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(context.Background(), 3)
}

const writtenThree = "n=03aabbcc"

// lateContext is a context whose cancellation is seen by Err, but not yet by Done: a select then takes
// another case, as it may also do when both are ready.
type lateContext struct {
	context.Context
}

func (lateContext) Done() <-chan struct{} { return nil }

// TestCancelledSyncLeavesNoFile cancels an output at the moment that its sync ends, or while a
// checkpoint notes it. The file must not appear.
func TestCancelledSyncLeavesNoFile(t *testing.T) {
	for _, at := range []string{"sync output", "complete"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		name := filepath.Join(t.TempDir(), "out")
		fault := func(operation string) error {
			if operation == at {
				cancel(errInjected)
			}
			return nil
		}
		opt := FileOptions{Fault: fault, Complete: func(*os.File) error { return fault("complete") }}
		file, err := Open(ctx, name, (&Options{RecordSize: 1}).File(opt))
		if err != nil {
			t.Fatal(err)
		}
		err = file.Commit(lateContext{ctx}, 0)
		if left := testfiles.Names(t, filepath.Dir(name)); !errors.Is(err, errInjected) || len(left) > 0 {
			t.Errorf("%s: a cancelled output left %q, error %v", at, left, err)
		}
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	b := testfiles.Read(t, name)
	return string(b)
}

// TestOutputSurvivesEveryFault makes each operation fail in turn and checks the remaining files.
func TestOutputSurvivesEveryFault(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			for failAt := 0; ; failAt++ {
				folder := t.TempDir()
				name := filepath.Join(folder, "out")
				if exists {
					if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
						t.Fatal(err)
					}
				}
				fault := &faults{named: named, failAt: failAt}
				err := writeThree(name, fault.step)
				if err == nil {
					if failAt < 8 || content(t, name) != writtenThree {
						t.Fatalf("after %d operations: %q", failAt, content(t, name))
					}
					break
				}
				if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), "out") {
					t.Errorf("operation %d failed, the error is %v", failAt, err)
				}
				after := fault.failed == "sync directory" || fault.failed == "close output" && (!named || renamesOpen)
				checkLeftovers(t, folder, failAt, after, exists)
			}
		}
	}
}

// checkLeftovers accepts the old output. It also accepts the new one if the failed operation comes
// after naming: the sync of the directory, or the closing of a file that was renamed while it was
// open.
func checkLeftovers(t *testing.T, folder string, failAt int, named, exists bool) {
	t.Helper()
	list := testfiles.Names(t, folder)
	switch {
	case len(list) == 0 && !exists:
	case len(list) != 1 || list[0] != "out":
		t.Errorf("operation %d failed, the folder has %q", failAt, list)
	default:
		got := content(t, filepath.Join(folder, "out"))
		if !(exists && got == "old") && !(named && got == writtenThree) {
			t.Errorf("operation %d failed, the output is %q", failAt, got)
		}
	}
}

func TestOutputAbort(t *testing.T) {
	for _, named := range []bool{false, true} {
		folder := t.TempDir()
		name := filepath.Join(folder, "out")
		fault := &faults{named: named, failAt: -1}
		sink, err := create(name, fault.step, Options{RecordSize: 1, Records: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.WriteBlock(context.Background(), 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sink.Abort(), sink.Abort()); err != nil {
			t.Error(err)
		}
		if list := testfiles.Names(t, folder); len(list) > 0 {
			t.Errorf("left after Abort: %q", list)
		}
	}
}

func TestOutputKeepsPermissionsAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions and links of this kind")
	}
	folder := t.TempDir()
	target, link := filepath.Join(folder, "data"), filepath.Join(folder, "link")
	err := errors.Join(
		os.WriteFile(target, []byte("old"), 0o600), os.Chmod(target, 0o604), os.Symlink("data", link))
	if err != nil {
		t.Fatal(err)
	}
	if err := writeThree(link, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(target)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o604 || content(t, target) != writtenThree {
		t.Errorf("the target has mode %v and %q", info.Mode(), content(t, target))
	}
	if to, err := os.Readlink(link); err != nil || to != "data" {
		t.Errorf("the link now leads to %q, %v", to, err)
	}
}

func TestOutputThroughDanglingLink(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	if err := os.Symlink("data", link); err != nil {
		t.Skip(err)
	}
	if err := writeThree(link, nil); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(folder, "data")); got != writtenThree {
		t.Errorf("the target has %q", got)
	}
}

func TestOutputRefuses(t *testing.T) {
	folder := t.TempDir()
	loop := filepath.Join(folder, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{folder, loop, filepath.Join(folder, "none", "out")} {
		if err := writeThree(name, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("output to %s: %v", name, err)
		}
	}
}

func TestOutputToFIFO(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	makeFIFO(t, name)
	read := make(chan string)
	go func() {
		b, err := os.ReadFile(name)
		read <- fmt.Sprint(string(b), err)
	}()
	sink, err := create(name, nil, Options{RecordSize: 2, Records: -1})
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() { second <- sink.WriteBlock(context.Background(), 2, []byte("cc")) }()
	err = errors.Join(sink.WriteBlock(context.Background(), 0, []byte("aabb")), <-second, sink.Commit(t.Context(), 3))
	if got := <-read; err != nil || got != "aabbcc<nil>" {
		t.Errorf("the FIFO delivered %q, the sink says %v", got, err)
	}
}

func TestOutputToNull(t *testing.T) {
	out := openOutput(t, os.DevNull, FileOptions{})
	if _, ok := out.(*stream); !ok {
		t.Errorf("%s is not written as a stream", os.DevNull)
	}
	if _, err := out.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if err := out.Commit(t.Context(), -1); err != nil {
		t.Error(err)
	}
}

// TestOutputWrittenInSequence uses an Output as a compressor does: its size is the number of
// bytes written.
func TestOutputWrittenInSequence(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out := openOutput(t, name, FileOptions{})
	for range 3 {
		if _, err := out.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "abcabcabc" {
		t.Errorf("the file has %q", got)
	}
}

func TestStreamHeaderMustBeKnown(t *testing.T) {
	header := func(n int64) []byte { return bytes.Repeat([]byte{byte(n)}, 8) }
	opt := Options{RecordSize: 1, Records: -1, Header: header}
	if _, err := create(os.DevNull, nil, opt); err == nil || !strings.Contains(err.Error(), "number of records") {
		t.Errorf("a header with an unknown count was accepted: %v", err)
	}
	opt.Records = 3
	sink, err := create(os.DevNull, nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Commit(t.Context(), 2); err == nil {
		t.Error("2 records under a header of 3 were accepted")
	}
}

// TestWriteBehind writes small blocks in several orders. Almost all of them must go to the disk
// before Commit, and none twice.
func TestWriteBehind(t *testing.T) {
	const block, blocks = 100 << 10, 100
	inTurn := func(i int) int { return i }
	for name, order := range map[string]func(i int) int{
		"in turn":   inTurn,
		"backwards": func(i int) int { return blocks - 1 - i },
		"mixed":     func(i int) int { return i * 37 % blocks },
		"stream":    inTurn,
	} {
		out := openFile(t, filepath.Join(t.TempDir(), "out"), FileOptions{})
		told := map[int64]int64{} // bytes by offset
		writer := newPlainWriter(out.rawFile)
		writer.send = func(_ *os.File, offset, n int64) { told[offset] += n }
		out.writer = writer
		for i := range blocks {
			var err error
			if name == "stream" {
				_, err = out.Write(make([]byte, block))
			} else {
				_, err = out.WriteAt(make([]byte, block), int64(order(i))*block)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all, next := int64(0), int64(0)
		for _, from := range slices.Sorted(maps.Keys(told)) {
			if from < next || told[from] < writeBehindBytes {
				t.Errorf("%s: %d bytes from %d on, after those up to %d", name, told[from], from, next)
			}
			all, next = all+told[from], from+told[from]
		}
		most := int64(blocks * block)
		if all > most || name != "mixed" && all < most-2*writeBehindBytes || all < most/2 {
			t.Errorf("%s: %d of %d bytes went to the disk early", name, all, most)
		}
		if err := out.Abort(); err != nil {
			t.Error(err)
		}
	}
}

// openOutput begins an output.
func openOutput(t *testing.T, name string, opt FileOptions) Output {
	t.Helper()
	out, err := Open(t.Context(), name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// openFile begins a File.
func openFile(t *testing.T, name string, opt FileOptions) *File {
	t.Helper()
	out := openOutput(t, name, opt)
	file, ok := out.(*File)
	if !ok {
		t.Fatalf("%s is a %T", name, out)
	}
	return file
}

// notedFile records all writes and fails write number failAt.
type notedFile struct {
	fileWriter
	mu     sync.Mutex
	writes [][2]int64 // offset, bytes
	failAt int        // counted from 1; 0: none
}

func (f *notedFile) WriteAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	f.writes = append(f.writes, [2]int64{offset, int64(len(p))})
	failed := len(f.writes) == f.failAt
	f.mu.Unlock()
	if failed {
		return 0, errInjected
	}
	return f.fileWriter.WriteAt(p, offset)
}

func openNoted(t *testing.T, name string) (*File, *notedFile) {
	t.Helper()
	out := openFile(t, name, FileOptions{})
	file := &notedFile{fileWriter: out.writer}
	out.writer = file
	return out, file
}

// TestWriteAtPieces checks that a large write is divided into pieces that end at multiples of the
// piece size, and that after an error the result counts the bytes already written.
func TestWriteAtPieces(t *testing.T) {
	data := make([]byte, 3*pieceBytes+1000)
	rand.NewChaCha8([32]byte{2}).Read(data)
	const offset = pieceBytes/2 + 7
	write := func(failAt int) ([][2]int64, int, []byte, error) {
		name := filepath.Join(t.TempDir(), "out")
		out, file := openNoted(t, name)
		file.failAt = failAt
		n, err := out.WriteAt(data, offset)
		if err := out.Commit(t.Context(), offset+int64(n)); err != nil {
			t.Fatal(err)
		}
		content, err2 := os.ReadFile(name)
		if err2 != nil {
			t.Fatal(err2)
		}
		return file.writes, n, content[offset:], err
	}
	writes, n, content, err := write(0)
	want := [][2]int64{
		{offset, pieceBytes - offset}, {pieceBytes, pieceBytes}, {2 * pieceBytes, pieceBytes},
		{3 * pieceBytes, offset + int64(len(data)) - 3*pieceBytes},
	}
	if err != nil || n != len(data) || !slices.Equal(writes, want) || !bytes.Equal(content, data) {
		t.Errorf("%d bytes, %v, in writes %v, want %v", n, err, writes, want)
	}
	_, n, content, err = write(3)
	if !errors.Is(err, errInjected) || n != 2*pieceBytes-offset || !bytes.Equal(content, data[:n]) {
		t.Errorf("the third write fails: %d bytes, %v", n, err)
	}
}

// TestOutputTriesOtherNames pretends that a name is already taken, once for each operation that
// gives a name.
func TestOutputTriesOtherNames(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			name := filepath.Join(t.TempDir(), "out")
			if exists {
				testfiles.Write(t, name, []byte("old"))
			}
			var done []string
			taken := func(operation string) error {
				if named && operation == "create output" {
					return errors.ErrUnsupported
				}
				done = append(done, operation)
				gives := operation == "link output" || operation == "open output"
				if gives && slices.Index(done, operation) == len(done)-1 && !(exists && operation == "open output") {
					return os.ErrExist
				}
				return nil
			}
			if err := writeThree(name, taken); err != nil || content(t, name) != writtenThree {
				t.Errorf("named %t, exists %t: %q, %v after %q", named, exists, content(t, name), err, done)
			}
			if left := testfiles.Names(t, filepath.Dir(name)); len(left) != 1 {
				t.Errorf("named %t, exists %t: the folder has %q", named, exists, left)
			}
		}
	}
}
