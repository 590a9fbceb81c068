package spill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
)

var words = format.Spec{Type: "u64"}

// testAhead is the number of requests of newTestRequests that read ahead.
const testAhead = 4

// newTestRequests returns requests of direct I/O that are smaller than blocks may be.
func newTestRequests(t *testing.T) *blockio.Pool {
	t.Helper()
	p := blockio.NewPool(blockio.Options{Bytes: 64 << 10, Reads: 4 + testAhead, Demand: 4, Writes: 8})
	t.Cleanup(func() {
		p.Wait()
		reads, ahead, writes := p.Used()
		if err := p.Close(); err != nil || reads+writes > 0 {
			t.Errorf("at the end %d requests read, %d of them ahead, and %d write: %v", reads, ahead, writes, err)
		}
	})
	return p
}

// openSpill opens a spill until the end of the test, with the usual values of the options that are
// not set.
func openSpill(t testing.TB, opt Options) *Spill {
	t.Helper()
	opt.Codec = cmp.Or(opt.Codec, "none")
	opt.Workers = cmp.Or(opt.Workers, 2)
	opt.Keyer = formattest.Keyer(t, words)
	if len(opt.Folders) == 0 {
		opt.Folders = []string{t.TempDir()}
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// memoryStore is a Store in memory. room limits the size of each file; 0: no limit.
type memoryStore struct {
	room  int
	mu    sync.Mutex
	files []*memoryFile
	full  error         // the error of a full file; nil: syscall.ENOSPC
	slow  chan struct{} // if not nil, a write to a full file waits until it is closed
}

func (s *memoryStore) Free([]string) int64 { return -1 }

func (s *memoryStore) Create(folder string) (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, &memoryFile{folder: folder, room: s.room, full: s.full, slow: s.slow})
	return s.files[len(s.files)-1], nil
}

func (f *memoryFile) Uncache() bool { return true }

// Allocate fails if a write would find too little room.
func (f *memoryFile) Allocate(off, bytes int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room > 0 && off+bytes > int64(f.room) {
		return cmp.Or[error](f.full, syscall.ENOSPC)
	}
	return nil
}

// in returns the files in a directory.
func (s *memoryStore) in(folder string) (files []*memoryFile) {
	for _, f := range s.files {
		if f.folder == folder {
			files = append(files, f)
		}
	}
	return files
}

type memoryFile struct {
	folder   string
	mu       sync.Mutex
	data     []byte
	room     int
	full     error
	slow     chan struct{}
	released int64
	closed   bool
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room > 0 && int(off)+len(p) > f.room {
		if f.slow != nil {
			f.mu.Unlock()
			<-f.slow
			f.mu.Lock()
		}
		return 0, &os.PathError{Op: "write", Path: "spill", Err: cmp.Or[error](f.full, syscall.ENOSPC)}
	}
	if need := int(off) + len(p); need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	return copy(f.data[off:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int(off) >= len(f.data) {
		return 0, io.EOF
	}
	return copy(p, f.data[off:]), nil
}

func (f *memoryFile) Release(_, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released += bytes
}

func (f *memoryFile) Close() error {
	f.closed = true
	return nil
}

// writeRun writes records as a run of blocks of perBlock records, by several goroutines in any
// order.
func writeRun(s *Spill, recs []byte, perBlock int) (*Run, error) {
	w := s.NewRun(Origin{})
	var group sync.WaitGroup
	var mu sync.Mutex
	var faults []error
	var blocks []int
	for at := 0; at < len(recs); at += 8 * perBlock {
		blocks = append(blocks, at)
	}
	rand.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for g := range 3 {
		group.Go(func() {
			for i := g; i < len(blocks); i += 3 {
				at := blocks[i]
				err := w.WriteBlock(context.Background(), int64(at/8), recs[at:min(at+8*perBlock, len(recs))])
				mu.Lock()
				faults = append(faults, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := errors.Join(faults...); err != nil {
		w.Abort()
		return nil, err
	}
	return w.Finish()
}

func readRun(r *Run) ([]byte, error) {
	var all []byte
	c := r.Cursor(0, r.Blocks())
	for {
		b, err := c.Next()
		if b == nil || err != nil {
			return all, err
		}
		recs, err := r.ReadBlock(b, make([]byte, r.BlockBytes(b)))
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
}

func entryOf(t testing.TB, r *Run, i int) *Block {
	t.Helper()
	b, err := r.entry(i)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSpill writes runs to real directories and to memory, with every compression, with and without
// direct I/O, and reads them back.
func TestSpill(t *testing.T) {
	for _, codec := range []string{"", "auto", "none", "s2", "zstd"} {
		for _, store := range []Store{nil, &memoryStore{}} {
			for _, requests := range []*blockio.Pool{nil, newTestRequests(t)} {
				testSpill(t, Options{Store: store, Codec: codec, Requests: requests})
			}
		}
	}
}

func testSpill(t *testing.T, opt Options) {
	folders := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	opt.Folders, opt.Keyer, opt.ExpectBytes, opt.Workers = folders, formattest.Keyer(t, words), 4000, 2
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 100, 101, 1234, 200_000} {
		want := formattest.Numbered(n, n)
		run, err := writeRun(s, want, max(100, n/2))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readRun(run)
		if err != nil || !bytes.Equal(got, want) || run.Records() != int64(n) {
			t.Errorf("codec %q: %d bytes of %d, error %v", opt.Codec, len(got), len(want), err)
		}
		loaded := make([]byte, 8*n)
		_, _, err = run.Source(0, run.Blocks()).Next(n, func(int64, int) []byte { return loaded })
		if err != nil || !bytes.Equal(loaded, want) {
			t.Errorf("codec %q: several blocks: %d of %d bytes are right, error %v", opt.Codec, same(loaded, want), 8*n, err)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range folders {
		if names, _ := os.ReadDir(folder); len(names) > 0 {
			t.Errorf("codec %q: %s is visible in the folder", opt.Codec, names[0].Name())
		}
	}
	if s.Written() == 0 {
		t.Error("nothing was written")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// same returns the length of the common prefix of a and b.
func same(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestSpillUsesAllFolders(t *testing.T) {
	store, folders := &memoryStore{}, []string{t.TempDir(), t.TempDir(), t.TempDir()}
	s := openSpill(t, Options{Store: store, Folders: folders})
	w, recs := s.NewRun(Origin{}), formattest.Numbered(0, 3000)
	for at := 0; at < 3000; at += 10 { // one writer: with several, the result depends on timing
		if err := w.WriteBlock(t.Context(), int64(at), recs[8*at:8*(at+10)]); err != nil {
			t.Fatal(err)
		}
	}
	run, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for i, folder := range folders {
		blocks := 0
		for _, f := range store.in(folder) {
			blocks += (len(f.data) + plan.SpillAlign - 1) / plan.SpillAlign
		}
		if blocks != 100 {
			t.Errorf("folder %d has %d of 300 blocks", i, blocks)
		}
	}
	if err := errors.Join(run.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	released := int64(0)
	for i, f := range store.files {
		if released += f.released; !f.closed {
			t.Errorf("file %d is not closed", i)
		}
	}
	if released != 300*plan.SpillAlign {
		t.Errorf("%d of 300 blocks were released", released/plan.SpillAlign)
	}
}

// TestWritersAvoidEachOther keeps some files busy. Writers must use the others, or any file if
// all are busy.
func TestWritersAvoidEachOther(t *testing.T) {
	folders := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	s := openSpill(t, Options{Store: &memoryStore{}, Folders: folders})
	for _, v := range s.volumes[1:] {
		v.busy.Add(1)
	}
	for range 2 * len(s.volumes) {
		if i, _ := s.nextVolume(); i != 0 {
			t.Fatalf("file %d is taken, which is busy", i)
		}
	}
	s.volumes[0].busy.Add(1)
	s.nextVolume()
}

// TestSpillOfLittle expects fewer bytes than there are files.
func TestSpillOfLittle(t *testing.T) {
	if err := openSpill(t, Options{ExpectBytes: 8, Workers: 16}).Close(); err != nil {
		t.Error(err)
	}
}

// TestSpillFullFolder checks that a writer continues in the other directory, and that the error
// states the required space if there is no other.
func TestSpillFullFolder(t *testing.T) {
	for full, says := range map[error]string{
		syscall.ENOSPC: "is full", syscall.EDQUOT: "has no quota left", syscall.EFBIG: "allows no larger file",
	} {
		for _, requests := range []*blockio.Pool{nil, newTestRequests(t)} {
			for _, expect := range []int64{0, -1} { // with and without space to reserve more
				t.Run(fmt.Sprint(says, requests != nil, expect), func(t *testing.T) {
					testFullFolder(t, full, says, Options{Requests: requests, ExpectBytes: expect})
				})
			}
		}
	}
}

func testFullFolder(t *testing.T, full error, says string, opt Options) {
	store := &memoryStore{full: full}
	folders := []string{t.TempDir(), t.TempDir()}
	opt.Store, opt.Folders = store, folders
	s := openSpill(t, opt)
	if roomy := opt.ExpectBytes == 0; s.roomy != roomy {
		t.Fatalf("there is space: %t", s.roomy)
	}
	for _, f := range store.in(folders[0]) {
		f.room = 3 * plan.SpillAlign
	}
	run, err := writeRun(s, formattest.Numbered(0, 1000), 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readRun(run); err != nil || !bytes.Equal(got, formattest.Numbered(0, 1000)) {
		t.Errorf("%d bytes came back, error %v", len(got), err)
	}
	for _, f := range store.in(folders[1]) {
		f.room = max(len(f.data), 1)
	}
	_, err = writeRun(s, formattest.Numbered(0, 1000), 10)
	if !errors.Is(err, full) || !strings.Contains(err.Error(), says) ||
		!strings.Contains(err.Error(), "Options.TempDirs") || !strings.Contains(err.Error(), "at least ") {
		t.Errorf("the error is: %v", err)
	}
	if !strings.Contains(fmt.Sprint(err), folders[1]) {
		t.Errorf("the error does not name %s: %v", folders[1], err)
	}
}

// TestSpillSaysWhatItNeeds checks that the error states the expected total if it is known.
func TestSpillSaysWhatItNeeds(t *testing.T) {
	s := openSpill(t, Options{Store: &memoryStore{room: 1}, ExpectBytes: 3 << 20})
	_, err := s.storeBlock(formattest.Numbered(0, 10), new(extent), 0, new(blockio.Batch))
	if err == nil || !strings.Contains(err.Error(), "temporary data needs 3 MiB in total, 0 B was written") {
		t.Errorf("the error is: %v", err)
	}
}

// TestSpillFullAtOnce fills all directories at the same moment. Each of several writers must get
// its error.
func TestSpillFullAtOnce(t *testing.T) {
	store := &memoryStore{room: 1, slow: make(chan struct{})}
	s := openSpill(t, Options{Store: store, Folders: []string{t.TempDir(), t.TempDir()}})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := s.storeBlock(formattest.Numbered(0, 10), new(extent), 0, new(blockio.Batch))
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("the error is: %v", err)
			}
		})
	}
	close(store.slow)
	group.Wait()
}

// TestSpillDamage changes a stored byte. The error must name the position.
func TestSpillDamage(t *testing.T) {
	for _, codec := range []string{"none", "delta", "s2", "zstd"} {
		store := &memoryStore{}
		folder := t.TempDir()
		s := openSpill(t, Options{Store: store, Folders: []string{folder}, Codec: codec})
		run, err := writeRun(s, formattest.Numbered(0, 2000), 1000)
		if err != nil {
			t.Fatal(err)
		}
		b := entryOf(t, run, 1)
		file := store.files[b.Volume]
		file.data[b.Offset+int64(b.Bytes)/2] ^= 4
		if _, err := run.ReadBlock(entryOf(t, run, 0), make([]byte, run.BlockBytes(b))); err != nil {
			t.Errorf("%s: the block that is whole: %v", codec, err)
		}
		_, err = run.ReadBlock(b, make([]byte, run.BlockBytes(b)))
		if err == nil || !strings.Contains(err.Error(), folder) ||
			!strings.Contains(err.Error(), fmt.Sprintf("byte %d is damaged", b.Offset)) {
			t.Errorf("%s: the error is: %v", codec, err)
		}
		file.data = file.data[:b.Offset]
		if _, err = run.ReadBlock(b, make([]byte, run.BlockBytes(b))); err == nil {
			t.Errorf("%s: no error from a spill that is cut short", codec)
		}
	}
}

// TestShortBlock reads blocks that have fewer bytes than were written, in each way to read a block.
func TestShortBlock(t *testing.T) {
	run := MemoryRun(formattest.Keyer(t, words), formattest.Numbered(0, 20), 10)
	read := run.read
	run.read = func(b *Block, dst []byte) ([]byte, error) {
		recs, err := read(b, dst)
		return recs[:len(recs)-8], err
	}
	room := make([]byte, 20*8)
	place := func(first int64, n int) []byte { return room[first*8:][:n*8] }
	_, readErr := run.ReadBlock(entryOf(t, run, 1), room)
	_, takeErr := run.Take(1, entryOf(t, run, 1), room)
	_, _, wholeErr := run.Source(0, 2).Next(20, place)
	_, _, pieceErr := run.Source(0, 2).Next(5, place)
	for i, err := range []error{readErr, takeErr, wholeErr, pieceErr} {
		if err == nil || !strings.Contains(err.Error(), "has 72 bytes, but 80 were written") {
			t.Errorf("way %d: %v", i, err)
		}
	}
}

// TestRunWriterIndex checks that every record must be written exactly once, and that otherwise
// the written data is released.
func TestRunWriterIndex(t *testing.T) {
	for name, firsts := range map[string][]int64{"gap": {0, 20}, "twice": {0, 0}, "overlap": {0, 5}, "late start": {10}} {
		store := &memoryStore{}
		s := openSpill(t, Options{Store: store})
		w := s.NewRun(Origin{})
		for _, first := range firsts {
			if err := w.WriteBlock(context.Background(), first, formattest.Numbered(0, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: no error", name)
		}
		released := int64(0)
		for _, f := range store.files {
			released += f.released
		}
		if want := int64(len(firsts)) * aligned(80); released != want {
			t.Errorf("%s: %d bytes were given back, want %d", name, released, want)
		}
	}
}

func TestSpillFolders(t *testing.T) {
	opt := Options{Folders: []string{t.TempDir() + "/missing"}, Keyer: formattest.Keyer(t, words)}
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "missing") ||
		!strings.Contains(err.Error(), "Options.TempDirs") {
		t.Errorf("a folder that does not exist: %v", err)
	}
	opt.Folders, opt.ExpectBytes = []string{t.TempDir()}, 1<<60
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), opt.Folders[0]) {
		t.Errorf("more than any disk has: %v", err)
	}
}

// TestCodecChoice checks that the choice of auto depends on the data.
func TestCodecChoice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := formattest.Bytes(r, 64<<10)
	text := bytes.Repeat([]byte("a line of text, and what it is about\n"), 2000)
	sorted := make([]byte, 64<<10)
	for i := range len(sorted) / 8 {
		binary.LittleEndian.PutUint64(sorted[8*i:], uint64(i)<<30+uint64(r.Uint32())>>2)
	}
	long := formattest.Keyer(t, format.Spec{RecordSize: 129, Keys: []string{"0:u64"}})
	for _, c := range []struct {
		name, codec string
		layout      *format.Keyer
		recs        []byte
		fast        bool // the disk is so fast that no compression pays
		want        string
	}{
		{name: "random", recs: random, want: "none"},
		{name: "random, asked for", codec: "delta", recs: random, want: "delta"},
		{name: "sorted", recs: sorted, want: "delta"},
		{name: "sorted, a fast disk", recs: sorted, fast: true, want: "none"},
		{name: "text", recs: text[:64<<10], layout: long, want: "s2"},
		{name: "long records, delta asked for", codec: "delta", layout: long, recs: text, want: "none"},
		{name: "none", codec: "none", recs: sorted, want: "none"},
		{name: "zstd", codec: "zstd", recs: sorted, want: "zstd"},
	} {
		k := formattest.Keyer(t, words)
		if c.layout != nil {
			k = c.layout
		}
		choice := choiceOf(k, c.codec, 1)
		choice.rate = 1 // so slow that every saved byte pays
		if c.fast {
			choice.rate = 1e15
		}
		var buffer []byte
		tried := 0
		for i := range (firstTrials - 1) * betweenTrials {
			if i%betweenTrials == 0 {
				tried += len(c.recs) - 8*i
			}
			got := choice.choose(&buffer, c.recs[8*i:]).String()
			if choice.trials != nil && got != "none" {
				t.Fatalf("%s: block %d is compressed by %s before there is a choice", c.name, i, got)
			}
			for n := range choice.trials {
				if got := choice.trials[n].in; got != int64(tried) {
					t.Errorf("%s: %d bytes were tried, want %d, those of blocks that lie apart", c.name, got, tried)
				}
			}
		}
		if got := choice.choose(&buffer, c.recs).String(); got != c.want {
			t.Errorf("%s: blocks are compressed by %s, want %s", c.name, got, c.want)
		}
	}
	zstd := choiceOf(formattest.Keyer(t, words), "zstd", 1)
	if packed, codec := zstd.compress(new([]byte), random, zstd.choose(new([]byte), random)); codec.String() != "none" ||
		len(packed) != len(random) {
		t.Errorf("a block that does not become smaller is stored by %s", codec)
	}
}

// TestCodecFollowsTheData has a skewed input: the blocks of a frequent key come first, and compress
// to next to nothing. The blocks after them are random and don't become smaller. Once most blocks
// are like these, no codec pays.
func TestCodecFollowsTheData(t *testing.T) {
	random := make([]byte, 16<<10)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	equal := make([]byte, len(random))
	choice := choiceOf(formattest.Keyer(t, words), "auto", 1)
	var buffer []byte
	at := func(blocks int, recs []byte, seconds float64) string {
		var last format.Compression
		for range blocks {
			last = choice.choose(&buffer, recs)
			for i := range choice.trials {
				choice.trials[i].seconds = seconds * float64(choice.trials[i].in) // not those of a busy machine
			}
			choice.decide()
		}
		return last.String()
	}
	const perByte = 0.5 / plan.DiskBytesPerSecond // pays if a fraction of the bytes is saved
	if got := at(2*firstTrials*betweenTrials, equal, perByte); got == "none" {
		t.Error("blocks with one key are not compressed")
	}
	if got := at(30*betweenLater, random, perByte); got != "none" {
		t.Errorf("blocks that don't become smaller are compressed by %s, because the first ones did", got)
	}
}

// TestCodecGain weighs time against bytes. Compression to a fifth of the size, at 2.5 GB/s, pays
// for a disk, and more so with more workers.
func TestCodecGain(t *testing.T) {
	k := formattest.Keyer(t, words)
	gain := func(coders int) float64 {
		return choiceOf(k, "auto", coders).savedSeconds(&trial{codec: format.S2, in: 1 << 40, out: 1 << 40 / 5,
			seconds: 4e-10 * (1 << 40)})
	}
	if one, many := gain(1), gain(16); one <= 0 || many <= one {
		t.Errorf("before a disk: one worker gains %g, 16 %g", one, many)
	}
	c := choiceOf(k, "auto", 1)
	s2 := c.savedSeconds(&trial{format.S2, 10, 5, 1})
	delta := c.savedSeconds(&trial{format.Delta, 10, 5, 1})
	if delta-s2 != -0.5 {
		t.Errorf("s2 gains %g, delta, whose way back takes as long as the way there, %g", s2, delta)
	}
}

// TestCodecFollowsTheDisk checks that the same data is compressed for a slow disk and not for a
// fast one.
func TestCodecFollowsTheDisk(t *testing.T) {
	k := formattest.Keyer(t, words)
	half := &trial{codec: format.S2, in: 1 << 30, out: 1 << 29, seconds: 1}
	for rate, pays := range map[float64]bool{0: false, 1e8: true, 5e9: false} {
		opt := Options{Codec: "auto", Coders: 1, Keyer: k, DiskBytes: rate}
		if gain := newCodecChoice(&opt, format.NewBlockCoder(k.Layout(), 1)).savedSeconds(half); gain > 0 != pays {
			t.Errorf("before a disk of %g bytes/s %g s are gained", rate, gain)
		}
	}
}

// choiceOf returns the choice of a codec for the records of a keyer and a number of coders.
func choiceOf(k *format.Keyer, codec string, coders int) *codecChoice {
	return newCodecChoice(&Options{Codec: codec, Coders: coders, Keyer: k}, format.NewBlockCoder(k.Layout(), coders))
}

// TestCodecBeyond checks when blocks are compressed. With codec auto, only the blocks beyond
// CachedBytes are compressed. If the expected size exceeds CachedBytes, all of them are. A codec
// that is set by name compresses all blocks, too.
func TestCodecBeyond(t *testing.T) {
	const cached = 1 << 20
	block := make([]byte, 8<<10) // sorted keys, whose compression pays for a disk
	for i := range len(block) / 8 {
		binary.LittleEndian.PutUint64(block[8*i:], uint64(i)*1001)
	}
	for _, c := range []struct {
		codec    string
		expected int64
		first    bool // whether blocks within CachedBytes are compressed
		beyond   bool
		want     string
	}{
		{"auto", -1, false, true, "delta"},
		{"auto", cached, false, false, "none"},
		{"auto", cached + 1, true, true, "delta"},
		{"delta", -1, true, true, "delta"},
		{"none", -1, false, false, "none"},
	} {
		s := openSpill(t, Options{Codec: c.codec, ExpectBytes: c.expected, CachedBytes: cached, Workers: 1})
		s.choice.rate = 1 // so slow that every saved byte pays, on any machine
		for _, part := range []struct {
			until int64
			want  bool
		}{{cached, c.first}, {3 * cached, c.beyond}} {
			coded := false
			for stored := int64(0); stored < part.until && s.Written() < part.until; stored += int64(len(block)) {
				b, err := s.storeBlock(block, new(extent), 0, new(blockio.Batch))
				if err != nil {
					t.Fatal(err)
				}
				coded = coded || b.Codec != format.None
				if got, err := s.readBlock(&b, make([]byte, len(block))); err != nil || !bytes.Equal(got, block) {
					t.Fatalf("%s of %d: other records came back: %v", c.codec, c.expected, err)
				}
			}
			if coded != part.want {
				t.Errorf("%s of %d: compressed %t, want %t, up to %d bytes", c.codec, c.expected, coded, part.want, part.until)
			}
		}
		if got := s.Codec(); got != c.want {
			t.Errorf("%s of %d: compressed by %q, want %q", c.codec, c.expected, got, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestInMemory asks about the two file systems that every Linux has.
func TestInMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the system is not asked")
	}
	if _, err := os.Stat("/dev/shm"); err == nil && !InMemory("/dev/shm") {
		t.Error("/dev/shm is on a disk")
	}
	if InMemory("/proc") || InMemory(t.TempDir()+"/missing") {
		t.Error("what is no file system in memory is one")
	}
}

// TestBlocksAreReadAhead reads a run by several readers with requests that read ahead, compressed
// and uncompressed, and detects damage. Afterwards no request may be running.
func TestBlocksAreReadAhead(t *testing.T) {
	for _, codec := range []string{"none", "delta"} {
		store, requests := &memoryStore{}, newTestRequests(t)
		s := openSpill(t, Options{Store: store, Codec: codec, Requests: requests})
		want := formattest.Numbered(0, 300_000)
		run, err := writeRun(s, want, 1500)
		if err != nil {
			t.Fatal(err)
		}
		for last := range 3 {
			damaged := entryOf(t, run, 100)
			if last == 2 {
				store.files[damaged.Volume].data[damaged.Offset] ^= 1
			}
			src, got := run.Source(0, 100+last), make([]byte, len(want))
			src.(*runSource).ReadAhead(t.Context(), 0)
			if _, held, _ := requests.Used(); held != testAhead {
				t.Errorf("%d blocks are read ahead, %d can be", held, testAhead)
			}
			var group safely.Group
			for range 3 {
				group.Go(func() error {
					for n := 1; n > 0; {
						var err error
						place := func(first int64, _ int) []byte { return got[8*first:] }
						if _, n, err = src.Next(4000, place); err != nil {
							return err
						}
					}
					return nil
				})
			}
			err := group.Wait()
			if n := 8 * src.Records(); last < 2 && (err != nil || !bytes.Equal(got[:n], want[:n])) {
				t.Errorf("%s: others came, error %v", codec, err)
			}
			if last == 2 && (err == nil || !strings.Contains(err.Error(), "damaged")) {
				t.Errorf("%s, a damaged block: %v", codec, err)
			}
			if held, _, _ := requests.Used(); held != 0 {
				t.Errorf("%d blocks are held at the end", held)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// roomyFile has room for some bytes, which must be allocated in order.
type roomyFile struct {
	File
	t              *testing.T
	room, reserved int64
	asked          int
}

func (f *roomyFile) Uncache() bool { return true }

func (f *roomyFile) Allocate(offset, bytes int64) error {
	if f.asked++; offset != f.reserved || bytes <= 0 {
		f.t.Errorf("room for %d bytes is asked for at %d, where %d are reserved", bytes, offset, f.reserved)
	}
	if offset+bytes > f.room {
		return syscall.ENOSPC
	}
	f.reserved += bytes
	return nil
}

// TestReserveAhead checks that a volume rarely reserves space, and can use all space that there is.
func TestReserveAhead(t *testing.T) {
	const step = 100 << 10
	f := &roomyFile{t: t, room: 4*maxReserve + step/2}
	v := &volume{file: f, ahead: maxReserve}
	for end := int64(step); end <= f.room; end += step {
		if err := v.reserve(end); err != nil || f.reserved < end {
			t.Fatalf("there is room for %d bytes, not for %d: %d are reserved, %v", f.room, end, f.reserved, err)
		}
	}
	if used := f.reserved; v.reserve(step) != nil || f.reserved != used {
		t.Errorf("what there was room for made them %d", f.reserved)
	}
	if most := 3 * maxReserve / step; f.asked > most {
		t.Errorf("room was asked for %d times", f.asked)
	}
	if err := v.reserve(f.room + 1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than there is room for: %v", err)
	}
}
