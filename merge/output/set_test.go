package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// byteKeys is the Keyer of one-byte records.
var byteKeys = func() *format.Keyer {
	layout, err := format.Spec{Type: "u8"}.ReadHeader(nil, "")
	if err != nil {
		panic(err)
	}
	keyer, err := format.NewKeyer(layout.Layout())
	if err != nil {
		panic(err)
	}
	return keyer
}()

// cut returns the expected contents of the files of a set.
func cut(recs []byte, split Split, header int) (files [][]byte) {
	rest := recs
	for i := 0; i < split.Files || split.Files == 0 && (i == 0 || len(rest) > 0); i++ {
		share := int(split.Bytes) - header
		if split.Files > 0 {
			share = (len(rest) + split.Files - i - 1) / (split.Files - i)
		}
		n := min(max(share, 1), len(rest))
		for n > 0 && n < len(rest) && rest[n] == rest[n-1] {
			n++
		}
		files = append(files, rest[:n])
		rest = rest[n:]
	}
	return files
}

// readSet reads the files that an index lists, without their headers.
func readSet(t *testing.T, stem string, header int) (files [][]byte) {
	t.Helper()
	var index Index
	if err := json.Unmarshal([]byte(content(t, stem+".index")), &index); err != nil || index.Schema != SetSchema {
		t.Fatalf("the index: %+v, %v", index, err)
	}
	total := int64(0)
	for _, entry := range index.Files {
		file := content(t, filepath.Join(filepath.Dir(stem), entry.fileName()))
		recs := []byte(file[header:])
		first, key := "", ""
		if len(recs) > 0 {
			first, key = fmt.Sprint(recs[0]), fmt.Sprintf("%02x", recs[0])
		}
		if entry.Bytes != int64(len(file)) || entry.Records != int64(len(recs)) || entry.First != first ||
			entry.FirstKey != key {
			t.Errorf("the index has %+v of %q", entry, file)
		}
		if header > 0 && file[:header] != fmt.Sprintf("n=%05d", len(recs)) {
			t.Errorf("%s has %d records, and the header %q", entry.Name, len(recs), file[:header])
		}
		total += entry.Records
		files = append(files, recs)
	}
	if total != index.Records {
		t.Errorf("the index tells of %d records, and has %d", index.Records, total)
	}
	return files
}

// TestSetCuts checks that files end only where the key changes, for blocks of any size in any
// order.
func TestSetCuts(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		recs := make([]byte, r.IntN(300))
		for i := range recs {
			recs[i] = byte(r.IntN(1 + r.IntN(50)))
		}
		slices.Sort(recs)
		split, header := Split{Files: 1 + r.IntN(9)}, 0
		opt := Options{RecordSize: 1, Keyer: byteKeys, Records: int64(len(recs)), Writers: 2}
		if r.IntN(2) == 0 {
			header = 7
			opt.Header = func(records int64) []byte { return fmt.Appendf(nil, "n=%05d", records) }
		}
		if r.IntN(2) == 0 {
			split = Split{Bytes: int64(1 + r.IntN(60))}
		}
		if r.IntN(2) == 0 {
			opt.Records, opt.Keep = -1, func() (*spill.RunWriter, error) { return keptRun(t) }
		}
		stem := filepath.Join(t.TempDir(), "out")
		sink, err := NewSet(t.Context(), stem, nil, split, opt)
		if err != nil {
			t.Fatal(err)
		}
		writeBlocks(t, sink, recs, r)
		if err := sink.Commit(t.Context(), int64(len(recs))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := readSet(t, stem, header), cut(recs, split, header); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("seed %d: %+v of %v: %v, want %v", seed, split, recs, got, want)
		}
		if left := testfiles.Names(t, filepath.Dir(stem)); len(left) != len(cut(recs, split, header))+1 {
			t.Errorf("seed %d: the folder has %q", seed, left)
		}
	}
}

// keptRun begins a run of one-byte records.
func keptRun(t *testing.T) (*spill.RunWriter, error) {
	s, err := spill.New(spill.Options{Folders: []string{t.TempDir()}, Codec: "none", Keyer: byteKeys, ExpectBytes: -1})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	return s.NewRun(spill.Origin{}), nil
}

// writeBlocks writes records as blocks, by several goroutines.
func writeBlocks(t *testing.T, sink *Sink, recs []byte, r *rand.Rand) {
	t.Helper()
	var writers sync.WaitGroup
	for first := 0; first < len(recs); {
		n := min(1+r.IntN(80), len(recs)-first)
		from := first
		writers.Go(func() {
			if err := sink.WriteBlock(t.Context(), int64(from), slices.Clone(recs[from:from+n])); err != nil {
				t.Error(err)
			}
		})
		first += n
	}
	writers.Wait()
}

