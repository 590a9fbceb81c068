package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/internal/testfiles"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const testWindow = 128 << 20 // as zstd itself grants

var (
	compressions      = allOf((*codec).isWritten)
	inputCompressions = allOf((*codec).isRead)
	blockCompressions = allOf(func(c *codec) bool { return c.blocks != nil })
)

// allOf returns the compressions that have something, in the order of the table.
func allOf(has func(*codec) bool) []Compression {
	var all []Compression
	for i, c := range codecs {
		if has(c) {
			all = append(all, Compression(i))
		}
	}
	return all
}

// bzip2Text is what bzip2 makes of "some data, some data"; no Go package writes bzip2.
const bzip2Text = "BZh91AY&SY\x5b\x6f\xe8\x5b\x00\x00\x08\x11\x80\x40\x04\x26\x02\x8c\x00\x20\x00\x21\x28\x32\x02\x0c" +
	"\x98\x84\x55\xf0\xc6\x61\xa7\x18\xa4\xf1\x77\x24\x53\x85\x09\x05\xb6\xfe\x85\xb0"

// compressible returns 64-bit numbers whose upper 48 bits are 0.
func compressible(n int) []byte {
	data := make([]byte, 0, n+8)
	rng := rand.New(rand.NewPCG(1, 1))
	for len(data) < n {
		data = binary.LittleEndian.AppendUint64(data, uint64(rng.Uint32N(1<<16)))
	}
	return data[:n]
}

func compressed(t testing.TB, c Compression, workers int, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, c, workers)
	if err != nil {
		t.Fatal(err)
	}
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 100_000)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func lz4Compressed(t testing.TB, data []byte, options ...lz4.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// anyCompressed is compressed for inputs of lz4, too, which is not written.
func anyCompressed(t testing.TB, c Compression, data []byte) []byte {
	t.Helper()
	if c == LZ4 {
		return lz4Compressed(t, data)
	}
	return compressed(t, c, 1, data)
}

func decompressed(c Compression, stream io.Reader) ([]byte, error) {
	r := NewReader(stream, c, testWindow)
	defer r.Close()
	return io.ReadAll(r)
}

func TestStreamsRoundTrip(t *testing.T) {
	for _, c := range compressions {
		for _, workers := range []int{0, 1, 3} {
			for _, n := range []int{0, 1, 7, 1 << 16, 1<<20 + 1} {
				data := compressible(n)
				stream := compressed(t, c, workers, data)
				got, err := decompressed(c, iotest.HalfReader(bytes.NewReader(stream)))
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%v, %d workers, %d bytes: %v", c, workers, n, err)
				}
				if detected := Detect(stream[:min(len(stream), DetectBytes)]); codecs[c].detect != nil && detected != c {
					t.Errorf("%v, %d bytes is detected as %v: %x", c, n, detected, stream)
				}
				if c != None && n >= 1<<16 && len(stream) > n*3/4 {
					t.Errorf("%v: %d of %d bytes are left", c, len(stream), n)
				}
			}
		}
	}
}

