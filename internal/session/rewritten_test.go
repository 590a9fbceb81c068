package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker"
)

// rewrittenData is a dataset whose file is modified after it was read completely, but before the
// sort checks it for changes.
type rewrittenData struct {
	chunker.Dataset
	name string
	grow bool
}

func (d rewrittenData) Check(warn func(string)) error {
	f, err := os.OpenFile(d.name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	at := int64(0)
	if info, failed := f.Stat(); d.grow && failed == nil {
		at = info.Size()
	}
	_, err = f.WriteAt(make([]byte, 8), at)
	later := time.Now().Add(time.Minute)
	return errors.Join(err, f.Close(), os.Chtimes(d.name, later, later), d.Dataset.Check(warn))
}

// TestRewrittenInput changes an input while it is sorted, merged and checked. The call fails
// without an output. Bytes that are appended are ignored, with a warning.
func TestRewrittenInput(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := reference(t, k.layout(t), k.make(t, "uniform", 5000, seeded(t)), Options{})
	for way, run := range everyWay() {
		for _, grow := range []bool{false, true} {
			file, warnings := writeFile(t, data), ""
			opt := small(Options{Record: k.spec, Inputs: []string{file}, TempDirs: []string{t.TempDir()},
				Warn: func(message string) { warnings += message }})
			if way != "check" {
				opt.Output = filepath.Join(t.TempDir(), "out")
			}
			opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return rewrittenData{d, file, grow} }
			err := run(t.Context(), opt)
			_, missing := os.Stat(opt.Output)
			written := missing == nil || way == "check"
			switch {
			case grow && (err != nil || !written || !strings.Contains(warnings, file+": the file grew")):
				t.Errorf("%s, grown: error %v, warnings %q, output: %v", way, err, warnings, missing)
			case !grow && (err == nil || !strings.Contains(err.Error(), file+": the file was written to") || missing == nil):
				t.Errorf("%s, rewritten: error %v, output: %v", way, err, missing)
			}
		}
	}
}
