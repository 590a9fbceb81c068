package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestMemorySorts sorts with each installed library and with std::sort, with various numbers of
// threads.
func TestMemorySorts(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil || testing.Short() {
		t.Skip("compiles a program")
	}
	for _, l := range []memoryLibrary{{name: "std"}, vqsort, x86SIMDSort, ips2ra} {
		t.Run(l.name, func(t *testing.T) {
			shop := &workshop{dir: t.TempDir(), tools: map[string]string{}, log: io.Discard}
			if _, err := l.find(context.Background(), shop); err != nil {
				t.Skip(err)
			}
			for _, threads := range []int{1, 2, 7} {
				for _, n := range []int{0, 1, 5, 300_000} {
					sortsNumbers(t, shop, l.tool(), threads, n, uint64(1)<<63)
				}
				sortsNumbers(t, shop, l.tool(), threads, 300_000, 3)
			}
		})
	}
}

// sortsNumbers compares the outputs for n numbers of both types with slices.Sort. The numbers are
// centered on zero, so that the maximum and the minimum of a type occur.
func sortsNumbers(t *testing.T, shop *workshop, tool string, threads, n int, spread uint64) {
	t.Helper()
	long, short := make([]uint64, n), make([]uint32, n)
	for i := range n {
		long[i] = rand.Uint64N(2*spread-1) - spread
		short[i] = uint32(long[i])
	}
	write := func(numbers any) []byte {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, numbers); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	in := map[string][]byte{"u64": write(long), "u32": write(short)}
	slices.Sort(long)
	slices.Sort(short)
	for kind, want := range map[string][]byte{"u64": write(long), "u32": write(short)} {
		testfiles.Write(t, shop.path("in"), in[kind])
		line := command{tool, kind, "in", "out", strconv.Itoa(threads), "sync"}
		if err := shop.runUntimed(context.Background(), line, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(shop.path("out")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d numbers of ±%d come out wrong: %v", line, n, spread, err)
		}
	}
}
