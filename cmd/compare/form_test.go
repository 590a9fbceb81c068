package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func named(t *testing.T, name string) workload {
	t.Helper()
	at := slices.Index(workloadNames(), name)
	if at < 0 {
		t.Fatalf("no workload %q", name)
	}
	return allWorkloads[at]
}

func randomRecords(w workload, n int) []byte {
	data := make([]byte, n*w.recordSize)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(data)
	return data
}

func TestFormsComeBack(t *testing.T) {
	for _, f := range []form{hexText, bigEndianForm} {
		for _, w := range allWorkloads {
			for _, n := range []int{0, 1, 1000} {
				data := randomRecords(w, n)
				var encoded, back bytes.Buffer
				if err := f.encodeAll(context.Background(), &encoded, bytes.NewReader(data), w); err != nil {
					t.Fatal(err)
				}
				if encoded.Len() != n*f.length(w) {
					t.Fatalf(
						"%s of %d records of %s: %d bytes, want %d",
						f.name,
						n,
						w.Name,
						encoded.Len(),
						n*f.length(w),
					)
				}
				if err := f.decodeAll(context.Background(), &back, &encoded, w); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(back.Bytes(), data) {
					t.Errorf("%s of %d records of %s came back changed", f.name, n, w.Name)
				}
			}
		}
	}
}

func TestTextOrderIsKeyOrder(t *testing.T) {
	w := named(t, "u64")
	keys := []uint64{0, 1, 0xFF, 0x100, 1 << 32, 0x0123456789ABCDEF, 1<<64 - 1}
	var data []byte
	for _, k := range keys {
		data = binary.LittleEndian.AppendUint64(data, k)
	}
	var text bytes.Buffer
	if err := hexText.encodeAll(context.Background(), &text, bytes.NewReader(data), w); err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(text.String())
	if !slices.IsSorted(lines) || lines[5] != "0123456789abcdef" {
		t.Errorf("the lines are %q", lines)
	}
}

func TestDecodeRefuses(t *testing.T) {
	w := named(t, "u32")
	for name, text := range map[string]string{
		"a partial line": "0011\n",
		"other digits":   "0011223g\n",
		"a longer line":  "001122334\n",
	} {
		if err := hexText.decodeAll(context.Background(), &bytes.Buffer{}, strings.NewReader(text), w); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestTranslateStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := named(t, "u64")
	if err := hexText.encodeAll(ctx, &bytes.Buffer{}, bytes.NewReader(randomRecords(w, 10)), w); err == nil {
		t.Error("a cancelled translation went on")
	}
}
