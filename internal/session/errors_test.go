package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
)

func TestErrorsHaveTypes(t *testing.T) {
	t.Parallel()
	sort := func(record format.Spec, data []byte, memory int64) error {
		_, err := session.Sort(t.Context(), session.Options{
			Stdin: bytes.NewReader(data), Stdout: io.Discard, Record: record, MemoryBytes: memory,
		})
		return err
	}
	bare := format.Spec{Type: "u64"}
	twice := format.Spec{Type: "u64", RecordSize: 4, Keys: []string{"0:u32"}}
	layout, ok := errors.AsType[*session.LayoutError](sort(twice, nil, 0))
	if !ok || len(layout.Faults) != 2 {
		t.Errorf("two faults: %v", layout)
	}
	if partial, ok := errors.AsType[*session.PartialRecordError](sort(bare, make([]byte, 19), 0)); !ok ||
		partial.Byte != 16 || partial.Bytes != 3 || partial.RecordSize != 8 {
		t.Errorf("19 bytes through a pipe: %+v", partial)
	}
	for _, c := range []struct {
		limit  int64
		record format.Spec
	}{{1 << 20, bare}, {session.MinMemory, format.Spec{RecordSize: 1 << 20, Keys: []string{"0:u8"}}}} {
		err := sort(c.record, make([]byte, 64<<20), c.limit)
		if memory, ok := errors.AsType[*session.MemoryError](err); !ok || memory.Limit != c.limit || memory.Least <= c.limit {
			t.Errorf("limit %d: %+v of %v", c.limit, memory, err)
		}
	}
	if err := sort(bare, make([]byte, 16), 0); err != nil {
		t.Error(err)
	}
}

// discardSink is a Sink that keeps nothing.
type discardSink struct{ io.Writer }

func (discardSink) Commit(context.Context) error { return nil }

func (discardSink) Abort() error { return nil }

// TestMessagesNameFields checks that the error about an invalid option names the option.
func TestMessagesNameFields(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]session.Options{
		"Options.Argsort":       {Argsort: "u16"},
		"Options.Algorithm":     {Algorithm: "bogo", Devices: []string{"cpu"}},
		"Options.BatchSize":     {BatchSize: 1},
		"Options.Compress":      {Compress: "xz"},
		"Options.Decompress":    {Decompress: "xz"},
		"Options.DeviceMemory":  {DeviceMemory: -1},
		"Options.DigitBits":     {DigitBits: 3, Devices: []string{"cpu"}},
		"Options.Duplicates":    {Duplicates: true, Unique: true},
		"Options.Keep":          {Unique: true, Keep: "best"},
		"Options.KeepHeader":    {KeepHeader: true},
		"Options.Limit":         {Limit: -2},
		"Options.MemoryBytes":   {MemoryBytes: 5},
		"Options.Output":        {Checkpoint: "kept"},
		"Options.Records -2":    {Records: -2},
		"Options.Sink is the":   {Sink: discardSink{io.Discard}},
		"Options.SkipBytes":     {SkipBytes: -1},
		"Options.SkipTail -1":   {SkipTail: -1},
		"Options.SpillCompress": {SpillCompress: "gzip"},
		"Options.Strategy":      {Strategy: "magic"},
		"Options.Verify":        {Shuffle: true, Verify: true},
		"Options.Workers -1":    {Workers: -1},
		"Options.Workers 1000":  {Workers: 1000000000},
		"Record.NaN":            {Record: format.Spec{Type: "f32", NaN: "up"}},
		"Record.Float":          {Record: format.Spec{Type: "f32", Float: "rounded"}},
		"Record.Float numeric":  {Record: format.Spec{Type: "f32", Float: "numeric", NaN: "total"}},
		"Record.Type":           {Record: format.Spec{Type: "u33"}},
	} {
		opt.Stdin, opt.Stdout = bytes.NewReader(nil), io.Discard
		if opt.Record.Type == "" {
			opt.Record = format.Spec{Type: "u64"}
		}
		if _, err := session.Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
