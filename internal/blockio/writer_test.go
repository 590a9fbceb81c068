package blockio

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/extsort/extsort/internal/safely"
)

// TestWriter writes the blocks of testdata/writer.txt, in two batches and by several callers.
func TestWriter(t *testing.T) {
	rows(t, "writer.txt", func(t *testing.T, r row) {
		synctest.Test(t, func(t *testing.T) {
			r.t = t
			writeRow(t, r)
		})
	})
}

func writeRow(t *testing.T, r row) {
	p := NewPool(Options{Bytes: r.number("request"), Writes: r.number("writes")})
	align := r.number("align")
	f := newMemoryFile(t, 0, Props{Align: align})
	f.slow = true
	f.failAt = r.number("fail")
	f.panics = r.values["panics"] == "yes"
	random := rand.New(rand.NewPCG(1, 2))
	blocks := make([][]byte, r.number("blocks"))
	for i := range blocks {
		blocks[i] = bytes.Repeat([]byte{byte(i + 1)}, 1+random.IntN(r.number("size")))
	}
	stride := int(roundUp(int64(r.number("size")), Align))

	w := NewWriter(p)
	var batches [2]Batch
	var group safely.Group
	callers := r.number("callers")
	for c := range callers {
		group.Go(func() error {
			for i := c; i < len(blocks); i += callers {
				if err := w.Write(f, blocks[i], int64(i*stride), &batches[i%2]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := errors.Join(group.Wait(), batches[0].Wait(), batches[1].Wait())

	if (r.values["result"] == "ok") != (err == nil) || err != nil && !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	if f.most > r.number("writes") {
		t.Errorf("%d requests at a time", f.most)
	}
	for i, block := range blocks {
		if at := i * stride; err == nil && !bytes.Equal(f.data[at:at+len(block)], block) {
			t.Errorf("block %d has other bytes", i)
		}
	}
	if err != nil {
		if later := w.Write(f, []byte{1}, 0, new(Batch)); !errors.Is(later, errDisk) {
			t.Errorf("a later write returns %v", later)
		}
	}
	allBack(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestWriteOverlaps writes as many requests at a time as the pool has, and returns before they have
// ended.
func TestWriteOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Bytes: Align, Writes: 3})
		f := newMemoryFile(t, 0, Props{Align: Align})
		f.hold = make(chan struct{})
		w := NewWriter(p)
		var batch Batch
		if err := w.Write(f, make([]byte, 3*Align), 0, &batch); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- w.Write(f, make([]byte, 1), 3*Align, &batch) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("a fourth request has memory")
		}
		close(f.hold)
		if err := errors.Join(<-done, batch.Wait()); err != nil || len(f.data) != 4*Align {
			t.Errorf("%d bytes, error %v", len(f.data), err)
		}
		allBack(t, p)
	})
}

// TestAssembler writes the files of testdata/assembler.txt: pieces in any order, by several
// callers. Pieces written before are discarded or stay.
func TestAssembler(t *testing.T) {
	rows(t, "assembler.txt", func(t *testing.T, r row) {
		synctest.Test(t, func(t *testing.T) {
			r.t = t
			assembleRow(t, r)
		})
	})
}

func assembleRow(t *testing.T, r row) {
	p := NewPool(Options{Bytes: Align, Writes: r.number("writes")})
	whole := newMemoryFile(t, 0, Props{Align: Align})
	whole.slow = true
	whole.failAt = r.number("fail")
	whole.panics = r.values["panics"] == "yes"
	rest := &sameFile{file: whole, failAt: r.number("failrest"), sent: map[int64]int64{}}
	a := NewAssembler(p, AssemblerOptions{
		File: whole,
		Rest: rest,
	})
	want := make([]byte, r.number("bytes"))
	rand.NewChaCha8([32]byte{1}).Read(want)
	if r.values["before"] == "reset" {
		if err := assemble(a, bytes.Repeat([]byte{7}, len(want)), r); err != nil {
			t.Error(err)
		}
		a.Reset()
		whole.requests = 0
		clear(rest.sent)
	}
	if most := p.opt.Writes * 3 / 4; p.held > most {
		t.Errorf("%d blocks are in memory", p.held)
	}
	err := assemble(a, want, r)
	sent := len(rest.sent)
	err = errors.Join(err, a.Flush())

	if (r.values["result"] == "ok") != (err == nil) || err != nil && !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	if err == nil && !bytes.Equal(whole.data[:min(len(want), len(whole.data))], want) {
		t.Error("other bytes were written")
	}
	if complete := len(want) / Align; err == nil && whole.requests+sent != complete {
		t.Errorf("%d requests, and %d blocks in the page cache are sent to the disk, of %d complete blocks",
			whole.requests, sent, complete)
	}
	if least := r.number("sent"); err == nil && sent < least {
		t.Errorf("only %d blocks went through the page cache", sent)
	}
	if limit := (len(want)/Align + 1) * 2; whole.requests > limit {
		t.Errorf("%d requests for %d bytes", whole.requests, len(want))
	}
	if whole.most > r.number("writes") {
		t.Errorf("%d requests at a time", whole.most)
	}
	a.Reset()
	allBack(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// assemble writes pieces in any order, by several callers.
func assemble(a *Assembler, data []byte, r row) error {
	random := rand.New(rand.NewPCG(1, 2))
	var starts []int
	for at := 0; at < len(data); at += 1 + random.IntN(r.number("piece")) {
		starts = append(starts, at)
	}
	ends := append(starts[min(1, len(starts)):len(starts):len(starts)], len(data))
	order := random.Perm(len(starts))
	if r.values["order"] == "forward" {
		for i := range order {
			order[i] = i
		}
	}
	callers := r.number("callers")
	var group safely.Group
	for c := range callers {
		group.Go(func() error {
			for k := c; k < len(order); k += callers {
				i := order[k]
				piece := data[starts[i]:ends[i]]
				if n, err := a.WriteAt(piece, int64(starts[i])); err != nil || n != len(piece) {
					return errors.Join(err, a.Err())
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// sameFile writes to a memoryFile as the page cache does: any range at once.
type sameFile struct {
	file   *memoryFile
	failAt int
	writes int
	sent   map[int64]int64 // size by offset of the ranges that were sent to the disk
}

// WriteBehind notes that a range is sent to the disk, which must happen once to each block.
func (s *sameFile) WriteBehind(off, bytes int64) {
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	if off%Align != 0 || bytes != Align || s.sent[off] != 0 {
		s.file.t.Errorf("%d bytes at %d are sent to the disk", bytes, off)
	}
	s.sent[off] = bytes
}

func (s *sameFile) WriteAt(p []byte, off int64) (int, error) {
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	if s.writes++; s.writes == s.failAt {
		return 0, errDisk
	}
	f := s.file
	if more := int(off) + len(p) - len(f.data); more > 0 {
		f.data = append(f.data, make([]byte, more)...)
	}
	return copy(f.data[off:], p), nil
}
