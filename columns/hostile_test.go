package columns

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/extsort/extsort/internal/testfiles"
)

// mutations returns how many damaged files TestDamagedFiles sorts: EXTSORT_TEST_DAMAGED, or few.
func mutations(tb testing.TB) int {
	text := os.Getenv("EXTSORT_TEST_DAMAGED")
	if text == "" {
		return 100
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("EXTSORT_TEST_DAMAGED: %v", err)
	}
	return n
}

// TestDamagedFiles sorts, checks, describes and prints files with random damage: most of it near the end, where
// Parquet files have their sizes and offsets. Each must succeed or return an error of one line, and must leave
// nothing behind.
func TestDamagedFiles(t *testing.T) {
	for seed := range uint64(max(mutations(t)/damagedPerFile, 1)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { tryFile(t, seed) })
	}
}

// damagedPerFile is the number of damaged copies of each file.
const damagedPerFile = 25

// tryFile tries damaged copies of a random file.
func tryFile(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 500))
	name := filepath.Join(t.TempDir(), "in")
	isArrow := seed%4 == 3
	var key string
	if isArrow {
		table, schema := randomArrowTable(rng)
		key = table.columns[0].path
		var file bytes.Buffer
		writeArrowTable(t, rng, table, schema, &file, rng.IntN(2) == 0)
		testfiles.Write(t, name, file.Bytes())
	} else {
		table := randomTable(rng)
		key = table.columns[0].path
		table.writeFile(t, rng, name, 0, table.rows)
	}
	whole := testfiles.Read(t, name)
	for i := range damagedPerFile {
		data := damaged(rng, whole)
		if isArrow && i%2 == 0 { // the schema of Arrow data is at the beginning
			slices.Reverse(whole)
			data = damaged(rng, whole)
			slices.Reverse(whole)
			slices.Reverse(data)
		}
		tryDamaged(t, data, key)
		if os.Getenv("EXTSORT_TEST_DAMAGED") != "" {
			sortInProcess(t, data, key)
		}
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

func tryDamaged(t *testing.T, data []byte, key string) {
	t.Helper()
	folder := t.TempDir()
	in := filepath.Join(folder, "in")
	testfiles.Write(t, in, data)
	opt := Options{
		Inputs:   []string{in},
		Keys:     []Key{{Column: key}},
		Output:   filepath.Join(folder, "out"),
		Memory:   MinMemory,
		TempDirs: []string{folder},
		Workers:  2,
	}
	_, sorted := Sort(context.Background(), opt)
	left := 2
	if sorted != nil {
		left = 1
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != left {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	_, checked := Check(context.Background(), opt)
	_, described := Describe(opt.Inputs, MinMemory)
	opt.Output = ""
	opt.Stdout = io.Discard
	printed := Print(context.Background(), PrintOptions{Options: opt, End: -1})
	for _, err := range []error{sorted, checked, described, printed} {
		if err == nil {
			continue
		}
		if text := err.Error(); strings.TrimSpace(text) == "" || strings.Contains(text, "goroutine ") {
			t.Errorf("error %q", text)
		}
	}
}

// FuzzFooter describes and checks a Parquet file with any footer.
func FuzzFooter(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 500))
	table := randomTable(rng)
	name := filepath.Join(f.TempDir(), "in")
	table.writeFile(f, rng, name, 0, table.rows)
	whole := testfiles.Read(f, name)
	end := len(whole) - 8
	start := end - int(binary.LittleEndian.Uint32(whole[end:]))
	f.Add(whole[start:end])
	f.Fuzz(func(t *testing.T, footer []byte) {
		data := append(bytes.Clone(whole[:start]), footer...)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(footer)))
		in := testfiles.Temp(t, "in", append(data, magic...))
		all, err := Describe([]string{in}, MinMemory)
		if err != nil || len(all[0].Columns) == 0 {
			return
		}
		_, _ = Check(context.Background(), Options{
			Inputs: []string{in},
			Keys:   []Key{{Column: all[0].Columns[0].Name}},
			Memory: MinMemory,
		})
	})
}

// FuzzArrowSchema opens Arrow data.
func FuzzArrowSchema(f *testing.F) {
	f.Add(arrowSchemaBytes(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := testfiles.Temp(t, "in", data)
		_, _ = Describe([]string{in}, MinMemory)
	})
}

// arrowSchemaBytes returns a stream of Arrow data without rows.
func arrowSchemaBytes(tb testing.TB) []byte {
	tb.Helper()
	var stream bytes.Buffer
	_, schema := randomArrowTable(rand.New(rand.NewPCG(5, 500)))
	if err := ipc.NewWriter(&stream, ipc.WithSchema(schema)).Close(); err != nil {
		tb.Fatal(err)
	}
	return stream.Bytes()
}

// TestArrowMessageLength opens Arrow data whose second message claims more bytes of metadata than the limit
// allows, for which the library would allocate memory.
func TestArrowMessageLength(t *testing.T) {
	for name, length := range map[string][]byte{
		"with its marker":     {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x19},
		"before version 0.15": {0, 0, 0, 0x19, 0, 0, 0, 0},
	} {
		data := arrowSchemaBytes(t)
		copy(data[len(data)-8:], length)
		in := testfiles.Temp(t, "in", data)
		if _, err := Describe([]string{in}, MinMemory); err == nil || !strings.Contains(err.Error(), "exceeds limit") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestArrowFieldCount opens Arrow data whose schema claims 2^30 fields, for which the library would allocate
// memory.
func TestArrowFieldCount(t *testing.T) {
	data := arrowSchemaBytes(t)
	message := flatbuffers.Table{Bytes: data[8:], Pos: flatbuffers.GetUOffsetT(data[8:])}
	var schema flatbuffers.Table
	message.Union(&schema, flatbuffers.UOffsetT(message.Offset(messageHeader)))
	fields := schema.Vector(flatbuffers.UOffsetT(schema.Offset(schemaFields)))
	binary.LittleEndian.PutUint32(data[8+fields-4:], 1<<30)
	in := testfiles.Temp(t, "in", data)
	if _, err := Describe([]string{in}, MinMemory); !errors.Is(err, errSchema) {
		t.Errorf("error %v", err)
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
