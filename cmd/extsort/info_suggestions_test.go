package main

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/extsort/extsort/internal/info"
)

// shownOf returns records that consist of two 8-byte numbers. numbers are the second numbers.
func shownOf(order binary.ByteOrder, numbers ...uint64) (shown []info.Record) {
	for i, number := range numbers {
		record := binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
		record = append(record, 0, 0, 0, 0, 0, 0, 0, 0)
		order.PutUint64(record[8:], number)
		shown = append(shown, info.Record{Parts: []info.Segment{{Size: 16, Hex: hex.EncodeToString(record)}}})
	}
	return shown
}

func TestKeysAreGuessed(t *testing.T) {
	for _, c := range []struct {
		what      string
		shown     []info.Record
		size      int
		key, said string
	}{
		{"seconds", shownOf(binary.LittleEndian, 1764230000, 1764230001), 16, "8:u64",
			"8:u64 looks like a time in seconds: 2025-11-27 07:53:20 UTC to 2025-11-27 07:53:21 UTC"},
		{
			"milliseconds, big-endian",
			shownOf(binary.BigEndian, 1764230000000, 1764230000000, 1764230001500),
			16,
			"8:u64be",
			"8:u64be looks like a time in milliseconds: 2025-11-27 07:53:20 UTC to 2025-11-27 07:53:21.5 UTC",
		},
		{"microseconds", shownOf(binary.LittleEndian, 1764230000000000, 1764230000000001), 16, "8:u64",
			"8:u64 looks like a time in microseconds: 2025-11-27 07:53:20 UTC to 2025-11-27 07:53:20.000001 UTC"},
		{"nanoseconds", shownOf(binary.LittleEndian, 1764230000000000000, 1764230000000000007), 16, "8:u64",
			"8:u64 looks like a time in nanoseconds: 2025-11-27 07:53:20 UTC to 2025-11-27 07:53:20.000000007 UTC"},
		{"times that fall", shownOf(binary.LittleEndian, 1764230001, 1764230000), 16, "0:u64", ""},
		{"the same time", shownOf(binary.LittleEndian, 1764230000, 1764230000), 16, "0:u64", ""},
		{"one record", shownOf(binary.LittleEndian, 1764230000), 16, "0:u64", ""},
		{"small numbers", shownOf(binary.LittleEndian, 1, 2, 3), 16, "0:u64", ""},
		{"more than an int64", shownOf(binary.LittleEndian, 1<<63, 1<<63+1), 16, "0:u64", ""},
		{"12 bytes", nil, 12, "0:u32", ""},
		{"6 bytes", nil, 6, "0:u16", ""},
		{"a byte", nil, 1, "0:bytes1", ""},
		{"27 bytes", nil, 27, "0:bytes8", ""},
	} {
		if got := guessKey(c.shown, c.size); got != (keyGuess{c.key, c.said}) {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}

func TestNextCommandIsForTheShell(t *testing.T) {
	for file, want := range map[string]string{
		"a.bin":      "extsort -t u8 -o a-sorted.bin a.bin",
		"a b":        "extsort -t u8 -o 'a b-sorted' 'a b'",
		"-t":         "extsort -t u8 -o -t-sorted -- -t",
		"/d.e/x.npy": "extsort -t u8 -o /d.e/x-sorted.npy /d.e/x.npy",
		"/d.e/x":     "extsort -t u8 -o /d.e/x-sorted /d.e/x",
	} {
		if got := sortCommand(file, []string{"-t", "u8"}); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
}