// TestSetSurvivesEveryFault makes each operation fail in turn. After an error, there must be no file
// of the new set, and the old set must be unchanged, unless the error says that the new set is
// complete. In all cases, the set can be written again.
func TestSetSurvivesEveryFault(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			for failAt := 0; ; failAt++ {
				folder := t.TempDir()
				stem := filepath.Join(folder, "out")
				if exists {
					mustWriteSet(t, stem, "abcd", Split{Bytes: 1})
				}
				fault := &faults{named: named, failAt: failAt}
				err := writeSet(stem, fault.step, "xyz", Split{Files: 2})
				list := testfiles.Names(t, folder)
				all := ""
				if slices.Contains(list, "out.index") {
					all = string(slices.Concat(readSet(t, stem, 0)...))
				}
				switch {
				case err == nil && all == "xyz":
				case err != nil && all == "xyz" && strings.Contains(err.Error(), "it is complete"):
				case err != nil && len(list) == 0 && !exists:
				case err != nil && len(list) == 5 && all == "abcd":
				default:
					t.Errorf("operation %d (%s) failed, the folder has %q: %v", failAt, fault.failed, list, err)
				}
				if err != nil && !errors.Is(err, errInjected) {
					t.Errorf("operation %d failed, the error is %v", failAt, err)
				}
				if fault.failed != "" {
					mustWriteSet(t, stem, "xyz", Split{Files: 2})
				}
				left := slices.DeleteFunc(testfiles.Names(t, folder), isTemp)
				if !slices.Equal(left, []string{"out.000", "out.001", "out.index"}) {
					t.Errorf("operation %d (%s) failed, and %q is left after another set", failAt, fault.failed, left)
				}
				if fault.failed == "" {
					break
				}
			}
		}
	}
}

// TestStalePartStays makes the removal of a part of the old set fail. The new set must be complete,
// with a warning.
func TestStalePartStays(t *testing.T) {
	folder := t.TempDir()
	stem := filepath.Join(folder, "out")
	mustWriteSet(t, stem, "abcd", Split{Bytes: 1})
	var warnings []string
	opt := Options{RecordSize: 1, Keyer: byteKeys, Records: 3, Warn: func(m string) { warnings = append(warnings, m) }}
	fault := func(operation string) error {
		if operation == "remove old part" {
			return errInjected
		}
		return nil
	}
	sink, err := NewSet(t.Context(), stem, fault, Split{Files: 2}, opt)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(sink.WriteBlock(t.Context(), 0, []byte("xyz")), sink.Commit(t.Context(), 3))
	all := string(slices.Concat(readSet(t, stem, 0)...))
	if err != nil || all != "xyz" || len(warnings) != 1 || !strings.Contains(warnings[0], "is complete") {
		t.Errorf("the set has %q, warnings %q, error %v", all, warnings, err)
	}
	mustWriteSet(t, stem, "xyz", Split{Files: 2})
	if left := testfiles.Names(t, folder); len(left) != 3 {
		t.Errorf("%q is left", left)
	}
}

// TestCancelledSet cancels a set in each operation. After an error, the old set must be unchanged.
// Without one, the new set must be complete.
func TestCancelledSet(t *testing.T) {
	outcomes := map[string]bool{}
	for cancelAt := 0; ; cancelAt++ {
		stem := filepath.Join(t.TempDir(), "out")
		mustWriteSet(t, stem, "abcd", Split{Bytes: 1})
		ctx, cancel := context.WithCancelCause(t.Context())
		count := 0
		at := ""
		err := writeSetUntil(ctx, stem, func(operation string) error {
			if count++; count == cancelAt+1 {
				at = operation
				cancel(errInjected)
			}
			return nil
		}, "xyz", Split{Files: 2})
		cancel(nil)
		want := "xyz"
		if err != nil {
			want = "abcd"
		}
		all := string(slices.Concat(readSet(t, stem, 0)...))
		if all != want || err != nil && !errors.Is(err, errInjected) {
			t.Errorf("cancelled in operation %d (%s): the set has %q, error %v", cancelAt, at, all, err)
		}
		outcomes[want] = true
		if at == "" {
			break
		}
	}
	if len(outcomes) != 2 {
		t.Errorf("the only outcome was %v", outcomes)
	}
}

