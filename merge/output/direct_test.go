package output

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
)

const testWindow = 64 << 10

// pastCache begins an output of records with direct I/O and its own requests. It checks that no
// request is left at the end.
func pastCache(t *testing.T, fault func(string) error, opt Options) (*Sink, *File) {
	t.Helper()
	requests := blockio.NewPool(blockio.Options{Bytes: testWindow, Writes: 4})
	file := opt.File(FileOptions{Requests: requests, Fault: fault})
	out := openFile(t, filepath.Join(t.TempDir(), "out"), file)
	sink, err := NewSink(t.Context(), out, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sink.Abort()
		requests.Wait()
		if _, _, writes := requests.Used(); writes > 0 {
			t.Errorf("at the end %d requests have memory", writes)
		}
		if err := requests.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, ok := out.writer.(*directWriter); !ok {
		t.Skip("this file system does not tell that files can be written past the page cache")
	}
	return sink, out
}

// writeShuffled writes records in blocks of many sizes, by several goroutines and in any order.
func writeShuffled(t *testing.T, sink *Sink, data []byte, size int) error {
	r := rand.New(rand.NewPCG(1, uint64(len(data))))
	var starts []int
	for at := 0; at < len(data); at += size * (1 + r.IntN(200_000/size)) {
		starts = append(starts, at)
	}
	ends := append(starts[min(1, len(starts)):len(starts):len(starts)], len(data))
	var next atomic.Int64
	order := r.Perm(len(starts))
	var group safely.Group
	for range 4 {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(order); i = int(next.Add(1)) - 1 {
				from, to := starts[order[i]], ends[order[i]]
				if err := sink.WriteBlock(t.Context(), int64(from/size), data[from:to]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// TestOutputPastCache writes outputs of many sizes with direct I/O, with and without a header.
// Some are read back before the header is written, or restarted.
func TestOutputPastCache(t *testing.T) {
	for _, size := range []int{1, 4, 100, 3*testWindow + 1} {
		for _, bytesWanted := range []int{0, 1, 4095, testWindow, testWindow + 1, 40*testWindow + 999} {
			records := bytesWanted / size
			data := make([]byte, records*size)
			rand.NewChaCha8([32]byte{byte(size)}).Read(data)
			for _, header := range []string{"", "a header, and %09d records\n"} {
				opt := Options{RecordSize: size, Records: int64(records)}
				if header != "" {
					opt.Header = func(n int64) []byte { return fmt.Appendf(nil, header, n) }
				}
				sink, out := pastCache(t, nil, opt)
				if records%2 == 1 { // something else was written before
					if err := writeShuffled(t, sink, bytes.Repeat([]byte{7}, len(data)), size); err != nil {
						t.Fatal(err)
					}
					out.Restart()
				}
				err := writeShuffled(t, sink, data, size)
				if at := int64(len(opt.header(int64(records)))); err == nil && records > 0 {
					back := make([]byte, len(data))
					if _, err = out.ReadAt(back, at); !bytes.Equal(back, data) {
						t.Errorf("%d records of %d bytes are read back as others", records, size)
					}
				}
				if err == nil {
					err = sink.Commit(t.Context(), int64(records))
				}
				want := append(opt.header(int64(records)), data...)
				if got, _ := os.ReadFile(out.naming.path); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d records of %d bytes, header %q: %d bytes were written, error %v",
						records, size, header, len(got), err)
				}
			}
		}
	}
}

// TestDirectWriterSendsCachedBlocks writes more incomplete blocks at a time than may wait for direct
// I/O. The other blocks go through the page cache, and each must be sent to the disk as soon as it
// is complete, once.
func TestDirectWriterSendsCachedBlocks(t *testing.T) {
	const blocks = 12
	sink, out := pastCache(t, nil, Options{RecordSize: 1, Records: blocks * testWindow})
	cached := &out.writer.(*directWriter).cached
	sent := map[int64]int64{} // bytes by offset
	cached.send = func(file *os.File, offset, n int64) {
		if file != out.file || sent[offset] > 0 {
			t.Errorf("%d bytes at %d are sent again, or to another file", n, offset)
		}
		sent[offset] = n
	}

	data := make([]byte, blocks*testWindow)
	rand.NewChaCha8([32]byte{1}).Read(data)
	half := testWindow / 2
	for _, from := range []int{0, half} {
		for b := range blocks {
			at := b*testWindow + from
			if err := sink.WriteBlock(t.Context(), int64(at), data[at:at+half]); err != nil {
				t.Fatal(err)
			}
		}
	}

	const direct = 3 // of the four requests for writes, three may wait for the rest of their block
	total := int64(0)
	for _, n := range sent {
		total += n
	}
	if want := int64((blocks - direct) * testWindow); total != want {
		t.Errorf("%d bytes were sent to the disk before the end, not %d", total, want)
	}
	if err := sink.Commit(t.Context(), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out.naming.path); !bytes.Equal(got, data) {
		t.Error("the file has other bytes")
	}
}

// TestOutputPastCacheSurvivesEveryFault makes each operation fail in turn, with the error of a full
// disk.
func TestOutputPastCacheSurvivesEveryFault(t *testing.T) {
	data := bytes.Repeat([]byte("record 8"), 10*testWindow/8+1)
	seen := map[string]bool{}
	for failAt := 0; ; failAt++ {
		var mu sync.Mutex
		count, failed := 0, ""
		sink, out := pastCache(t, func(operation string) error {
			mu.Lock()
			defer mu.Unlock()
			if count++; operation == "write output" && count > failAt && failed == "" {
				failed = operation
				return syscall.ENOSPC
			}
			return nil
		}, Options{RecordSize: 8, Records: int64(len(data) / 8)})
		err := writeShuffled(t, sink, data, 8)
		if err == nil {
			err = sink.Commit(t.Context(), int64(len(data)/8))
		} else if err := sink.Abort(); err != nil {
			t.Error(err)
		}
		if failed == "" {
			if err != nil || len(seen) == 0 {
				t.Errorf("%v, after %v", err, seen)
			}
			return
		}
		seen[failed] = true
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
			t.Errorf("operation %d failed, the error is %v", failAt, err)
		}
		if _, err := os.Stat(out.naming.path); err == nil {
			t.Errorf("operation %d failed, and there is an output", failAt)
		}
	}
}
