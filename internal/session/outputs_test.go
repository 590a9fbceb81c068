package session

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/extsort/extsort/format/brotli" // registers its library
	"github.com/extsort/extsort/internal/testfiles"
)

// npyRows puts the header before rows of four bytes a column that NumPy would write.
func npyRows(descr string, recs []byte, columns int) []byte {
	shape := fmt.Sprintf("(%d, %d)", len(recs)/4/columns, columns)
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return slices.Concat([]byte("\x93NUMPY\x01\x00v\x00"), []byte(text), recs)
}

// bigannFile puts the number and the dimension of vectors of size bytes before them.
func bigannFile(recs []byte, size, dimension int) []byte {
	header := binary.LittleEndian.AppendUint32(nil, uint32(len(recs)/size))
	header = binary.LittleEndian.AppendUint32(header, uint32(dimension))
	return append(header, recs...)
}

// zipped returns an archive with one array.
func zipped(t *testing.T, array []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	w, err := archive.Create("array.npy")
	if err == nil {
		_, err = w.Write(array)
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// paddedNpy returns an array of u64 with a header of the given size, as written by old versions
// of NumPy and by other programs.
func paddedNpy(header int, recs []byte) []byte {
	text := fmt.Sprintf("{'descr': '<u8', 'fortran_order': False, 'shape': (%d,), }", len(recs)/8)
	text += strings.Repeat(" ", header-10-1-len(text)) + "\n"
	begin := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	return slices.Concat(begin, []byte(text), recs)
}

func swapRecords(recs []byte, size, i int) {
	a, b := recs[i*size:(i+1)*size], recs[(i+1)*size:(i+2)*size]
	for at := range a {
		a[at], b[at] = b[at], a[at]
	}
}

// brokenPipe is a stream whose reader goes away.
type brokenPipe struct{ after int }

var errNobodyReads = errors.New("nobody reads")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errNobodyReads
	}
	return len(p), nil
}

// TestPlan checks that a plan says what Sort then does, and changes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	r := seeded(t)
	for _, strategy := range anyStrategy {
		dist := "uniform"
		if strategy == Tally {
			dist = "few"
		}
		data := k.make(t, dist, 5000, r)
		opt := small(Options{Record: k.spec, Strategy: strategy, Inputs: []string{writeFile(t, data)}, Output: t.TempDir() +
			"/out"})
		plan, err := Plan(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if left := testfiles.Names(t, filepath.Dir(opt.Output)); len(left) > 0 {
			t.Errorf("a plan has made %q", left)
		}
		report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
		if plan.Records != 5000 || plan.Strategy != report.Strategy || strategy != Auto && plan.Strategy != strategy {
			t.Errorf("asked for %s, planned %s for %d records, done %s", strategy, plan.Strategy, plan.Records, report.Strategy)
		}
		if len(plan.Considered) < 3 || plan.Seconds <= 0 {
			t.Errorf("the plan is %s, %d candidates, %g s", plan.Strategy, len(plan.Considered), plan.Seconds)
		}
	}
}
