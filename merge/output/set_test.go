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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
)

// byteKeys are records of a byte.
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

// cut is how records are to be divided.
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
		file := content(t, filepath.Join(filepath.Dir(stem), entry.Name))
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

// TestSetCuts cuts where the key changes, whatever the blocks and the order in which they come.
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
		if err := sink.Commit(int64(len(recs))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := readSet(t, stem, header), cut(recs, split, header); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("seed %d: %+v of %v: %v, want %v", seed, split, recs, got, want)
		}
		if left := names(t, filepath.Dir(stem)); len(left) != len(cut(recs, split, header))+1 {
			t.Errorf("seed %d: the folder has %q", seed, left)
		}
	}
}

// keptRun keeps records of a byte.
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

// TestSetSurvivesEveryFault fails each operation in turn. Then there is no file of the set, or the old set as it was,
// as long as none was to get its name.
func TestSetSurvivesEveryFault(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			for failAt := 0; ; failAt++ {
				folder := t.TempDir()
				stem := filepath.Join(folder, "out")
				if exists {
					if err := writeSet(stem, nil, "abcd", Split{Bytes: 1}); err != nil {
						t.Fatal(err)
					}
				}
				fault := &faults{named: named, failAt: failAt}
				err := writeSet(stem, fault.step, "xyz", Split{Files: 2})
				list := names(t, folder)
				switch whole := slices.Equal(list, []string{"out.000", "out.001", "out.index"}); {
				case err == nil && whole && len(readSet(t, stem, 0)) == 2:
				case err != nil && whole && strings.Contains(err.Error(), "it is complete"):
				case err != nil && len(list) == 0 && !exists:
				case err != nil && len(list) == 5 && exists && string(slices.Concat(readSet(t, stem, 0)...)) == "abcd":
				case err != nil && exists && !slices.Contains(list, "out.index") &&
					slices.Contains([]string{"sync folder", "link output", "rename output", "close output"}, fault.failed):
				default:
					t.Errorf("operation %d (%s) failed, the folder has %q: %v", failAt, fault.failed, list, err)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, errInjected) {
					t.Errorf("operation %d failed, the error is %v", failAt, err)
				}
			}
		}
	}
}

// writeSet writes records of a byte.
func writeSet(stem string, fault func(string) error, recs string, split Split) error {
	opt := Options{RecordSize: 1, Keyer: byteKeys, Records: int64(len(recs))}
	sink, err := NewSet(context.Background(), stem, fault, split, opt)
	if err != nil {
		return err
	}
	if err := sink.WriteBlock(context.Background(), 0, []byte(recs)); err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(int64(len(recs)))
}

// TestSetRefuses writes neither over nor beside what is of no set, and takes away what the old set had more.
func TestSetRefuses(t *testing.T) {
	folder := t.TempDir()
	stem := filepath.Join(folder, "out")
	for _, name := range []string{"out.007", "out.index"} {
		alien := filepath.Join(folder, name)
		if err := os.WriteFile(alien, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := writeSet(stem, nil, "abc", Split{Files: 3})
		if err == nil || !strings.Contains(err.Error(), name) || content(t, alien) != "mine" {
			t.Errorf("%s stands there: %v", name, err)
		}
		os.Remove(alien)
	}
	if err := writeSet(stem, nil, "abc", Split{Files: 3}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "out.1st"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSet(stem, nil, "abc", Split{Files: 2}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder); !slices.Equal(got, []string{"out.000", "out.001", "out.1st", "out.index"}) {
		t.Errorf("the folder has %q", got)
	}
	if err := writeSet(stem, nil, "abc", Split{Files: MaxSetFiles + 1}); err == nil {
		t.Error("a file too many")
	}
}
