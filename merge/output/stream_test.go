package output

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// brokenStream fails at call number failAt, counted from 1.
type brokenStream struct {
	bytes.Buffer
	failAt, calls int
}

var errBroken = errors.New("broken pipe")

func (p *brokenStream) Write(b []byte) (int, error) {
	if p.calls++; p.calls == p.failAt {
		return 0, errBroken
	}
	return p.Buffer.Write(b)
}

// TestStreamSinkFails makes one block fail while several goroutines write. The blocks before it
// must be written, and all others must fail.
func TestStreamSinkFails(t *testing.T) {
	const blocks, failAt = 20, 5
	to := brokenStream{failAt: failAt}
	s := NewStreamSink(&to, 1)
	results := make([]error, blocks)
	var writers sync.WaitGroup
	for first := range blocks {
		writers.Go(func() { results[first] = s.WriteBlock(t.Context(), int64(first), []byte("x")) })
	}
	writers.Wait()
	for i, err := range results {
		if errors.Is(err, errBroken) != (i >= failAt-1) {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if err := s.WriteBlock(t.Context(), blocks, []byte("x")); !errors.Is(err, errBroken) || to.Len() != failAt-1 {
		t.Errorf("a later block: %v, after %d bytes", err, to.Len())
	}
}

// TestStreamNoticesMissingRecords commits streams with a wrong number of records.
func TestStreamNoticesMissingRecords(t *testing.T) {
	var to bytes.Buffer
	for records := range int64(4) {
		sink, err := NewSink(t.Context(), &to, Options{RecordSize: 2, Records: -1})
		if err == nil {
			err = sink.WriteBlock(t.Context(), 0, []byte("aabb"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Commit(t.Context(), records); (err == nil) != (records == 2) {
			t.Errorf("2 records were written of %d: %v", records, err)
		}
	}
}

// TestStreamSinkWritesOnce checks that a record cannot be written twice.
func TestStreamSinkWritesOnce(t *testing.T) {
	var to bytes.Buffer
	s := NewStreamSink(&to, 1)
	if err := s.WriteBlock(t.Context(), 0, []byte("xyz")); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteBlock(t.Context(), 2, []byte("z")); err == nil || to.Len() != 3 || s.turns.Finish(3) != nil {
		t.Errorf("record 2 was written twice: %v, %d bytes", err, to.Len())
	}
}

// TestCountsThatDoNotFit writes the maximum number of records that a header can announce, and one
// more. The number is known in advance or only at the end.
func TestCountsThatDoNotFit(t *testing.T) {
	for _, records := range []int64{2, 3} {
		for _, known := range []bool{true, false} {
			for _, isFile := range []bool{true, false} {
				opt := Options{RecordSize: 1, Records: -1, MaxRecords: 2,
					Header: func(records int64) []byte { return []byte{byte('0' + records)} },
					Tail:   func() ([]byte, error) { return []byte("tail"), nil },
					Keep:   func() (*spill.RunWriter, error) { return keptRun(t) }}
				if known {
					opt.Records = records
				}
				name := filepath.Join(t.TempDir(), "out")
				var to io.Writer = &bytes.Buffer{}
				if isFile {
					out := openOutput(t, name, opt.File(FileOptions{}))
					to = out
				}
				sink, err := NewSink(t.Context(), to, opt)
				if err == nil {
					err = sink.WriteBlock(t.Context(), 0, []byte("abc"[:records]))
					err = cmp.Or(err, sink.Commit(t.Context(), records))
				}
				if records > 2 {
					if err == nil || !strings.Contains(err.Error(), "at most 2 records, but the output has 3") {
						t.Errorf("known %t, a file %t: %v", known, isFile, err)
					}
					continue
				}
				got, want := []byte(nil), "2abtail"
				if buffer, ok := to.(*bytes.Buffer); ok {
					got = buffer.Bytes()
				} else {
					got, _ = os.ReadFile(name)
				}
				if err != nil || string(got) != want {
					t.Errorf("known %t, a file %t: %q, %v", known, isFile, got, err)
				}
			}
		}
	}
}

// TestStreamHasBegun checks that a stream has begun when its first byte is written, with and
// without a compressor, and not before or if the first write fails.
func TestStreamHasBegun(t *testing.T) {
	for _, compression := range []format.Compression{format.None, format.Gzip} {
		var to bytes.Buffer
		sink, err := NewSink(t.Context(), &to, Options{RecordSize: 1, Records: -1, Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		if sink.Begun() {
			t.Errorf("%v: the stream has begun with %d bytes", compression, to.Len())
		}
		if err := sink.WriteBlock(t.Context(), 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if begun := sink.Begun(); begun != (to.Len() > 0) {
			t.Errorf("%v: begun is %t after %d bytes", compression, begun, to.Len())
		}
		if err := sink.Commit(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if !sink.Begun() {
			t.Errorf("%v: the stream has not begun after %d bytes", compression, to.Len())
		}
	}

	broken := brokenStream{failAt: 1}
	sink, err := NewSink(t.Context(), &broken, Options{RecordSize: 1, Records: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.WriteBlock(t.Context(), 0, []byte("x")); !errors.Is(err, errBroken) || sink.Begun() {
		t.Errorf("the first write fails: begun %t, error %v", sink.Begun(), err)
	}
	if err := sink.Abort(); err != nil {
		t.Error(err)
	}
}

// TestOverwriteAsksOnce checks that an output over an input asks once whether it may begin, and passes
// the state of the file. A writer that is not a file has none.
func TestOverwriteAsksOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	testfiles.Write(t, name, make([]byte, 100))
	file := testfiles.Open(t, name, os.O_RDWR)
	for size, to := range map[int64]io.Writer{100: file, -1: &bytes.Buffer{}} {
		asked := 0
		allow := func(now os.FileInfo) error {
			asked++
			if (now != nil) != (size >= 0) || now != nil && now.Size() != size {
				t.Errorf("a file of %d bytes: %v", size, now)
			}
			return nil
		}
		o := newOverwrite(to, Options{InPlace: allow, Compression: format.Gzip})
		if err := errors.Join(o.begin(), o.begin()); err != nil || asked != 1 {
			t.Errorf("a file of %d bytes: asked %d times, error %v", size, asked, err)
		}
	}
}

// TestOverwriteIsSynced checks that a file that was an input is durable when Commit returns, and that
// other redirected files are not synced.
func TestOverwriteIsSynced(t *testing.T) {
	for _, row := range []struct {
		isInput bool
		failing bool
	}{{true, false}, {true, true}, {false, true}} {
		name := filepath.Join(t.TempDir(), "in")
		testfiles.Write(t, name, make([]byte, 100))
		file := testfiles.Open(t, name, os.O_RDWR)
		synced := 0
		opt := Options{RecordSize: 1, Records: 3, Fault: func(operation string) error {
			if operation != "sync output" {
				return nil
			}
			synced++
			if row.failing {
				return errBroken
			}
			return nil
		}}
		if row.isInput {
			opt.InPlace = func(os.FileInfo) error { return nil }
		}
		sink, err := NewSink(t.Context(), file, opt)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(sink.WriteBlock(t.Context(), 0, []byte("abc")), sink.Commit(t.Context(), 3))
		if (synced == 1) != row.isInput || errors.Is(err, errBroken) != (row.isInput && row.failing) {
			t.Errorf("%+v: synced %d times, error %v", row, synced, err)
		}
	}
}