// TestKilledSetIsWrittenAgain copies the directory before each operation, as a kill would leave it.
// Each copy contains the old set, the new one, or an incomplete one. Writing the new set again must
// always succeed.
func TestKilledSetIsWrittenAgain(t *testing.T) {
	for _, stemName := range []string{"out", "o\xffut", strings.Repeat("ü", 120)} {
		folder := t.TempDir()
		stem := filepath.Join(folder, stemName)
		mustWriteSet(t, stem, "abcd", Split{Bytes: 1})
		var copies []string
		err := writeSet(stem, func(string) error {
			copies = append(copies, filepath.Join(t.TempDir(), "copy"))
			return copyFolder(t, copies[len(copies)-1], folder)
		}, "xyz", Split{Files: 2})
		if err != nil {
			t.Fatal(err)
		}
		incomplete := 0
		for i, killed := range copies {
			stem := filepath.Join(killed, stemName)
			_, err := os.Stat(stem + ".index")
			if refused := CheckInput(stem + ".000"); (refused != nil) != (err != nil) {
				t.Errorf("before operation %d: as an input: %v; the index: %v", i, refused, err)
			}
			if err != nil {
				incomplete++
			} else if all := string(slices.Concat(readSet(t, stem, 0)...)); all != "abcd" && all != "xyz" {
				t.Errorf("before operation %d the set has %q", i, all)
			}
			if err := writeSet(stem, nil, "xyz", Split{Files: 2}); err != nil {
				t.Errorf("before operation %d: %v", i, err)
				continue
			}
			if all := string(slices.Concat(readSet(t, stem, 0)...)); all != "xyz" {
				t.Errorf("before operation %d: the set has %q", i, all)
			}
			if left := slices.DeleteFunc(testfiles.Names(t, killed), isTemp); len(left) != 3 {
				t.Errorf("before operation %d: %q is left", i, left)
			}
		}
		if incomplete == 0 {
			t.Error("the set was never incomplete")
		}
	}
}

// copyFolder copies the files of a directory. Their names may contain any bytes.
func copyFolder(t *testing.T, to, from string) error {
	t.Helper()
	err := os.Mkdir(to, 0o700)
	for _, name := range testfiles.Names(t, from) {
		err = errors.Join(err, os.WriteFile(filepath.Join(to, name), []byte(content(t, filepath.Join(from, name))), 0o600))
	}
	return err
}

var temp = regexp.MustCompile(`\.extsort-[0-9a-f]{16}$`)

// isTemp reports whether a name is a temporary name. A later run removes such a file if it knows
// that its owner is dead.
func isTemp(name string) bool { return temp.MatchString(name) }

// TestSetsAtOnce writes the same set from several goroutines at once. The resulting files must
// all be from the same one.
func TestSetsAtOnce(t *testing.T) {
	stem := filepath.Join(t.TempDir(), "out")
	for range 20 {
		var writing sync.WaitGroup
		for i := range 4 {
			writing.Go(func() {
				recs := strings.Repeat(string(rune('a'+i)), 3) + strings.Repeat(string(rune('p'+i)), 3)
				if err := writeSet(stem, nil, recs, Split{Files: 1 + i%2}); err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		all := slices.Concat(readSet(t, stem, 0)...)
		if len(all) != 6 || all[5]-all[0] != 'p'-'a' {
			t.Fatalf("the set has %q", all)
		}
	}
}

// TestSetIndexCannotBeRead checks that a failed read of an index is not mistaken for a foreign
// file.
func TestSetIndexCannotBeRead(t *testing.T) {
	stem := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(stem+".index", 0o700); err != nil {
		t.Fatal(err)
	}
	err := writeSet(stem, nil, "abc", Split{Files: 2})
	if err == nil || strings.Contains(err.Error(), "is no index") || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("the error is: %v", err)
	}
}

// writeSet writes a set of one-byte records.
func writeSet(stem string, fault func(string) error, recs string, split Split) error {
	return writeSetUntil(context.Background(), stem, fault, recs, split)
}

// mustWriteSet is writeSet without a fault.
func mustWriteSet(t *testing.T, stem string, recs string, split Split) {
	t.Helper()
	if err := writeSet(stem, nil, recs, split); err != nil {
		t.Fatal(err)
	}
}

// writeSetUntil is writeSet until ctx is cancelled. After an error the set is aborted.
func writeSetUntil(ctx context.Context, stem string, fault func(string) error, recs string, split Split) error {
	opt := Options{RecordSize: 1, Keyer: byteKeys, Records: int64(len(recs))}
	sink, err := NewSet(ctx, stem, fault, split, opt)
	if err != nil {
		return err
	}
	if err := sink.WriteBlock(ctx, 0, []byte(recs)); err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, int64(len(recs)))
}

// TestSetRefuses checks that a set does not replace files that belong to no set, and that it
// removes surplus files of the old set.
func TestSetRefuses(t *testing.T) {
	folder := t.TempDir()
	stem := filepath.Join(folder, "out")
	for _, name := range []string{"out.007", "out.index"} {
		alien := filepath.Join(folder, name)
		testfiles.Write(t, alien, []byte("mine"))
		err := writeSet(stem, nil, "abc", Split{Files: 3})
		if err == nil || !strings.Contains(err.Error(), name) || content(t, alien) != "mine" {
			t.Errorf("%s stands there: %v", name, err)
		}
		os.Remove(alien)
	}
	mustWriteSet(t, stem, "abc", Split{Files: 3})
	testfiles.Write(t, filepath.Join(folder, "out.1st"), nil)
	mustWriteSet(t, stem, "abc", Split{Files: 2})
	if got := testfiles.Names(t, folder); !slices.Equal(got, []string{"out.000", "out.001", "out.1st", "out.index"}) {
		t.Errorf("the folder has %q", got)
	}
	if err := writeSet(stem, nil, "abc", Split{Files: MaxSetFiles + 1}); err == nil {
		t.Error("a file too many")
	}
}
