package columns

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mutations returns how many damaged files TestDamagedFiles sorts: fewer in short tests.
func mutations() int {
	if testing.Short() {
		return 100
	}
	return 500
}

// TestDamagedFiles sorts files with random damage: most of it in the footer, whose sizes and offsets
// the reader trusts most. A sort must succeed or return an error of one line, and must leave nothing
// behind.
func TestDamagedFiles(t *testing.T) {
	const perFile = 25
	for seed := range uint64(mutations() / perFile) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 500))
			table := randomTable(rng)
			name := filepath.Join(t.TempDir(), "in")
			table.writeFile(t, rng, name, 0, table.rows)
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for range perFile {
				sortDamaged(t, damaged(rng, whole), table.columns[0].path)
			}
		})
	}
}

// damaged returns a copy of a file with up to four changes.
func damaged(rng *rand.Rand, whole []byte) []byte {
	data := append([]byte{}, whole...)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(data))
		if rng.IntN(3) > 0 { // near the end
			at = len(data) - 1 - rng.IntN(min(len(data), 600))
		}
		switch rng.IntN(4) {
		case 0:
			data[at] = byte(rng.Uint32())
		case 1:
			data[at] ^= 1 << rng.IntN(8)
		case 2:
			copy(data[at:], []byte{0xff, 0xff, 0xff, 0xff, 0x7f})
		case 3:
			data = append(data[:at], data[min(len(data), at+1+rng.IntN(20)):]...)
		}
		if len(data) == 0 {
			return data
		}
	}
	return data
}

func sortDamaged(t *testing.T, data []byte, key string) {
	t.Helper()
	folder := t.TempDir()
	in := filepath.Join(folder, "in")
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Sort(context.Background(), Options{
		Inputs:   []string{in},
		Keys:     []Key{{Column: key}},
		Output:   filepath.Join(folder, "out"),
		Memory:   MinMemory,
		TempDirs: []string{folder},
		Workers:  2,
	})
	if err == nil {
		return
	}
	if text := err.Error(); strings.TrimSpace(text) == "" || strings.Contains(text, "goroutine ") {
		t.Errorf("error %q", text)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestOutputs checks what happens to existing files.
func TestOutputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	folder := t.TempDir()
	in := filepath.Join(folder, "in.parquet")
	column := &testColumn{columnKind: columnKinds[5], path: "a"}
	for range 1000 {
		column.values = append(column.values, column.randomValue(rng))
	}
	table := &testTable{columns: []*testColumn{column}, rows: 1000}
	table.writeFile(t, rng, in, 0, table.rows)
	if err := os.Chmod(in, 0o640); err != nil {
		t.Fatal(err)
	}
	opt := Options{Inputs: []string{folder}, Output: in, Memory: MinMemory, TempDirs: []string{t.TempDir()}}

	for text, keys := range map[string][]Key{
		"no key":         nil,
		`no column "b":`: {{Column: "b"}},
	} {
		opt.Keys = keys
		if _, err := Sort(context.Background(), opt); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v instead of %q", err, text)
		}
	}

	opt.Keys = []Key{{Column: "a"}}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Sort(cancelled, opt); err == nil {
		t.Error("a cancelled sort succeeds")
	}
	if _, err := Sort(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(in)
	if err != nil || info.Mode() != fs.FileMode(0o640) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	got := readForeign(t, in)
	for i, row := range table.sorted(opt.Keys, false) {
		if string(got[i][0]) != string(row[0]) {
			t.Fatalf("row %d: %x instead of %x", i, got[i], row)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
