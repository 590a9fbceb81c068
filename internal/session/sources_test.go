package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// keptSink is a Sink that records how it ended.
type keptSink struct {
	bytes.Buffer
	ends   []string
	failed error // the error of Commit
	write  error
}

func (s *keptSink) Write(p []byte) (int, error) {
	if s.write != nil {
		return 0, s.write
	}
	return s.Buffer.Write(p)
}

func (s *keptSink) Commit(context.Context) error {
	s.ends = append(s.ends, "commit")
	return s.failed
}

func (s *keptSink) Abort() error {
	s.ends = append(s.ends, "abort")
	return nil
}

// TestFailingSink checks that a sink that fails or is refused is aborted once, with every strategy. The rows of
// testdata/sort commit and cancel sinks.
func TestFailingSink(t *testing.T) {
	t.Parallel()
	k, failed := kindNamed("u64"), errors.New("the store is full")
	data := k.make(t, "uniform", 5000, seeded(t))
	for _, strategy := range anyStrategy {
		for _, c := range []struct {
			sink keptSink
			opt  Options
			ends string
			err  string
		}{
			{keptSink{failed: failed}, Options{}, "commit abort", "finish the output: the store is full"},
			{keptSink{write: failed}, Options{}, "abort", "the store is full"},
			{keptSink{}, Options{Output: "out"}, "abort", "leave Output and Stdout empty"},
			{keptSink{}, Options{Limit: -2}, "abort", "Limit -2"},
		} {
			opt := small(c.opt)
			opt.Record, opt.Strategy, opt.Sink, opt.TempDirs = k.spec, strategy, &c.sink, []string{t.TempDir()}
			opt.Sources = []Source{{At: bytes.NewReader(data), Size: int64(len(data))}}
			_, err := Sort(t.Context(), opt)
			got := strings.Join(c.sink.ends, " ")
			if got != c.ends || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("strategy %s, %s: ended by %s: %v", strategy, describe(opt), got, err)
			}
		}
	}
}

// lyingReader contains fewer bytes than it claims, or fails at some offset.
type lyingReader struct {
	from   io.ReaderAt
	failAt int64
}

func (l lyingReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > l.failAt {
		return 0, errors.New("the connection was lost")
	}
	return l.from.ReadAt(p, off)
}

// TestSourceFaults checks that errors name the source and the byte.
func TestSourceFaults(t *testing.T) {
	t.Parallel()
	data := make([]byte, 100<<10)
	for _, c := range []struct {
		name   string
		source Source
		want   string
	}{
		{"no name", Source{At: bytes.NewReader(data), Size: 9}, "input 1: partial last record at byte 8"},
		{"negative", Source{Name: "s", At: bytes.NewReader(data), Size: -1}, "s: its size is -1 bytes"},
		{"too large", Source{Name: "s", At: bytes.NewReader(data), Size: 200 << 10}, "read s at byte "},
		{"empty, it says", Source{Name: "s", At: bytes.NewReader(nil), Size: 8}, "read s: "},
		{"lost", Source{Name: "s", At: lyingReader{bytes.NewReader(data), 50 << 10}, Size: 100 << 10},
			"the connection was lost"},
		{"lost at once", Source{Name: "s", At: lyingReader{}, Size: 8}, "read s: the connection was lost"},
		{"reader", Source{Name: "s", Reader: io.MultiReader(bytes.NewReader(data), brokenReader{})}, "read s at byte 102400"},
	} {
		opt := Options{Record: format.Spec{Type: "u64"}, Sources: []Source{c.source}, Stdout: io.Discard}
		_, err := Sort(t.Context(), opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestSourcesAreChecked checks that sources are checked, and named in errors, like files.
func TestSourcesAreChecked(t *testing.T) {
	t.Parallel()
	object := Source{Name: "object", At: strings.NewReader("acb"), Size: 3}
	opt := Options{Record: format.Spec{Type: "u8"}, Sources: []Source{object}}
	report, err := Check(t.Context(), checkOptions(opt))
	if disorder, ok := errors.AsType[*DisorderError](err); !ok || disorder.File != "object" || report.Record != 2 {
		t.Errorf("Check: %v", err)
	}
	opt.Sink = &keptSink{}
	if _, err = mergeAs(t.Context(), opt); err == nil || !strings.HasPrefix(err.Error(), "object: record 3 ") {
		t.Errorf("Merge: %v", err)
	}
	plan, err := Plan(t.Context(), opt)
	if err != nil || plan.Records != 3 {
		t.Errorf("Plan: %v, %v", plan, err)
	}
}

// TestSourceCheckpoint checks that a checkpoint continues only with a source of the same version.
func TestSourceCheckpoint(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	r := seeded(t)
	data := k.make(t, "uniform", 400, r)
	opt := keptSort(t, k, data, Options{})
	opt.Inputs = nil
	opt.Sources = []Source{{Name: "object", At: bytes.NewReader(data), Size: int64(len(data))}}
	if _, err := Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "Version") {
		t.Errorf("no version: %v", err)
	}
	opt.Sources[0].Version = "1"
	failing := opt
	failing.faults.output = func(operation string) error {
		if operation == "sync output" {
			return errors.New("no room")
		}
		return nil
	}
	if _, err := Sort(t.Context(), failing); err == nil {
		t.Error("nothing failed")
	}
	opt.Sources[0].Version = "2"
	if _, err := Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "object of 2") {
		t.Errorf("another version: %v", err)
	}
	opt.Sources[0].Version = "1"
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(opt.Output)
	if err != nil || !bytes.Equal(got, reference(t, k.layout(t), data, Options{})) {
		t.Errorf("wrong bytes: %v", err)
	}
}
