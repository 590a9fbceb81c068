package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/extsort/extsort/internal/testrows"
)

func TestOutputSuffixes(t *testing.T) {
	for _, name := range []string{"u.xz", "a.b.lz4", "/x/u.bz2", "u.zstd", "u.Z"} {
		_, err := ParseCompression("", name)
		if err == nil || !strings.Contains(err.Error(), "use .zst, or Options.Compress none to write it uncompressed") {
			t.Errorf("%s: %v", name, err)
		}
		if c, err := ParseCompression("none", name); err != nil || c != None {
			t.Errorf("%s, none: %v, %v", name, c, err)
		}
	}
	for _, name := range []string{"", "-", "u.bin", "u.z", "xz", "/dev/stdout", "u.xz.bin"} {
		if c, err := ParseCompression("", name); err != nil || c != None {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if c, err := ParseCompression("zst", "u.gz"); err != nil || c != Zstd {
		t.Errorf("zst: %v, %v", c, err)
	}
	for _, name := range []string{"lz4", "bzip2", "delta", "auto"} {
		if _, err := ParseCompression(name, ""); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

func TestLZ4IsRead(t *testing.T) {
	data := compressible(9<<20 + 3)
	for _, options := range [][]lz4.Option{nil, {lz4.BlockSizeOption(lz4.Block64Kb)}, {lz4.SizeOption(uint64(len(data)))},
		{lz4.ChecksumOption(false), lz4.BlockChecksumOption(true)}} {
		stream := lz4Compressed(t, data, options...)
		if c := Detect(stream[:DetectBytes]); c != LZ4 {
			t.Errorf("%x is detected as %v", stream[:DetectBytes], c)
		}
		twice := append(stream[:len(stream):len(stream)], stream...)
		got, err := decompressed(LZ4, bytes.NewReader(twice))
		if err != nil || !bytes.Equal(got, append(data[:len(data):len(data)], data...)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	old := lz4Compressed(t, data, lz4.LegacyOption(true))
	if got, err := decompressed(LZ4, bytes.NewReader(old)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the old format: %d bytes, %v", len(got), err)
	}
	empty := lz4Compressed(t, nil)
	if got, err := decompressed(LZ4, bytes.NewReader(empty)); err != nil || len(got) > 0 || len(empty) > 0 &&
		Detect(empty) != LZ4 {
		t.Errorf("nothing: %d bytes of %x, %v", len(got), empty, err)
	}
	dictionary := []byte("\x04\x22\x4d\x18\x61\x40\x01\x02\x03\x04\x00")
	for sum := range 256 {
		dictionary[10] = byte(sum)
		if Detect(dictionary) == LZ4 {
			return
		}
	}
	t.Error("a frame with a dictionary is not detected")
}

func TestBzip2IsRead(t *testing.T) {
	const empty = "BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00"
	for stream, want := range map[string]string{
		bzip2Text: "some data, some data", empty: "",
		bzip2Text + empty + bzip2Text: "some data, some datasome data, some data",
	} {
		if c := Detect([]byte(stream)[:10]); c != Bzip2 {
			t.Errorf("%q is detected as %v", stream, c)
		}
		if got, err := decompressed(Bzip2, strings.NewReader(stream)); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	for n := range len(bzip2Text) - 1 {
		if got, err := decompressed(Bzip2, strings.NewReader(bzip2Text[:n+1])); err == nil {
			t.Errorf("cut at %d: %q and no error", n+1, got)
		}
	}
}

// TestContainersAreRecognised has files as their programs begin them.
func TestContainersAreRecognised(t *testing.T) {
	zeros := strings.Repeat("\x00", DetectBytes)
	for _, row := range testrows.Read(t, "containers.txt") {
		first := []byte(row[0] + zeros)[:DetectBytes]
		for _, spec := range []Spec{{Type: "u64"}, {RecordSize: 12}, {Format: "gensort"}} {
			err := Recognition{}.CheckRecords(spec, first)
			if err == nil || !strings.HasPrefix(err.Error(), "this is "+row[1]) ||
				!strings.Contains(err.Error(), "Options.Raw") {
				t.Errorf("%q: %v", first, err)
			}
			if err := (Recognition{Decompress: "none"}).CheckRecords(spec, first); err == nil {
				t.Errorf("%q: --decompress none lifts more than the checks of compressors", first)
			}
			if err := (Recognition{Raw: true}).CheckRecords(spec, first); err != nil {
				t.Errorf("--raw: %v", err)
			}
		}
		if err := (Recognition{}).CheckRecords(Spec{Format: "npy"}, first); err != nil {
			t.Errorf("-f npy: %v", err)
		}
	}
}

func TestForeignCompressionsAreRefusedByName(t *testing.T) {
	first := []byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46")
	err := Recognition{}.CheckPacked(first)
	if err == nil || err.Error() != "this is compressed with xz: decompress it first (xz -dc FILE | extsort ...); "+
		"or Options.Decompress none to sort its bytes as they are" {
		t.Error(err)
	}
	for _, r := range []Recognition{{Raw: true}, {Decompress: "none"}} {
		if err := r.CheckPacked(first); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// ownFiles are the containers that are known by their first bytes.
func ownFiles() (all []foreign) {
	for _, c := range containers {
		if c.Magic != "" {
			all = append(all, foreign{c.Magic, c.found, ""})
		}
	}
	return all
}

func recogniseAny(first []byte) *foreign {
	return recognise(slices.Concat(foreignFiles, ownFiles()), first)
}

// TestRecognitionAsksForSixBytes counts the fixed bytes of every row, and gives records that have fewer of them.
func TestRecognitionAsksForSixBytes(t *testing.T) {
	for _, kind := range slices.Concat(foreignFiles, foreignCompressions, ownFiles()) {
		if fixed := len(kind.magic) - strings.Count(kind.magic, "?"); fixed < 6 || len(kind.magic) > DetectBytes {
			t.Errorf("%s: %d fixed bytes of %d", kind.name, fixed, len(kind.magic))
		}
		for cut := range kind.magic {
			first := []byte(kind.magic[:cut] + strings.Repeat("\x01", DetectBytes))
			if cut < 4 && recogniseAny(first) != nil {
				t.Errorf("%q is taken for %s", first, recogniseAny(first).name)
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100_000 {
		first := binary.LittleEndian.AppendUint64(nil, rng.Uint64())
		first = binary.LittleEndian.AppendUint64(first, rng.Uint64())
		if f := recogniseAny(first); f != nil {
			t.Errorf("%x is taken for %s", first, f.name)
		}
	}
}

func TestDecompressSettlesTheCompression(t *testing.T) {
	gzip := []byte("\x1f\x8b\x08\x08\x01\x02\x03\x04\x00\x03")
	for r, want := range map[Recognition]Compression{
		{}: Gzip, {Decompress: "auto"}: Gzip, {Decompress: "none"}: None, {Raw: true}: None, {Decompress: "lz4"}: LZ4,
		{Decompress: "bzip2"}: Bzip2, {Decompress: "s2"}: S2,
	} {
		if got := r.Compression("x", gzip); got != want {
			t.Errorf("%+v: %v", r, got)
		}
	}
	u64 := Spec{Type: "u64"}
	for r, want := range map[Recognition]string{
		{}: "", {Raw: true}: "", {Raw: true, Decompress: "none"}: "", {Decompress: "delta"}: "use auto, none",
		{Raw: true, Decompress: "gzip"}: "cannot be combined",
		{Decompress: "xz"}:              "use auto, none, gzip, zstd, s2, lz4, bzip2 or brotli",
	} {
		if err := fmt.Sprint(r.Validate(u64)); want == "" && err != "<nil>" || !strings.Contains(err, want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := (Recognition{Raw: true}).Validate(Spec{Format: "npy"}); err == nil {
		t.Error("Options.Raw is accepted with a header to be read")
	}
}

func TestWrongDetectionNamesTheFlag(t *testing.T) {
	for _, first := range []string{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "\x28\xb5\x2f\xfd\x60",
		"\xff\x06\x00\x00S2sTwO", "BZh91AY&SY", "\x04\x22\x4d\x18\x64\x40\xa7"} {
		data := []byte(first + strings.Repeat("\xfe", 1000))
		c := Detect(data)
		_, err := decompressed(c, bytes.NewReader(data))
		if want := fmt.Sprintf("(if this is not %v: Options.Decompress none)", c); c == None || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v: %v", first, c, err)
		}
	}
}

// TestText gives every kind of record lines of text, and numbers that nearly look like some.
func TestText(t *testing.T) {
	csv := "id,price\n" + strings.Repeat("17,2.50\n18,€3\n", 100)
	small := make([]byte, 2*DetectBytes) // 0, 1, 2 … 99, as ages are
	for i := range small {
		small[i] = byte(i * 7 % 100)
	}
	for _, c := range []struct {
		name   string
		first  string
		isText bool
	}{
		{"csv", csv, true},
		{"a short file", "b,2\na,1\n", true},
		{"a character that is cut", csv[:DetectBytes-1] + "€", true},
		{"CRLF and tabs", "id\tprice\r\n1\t2\r\n", true},
		{"no line breaks", strings.Repeat("CABACA", 100), false},
		{"few letters", "CABACA", false},
		{"few numbers with a line break", "C\nBACAxyz", false},
		{"very few", "CA\n", false},
		{"small u8", string(small), false},
		{"small u16", strings.Repeat("a\x00\n\x00", 200), false},
		{"Latin-1", strings.Repeat("caf\xe9\n", 100), false},
		{"nothing", "", false},
	} {
		for _, typ := range []string{"u8", "u64", "f32be", "bytes5"} {
			err := Recognition{}.CheckRecords(Spec{Type: typ}, []byte(c.first))
			want := c.isText && typ != "bytes5"
			if (err != nil) != want || want && !strings.Contains(err.Error(), "this is text, not binary numbers of type "+typ) {
				t.Errorf("%s, %s: %v", c.name, typ, err)
			}
			if err := (Recognition{Raw: true}).CheckRecords(Spec{Type: typ}, []byte(c.first)); err != nil {
				t.Errorf("%s, %s, raw: %v", c.name, typ, err)
			}
		}
		for _, spec := range []Spec{{RecordSize: 5}, {RecordSize: 5, Keys: []string{"0:u32"}}, {Type: "bytes5"}} {
			if err := (Recognition{}).CheckRecords(spec, []byte(c.first)); err != nil {
				t.Errorf("%s, %+v: %v", c.name, spec, err)
			}
			if doubt := (Recognition{}).TextDoubt(spec, []byte(c.first)); (doubt != "") != c.isText {
				t.Errorf("%s, %+v: %q", c.name, spec, doubt)
			}
			if doubt := (Recognition{Raw: true}).TextDoubt(spec, []byte(c.first)); doubt != "" {
				t.Errorf("%s, %+v, raw: %q", c.name, spec, doubt)
			}
		}
	}
	lines := []byte(strings.Repeat("b,2\na,1\n", 100))
	for _, spec := range []Spec{
		{RecordSize: 4}, {RecordSize: 8}, {Type: "bytes4"}, {RecordSize: 4096}, {Format: "gensort"},
	} {
		if doubt := (Recognition{}).TextDoubt(spec, lines); doubt != "" {
			t.Errorf("lines of 4 bytes, %+v: %q", spec, doubt)
		}
	}
}

func TestCountDoubt(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		first uint64
		bytes int64
		want  bool
	}{
		{Spec{Type: "u64"}, 3, 32, true}, {Spec{Type: "u32"}, 3, 20, true}, {Spec{Type: "u64"}, 3, 40, false},
		{Spec{Type: "u64"}, 0, 8, false}, {Spec{Type: "u64"}, 4, 32, false}, {Spec{Type: "f64"}, 3, 32, false},
		{Spec{RecordSize: 8}, 3, 32, false}, {Spec{Format: "sosd", Type: "u64"}, 3, 32, false},
	} {
		first := binary.LittleEndian.AppendUint64(nil, c.first)
		doubt := Recognition{}.CountDoubt(c.spec, "any", first, c.bytes)
		if (doubt != "") != c.want ||
			c.want && !strings.Contains(doubt, "Record.Format sosd Record.Type "+c.spec.Type) {
			t.Errorf("%+v: %q", c, doubt)
		}
		if doubt := (Recognition{Raw: true}).CountDoubt(c.spec, "any", first, c.bytes); doubt != "" {
			t.Errorf("--raw: %q", doubt)
		}
	}
}
