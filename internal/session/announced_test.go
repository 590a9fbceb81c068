package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestMoreThanAnnounced sorts streams that contain more records than their header announces. It
// expects an error that names the input and the number, not an endless search for space.
func TestMoreThanAnnounced(t *testing.T) {
	t.Parallel()
	const more = 300_000
	array := formattest.Header(t, format.Spec{Format: "npy", Type: "u64"})
	for _, announced := range []int64{0, 1, 777, more - 1} {
		for _, c := range []struct {
			spec   format.Spec
			header []byte
		}{
			{format.Spec{Format: "sosd", Type: "u64"}, binary.LittleEndian.AppendUint64(nil, uint64(announced))},
			{format.Spec{Format: "npy"}, array.Encode(announced)},
			{format.Spec{Format: "fbin", Keys: []string{"1"}}, bigannFile(make([]byte, 8*announced), 8, 2)[:8]},
		} {
			for way, run := range everyWay() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				opt := Options{Record: c.spec, Stdout: io.Discard, TempDirs: []string{t.TempDir()},
					Stdin: bytes.NewReader(append(c.header, make([]byte, 8*more)...))}
				opt.faults.chunkRecords, opt.faults.blockBytes = 1000, 800
				err := run(ctx, opt)
				cancel()
				want := fmt.Sprintf("standard input: the header announces %d records of 8 bytes, but more follow", announced)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s of %d: the error is: %v", way, c.spec.Format, announced, err)
				}
			}
		}
	}
}

// everyWay returns the calls that read inputs, by name: a sort with each strategy for a single
// device, a merge and a check.
func everyWay() map[string]func(context.Context, Options) error {
	ways := map[string]func(context.Context, Options) error{
		"merge": func(ctx context.Context, opt Options) error { _, err := mergeAs(ctx, opt); return err },
		"check": func(ctx context.Context, opt Options) error { _, err := Check(ctx, checkOptions(opt)); return err },
	}
	for _, strategy := range anyStrategy {
		ways["sort by "+string(strategy)] = func(ctx context.Context, opt Options) error {
			opt.Strategy = strategy
			_, err := Sort(ctx, opt)
			return err
		}
	}
	return ways
}