func TestConcatenatedMembers(t *testing.T) {
	a, b := compressible(100_000), []byte("second")
	for _, c := range compressions {
		if c == Brotli {
			continue // its streams are not concatenated, see TestBrotliStreams
		}
		stream := append(compressed(t, c, 2, a), compressed(t, c, 1, b)...)
		if c == Zstd {
			skippable := []byte("\x5a\x2a\x4d\x18\x03\x00\x00\x00any")
			stream = append(skippable, stream...)
			if Detect(stream[:DetectBytes]) != Zstd {
				t.Error("a skippable frame is not detected")
			}
		}
		got, err := decompressed(c, bytes.NewReader(stream))
		if err != nil || !bytes.Equal(got, append(a[:len(a):len(a)], b...)) {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
	}
}

func TestGzipIsTheSameForAnyWorkers(t *testing.T) {
	data := compressible(2*gzipBlock + 1)
	for _, n := range []int{0, 1, gzipBlock, gzipBlock + 1, len(data)} {
		want := compressed(t, Gzip, 1, data[:n])
		for _, workers := range []int{2, 9} {
			if !bytes.Equal(compressed(t, Gzip, workers, data[:n]), want) {
				t.Errorf("%d bytes differ with %d workers", n, workers)
			}
		}
		if got, err := decompressed(Gzip, bytes.NewReader(want)); err != nil || !bytes.Equal(got, data[:n]) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// fullDisk takes n bytes.
type fullDisk struct{ n int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteErrorsPassThrough(t *testing.T) {
	noise := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for _, c := range []Compression{Gzip, Zstd, S2, Brotli} {
		for _, room := range []int{0, 3 << 20} {
			w, err := NewWriter(&fullDisk{room}, c, 2)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(noise)
			if err = errors.Join(err, w.Close()); err == nil || !strings.Contains(err.Error(), "disk full") {
				t.Errorf("%v, room for %d bytes: %v", c, room, err)
			}
		}
	}
}

func TestSnappyIsReadAsS2(t *testing.T) {
	var b bytes.Buffer
	w := snappy.NewBufferedWriter(&b)
	w.Write([]byte("hello, hello, hello"))
	w.Close()
	if c := Detect(b.Bytes()); c != S2 {
		t.Fatalf("detected as %v", c)
	}
	if got, err := decompressed(S2, &b); err != nil || string(got) != "hello, hello, hello" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestTruncatedStreams(t *testing.T) {
	data := compressible(300_000)
	for _, c := range []Compression{Gzip, Zstd, S2, LZ4, Brotli} {
		stream := anyCompressed(t, c, data)
		for _, n := range []int{1, 3, 11, len(stream) / 2, len(stream) - 1} {
			got, err := decompressed(c, bytes.NewReader(stream[:n]))
			if err == nil {
				t.Errorf("%v: %d of %d bytes give %d bytes and no error", c, n, len(stream), len(got))
				continue
			}
			if !strings.Contains(err.Error(), fmt.Sprintf("decompress %v near compressed byte", c)) {
				t.Errorf("%v cut at %d: %v", c, n, err)
			}
			if !bytes.HasPrefix(data, got) {
				t.Errorf("%v cut at %d: the bytes before the cut are wrong", c, n)
			}
		}
	}
}

func TestGarbageIsAnError(t *testing.T) {
	for _, c := range []Compression{Gzip, Zstd, S2, LZ4} {
		stream := anyCompressed(t, c, compressible(50_000))
		stream[len(stream)/2] ^= 0x55
		if _, err := decompressed(c, bytes.NewReader(stream)); err == nil {
			t.Errorf("%v: a changed byte is not noticed", c)
		}
		if _, err := decompressed(c, strings.NewReader("no such thing as a header")); err == nil {
			t.Errorf("%v: text is decompressed", c)
		}
	}
}

func TestReadErrorsPassThrough(t *testing.T) {
	broken := errors.New("broken disk")
	for _, c := range []Compression{Gzip, Zstd, S2, LZ4, Brotli} {
		stream := anyCompressed(t, c, compressible(50_000))
		_, err := decompressed(c, io.MultiReader(bytes.NewReader(stream[:len(stream)/2]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || strings.Contains(err.Error(), "Options.Decompress") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestLargeWindowsAreRefused(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.Write(compressible(1 << 20))
	}
	w.Close()
	r := NewReader(bytes.NewReader(b.Bytes()), Zstd, 8<<20)
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "window of more than 8 MiB") {
		t.Errorf("a window of 64 MiB under a limit of 8: %v", err)
	}
	if _, err := decompressed(Zstd, &b); err != nil {
		t.Errorf("a window of 64 MiB under a limit of 128: %v", err)
	}
}

func TestDetectIgnoresRecords(t *testing.T) {
	for _, first := range []string{"", "\x1f", "\x1f\x8b", "\x1f\x8b\x08", "\x1f\x8b\x08\xff\x00\x00\x00\x00\x00\x03",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x01\x03",
		"(\xb5/", "\x50\x2a\x4d", "\xff\x06\x00\x00S2sTw0", "0123456789", "\x93NUMPY\x01\x00v\x00"} {
		if c := Detect([]byte(first)); c != None {
			t.Errorf("%q is detected as %v", first, c)
		}
	}
	if Detect([]byte("\x1f\x8b\x08\x08\x01\x02\x03\x04\x00\x03")) != Gzip {
		t.Error("what gzip writes is not detected")
	}
}

func TestNames(t *testing.T) {
	for _, c := range compressions {
		if got, err := ParseCompression(c.String(), "x.gz"); err != nil || got != c {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if _, err := ParseCompression("xz", ""); err == nil {
		t.Error("xz is accepted")
	}
	for name, want := range map[string]Compression{"a.gz": Gzip, "a.b.zst": Zstd, "/x/a.s2": S2, "gz": None,
		"a.gz.bin": None} {
		if got, err := ParseCompression("", name); err != nil || got != want {
			t.Errorf("the suffix of %q asks for %v, %v", name, got, err)
		}
	}
}

func TestBlocksRoundTripConcurrently(t *testing.T) {
	for _, c := range blockCompressions {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for _, n := range []int{0, 1, 100, 1<<16 + i, 1 << 20} {
					checkBlock(t, c, compressible(n))
					noise := make([]byte, n)
					rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
					checkBlock(t, c, noise)
				}
			})
		}
		wg.Wait()
	}
}

var testCoder = NewBlockCoder(Bare(Type{Kind: Unsigned, Size: 1}), 2) // every number of bytes is whole records

func checkBlock(t *testing.T, c Compression, data []byte) { checkBlockOf(t, testCoder, c, data) }

func checkBlockOf(t *testing.T, coder *BlockCoder, c Compression, data []byte) {
	room := make([]byte, MaxCompressed(len(data), c))
	packed, err := coder.Compress(room, data, c)
	if err != nil {
		t.Error(err)
		return
	}
	if len(packed) > 0 && &packed[0] != &room[0] {
		t.Errorf("%v: %d bytes are not compressed into the memory given", c, len(data))
	}
	dst := make([]byte, len(data))
	if got, err := coder.Decompress(dst, packed, c); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%v: %d bytes: %v", c, len(data), err)
	}
	if len(data) == 0 {
		return
	}
	if _, err := coder.Decompress(dst[:len(data)-1], packed, c); err == nil && c != Delta {
		t.Errorf("%v: a block of %d bytes fits into one less", c, len(data))
	}
	if _, err := coder.Decompress(dst, packed[:len(packed)/2], c); err == nil {
		t.Errorf("%v: half a block of %d bytes is accepted", c, len(data))
	}
}

func TestBlockMisuse(t *testing.T) {
	if _, err := testCoder.Compress(make([]byte, 10), make([]byte, 100), S2); err == nil {
		t.Error("too little room is accepted")
	}
	for _, c := range []Compression{None, Gzip} {
		if _, err := testCoder.Compress(make([]byte, 1000), make([]byte, 100), c); err == nil {
			t.Errorf("blocks of %v are accepted", c)
		}
		if _, err := testCoder.Decompress(make([]byte, 1000), make([]byte, 100), c); err == nil {
			t.Errorf("blocks of %v are read", c)
		}
	}
	bomb := []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}
	if _, err := testCoder.Decompress(make([]byte, 10), bomb, S2); err == nil {
		t.Error("a block that claims 4 GiB is accepted")
	}
}

// liveBytes is how much more of the heap is live at the highest of the checks that f makes than before.
func liveBytes(f func(check func())) int64 {
	var m runtime.MemStats
	live := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	live()
	base, top := live(), int64(0)
	f(func() { top = max(top, live()) })
	return top - base
}

func TestCodecMemoryHolds(t *testing.T) {
	if testfiles.Race {
		t.Skip("the race detector holds memory of its own")
	}
	data := compressible(4 << 20)
	for _, c := range compressions {
		for _, workers := range []int{1, 2, 4} {
			got := liveBytes(func(check func()) {
				w, err := NewWriter(io.Discard, c, workers)
				if err != nil {
					t.Fatal(err)
				}
				for range 6 {
					w.Write(data)
					check()
				}
				w.Close()
				runtime.KeepAlive(w)
			})
			if limit := CodecMemory(c, workers) + 64<<10; got > limit {
				t.Errorf("%v: a writer with %d workers holds %d KiB, more than the %d estimated", c, workers, got>>10, limit>>10)
			}
		}
		checkReaderMemory(t, c, compressed(t, c, 2, data))
	}
	const window = 32 << 20
	stream := windowed(t, window, compressible(3*window))
	if got := StreamWindowBytes(Zstd, stream[:DetectBytes]); got != window {
		t.Errorf("a stream with a window of %d bytes looks back %d", window, got)
	}
	checkReaderMemory(t, Zstd, stream)
	checkReaderMemory(t, LZ4, lz4Compressed(t, compressible(12<<20)))
	checkReaderMemory(t, LZ4, lz4Compressed(t, compressible(20<<20), lz4.LegacyOption(true)))
	checkReaderMemory(t, Bzip2, []byte(strings.Repeat(bzip2Text, 3<<20/20)))
}

// windowed compresses by zstd with a window.
func windowed(t testing.TB, window int, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func checkReaderMemory(t *testing.T, c Compression, stream []byte) {
	window := StreamWindowBytes(c, stream[:DetectBytes])
	got := liveBytes(func(check func()) {
		r := NewReader(bytes.NewReader(stream), c, window)
		for part := make([]byte, 1<<20); ; check() {
			if _, err := io.ReadFull(r, part); err != nil {
				break
			}
		}
		runtime.KeepAlive(r)
		r.Close()
	})
	if limit := CodecMemory(c, 0) + window - CommonWindow + 2<<20; got > limit { // 1 MiB is part
		t.Errorf("%v: a reader holds %d KiB, more than the %d estimated", c, got>>10, limit>>10)
	}
}

func TestBlockMemoryHolds(t *testing.T) {
	if testfiles.Race {
		t.Skip("the race detector holds memory of its own")
	}
	for _, c := range blockCompressions {
		for _, atOnce := range []int{1, 3} {
			for _, n := range []int{4 << 10, 32 << 10, 256 << 10, 1 << 20} {
				data := compressible(n)
				got := liveBytes(func(check func()) {
					coder := NewBlockCoder(Bare(Type{Kind: Unsigned, Size: 1}), atOnce)
					rooms := make([][]byte, atOnce)
					var wg sync.WaitGroup
					for i := range atOnce {
						rooms[i] = make([]byte, MaxCompressed(n, c))
						wg.Go(func() {
							dst := make([]byte, n) // of the caller
							for range 5 {
								packed, _ := coder.Compress(rooms[i], data, c)
								coder.Decompress(dst, packed, c)
							}
						})
					}
					wg.Wait()
					check()
					runtime.KeepAlive(coder)
					runtime.KeepAlive(rooms)
				})
				if limit := BlockMemory(c, atOnce, n)*2/3 + 16<<10; got > limit {
					t.Errorf("%v: %d blocks of %d KiB hold %d KiB, more than the %d estimated", c, atOnce, n>>10, got>>10, limit>>10)
				}
			}
		}
	}
}

func FuzzDecompress(f *testing.F) {
	for _, c := range compressions {
		f.Add(compressed(f, c, 1, []byte("some data, some data")), uint8(c))
	}
	f.Add(lz4Compressed(f, []byte("some data, some data")), uint8(LZ4))
	f.Add([]byte(bzip2Text), uint8(Bzip2))
	for _, kind := range slices.Concat(foreignFiles, ownFiles(), foreignCompressions) {
		f.Add([]byte(kind.magic), uint8(None))
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		c := inputCompressions[int(which)%len(inputCompressions)]
		r := NewReader(bytes.NewReader(data), c, 1<<20)
		io.Copy(io.Discard, io.LimitReader(r, 1<<22))
		r.Close()
		dst := make([]byte, 1000)
		if out, err := testCoder.Decompress(dst, data, c); err == nil && len(out) > len(dst) {
			t.Fatalf("%v: %d bytes come out of a block where %d have room", c, len(out), len(dst))
		}
		var all Recognition
		if Detect(data) != None && (all.CheckPacked(data) != nil || all.CheckRecords(Spec{}, data) != nil) {
			t.Fatalf("%q is recognised twice", data[:min(len(data), DetectBytes)])
		}
	})
}

func BenchmarkBlock(b *testing.B) {
	data := compressible(1 << 20)
	for _, c := range blockCompressions {
		room := make([]byte, MaxCompressed(len(data), c))
		packed, _ := testCoder.Compress(room, data, c)
		dst := make([]byte, len(data))
		b.Run(fmt.Sprintf("codec=%v/way=in/n=1MiB", c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				testCoder.Compress(room, data, c)
			}
		})
		b.Run(fmt.Sprintf("codec=%v/way=out/n=1MiB", c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				testCoder.Decompress(dst, packed, c)
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	data := compressible(8 << 20)
	for _, c := range []Compression{Gzip, Zstd, S2} {
		stream := compressed(b, c, 2, data)
		b.Run(fmt.Sprintf("codec=%v/way=in/n=8MiB", c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				w, _ := NewWriter(io.Discard, c, 2)
				w.Write(data)
				w.Close()
			}
		})
		b.Run(fmt.Sprintf("codec=%v/way=out/n=8MiB", c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r := NewReader(bytes.NewReader(stream), c, testWindow)
				io.Copy(io.Discard, r)
				r.Close()
			}
		})
	}
}
