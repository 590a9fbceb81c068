package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
)

// TestTableFitsTheTerminal prints tables of several widths. Long text is cut first; then columns
// are left out.
func TestTableFitsTheTerminal(t *testing.T) {
	columns, err := format.ParseFields("id=u64 name=bytes30 hash=bytes20 value=f64 note=bytes10")
	if err != nil {
		t.Fatal(err)
	}
	const size = 8 + 30 + 20 + 8 + 10
	recs := make([]byte, 5*size)
	for i := range recs {
		recs[i] = byte(i * 7)
	}
	copy(recs[8:], "a name that is rather long, é\x00")
	for _, room := range []int{20, 40, 60, 80, 120, 300} {
		table := newTextTable(textform.NewEncoder(tableForm, size, columns), columns, room)
		table.fitWidths(recs, size)
		lines := table.appendCells(nil, table.titles)
		lines = table.appendRows(lines, recs, size)
		for line := range strings.Lines(string(lines)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(room, 24) {
				t.Errorf("%d columns: %d in %q", room, n, line)
			}
		}
		if isWhole := !strings.Contains(string(lines), omissionMark); isWhole != (room == 300) {
			t.Errorf("%d columns: whole is %v\n%s", room, isWhole, lines)
		}
	}
}

// TestRunInOrder converts blocks that take random times. The output is in order, and the error is
// that of the first block that fails, whichever worker meets an error first.
func TestRunInOrder(t *testing.T) {
	failure := errors.New("the first failure")
	for _, failing := range []int64{-1, 0, 7, 39} {
		var got []byte
		err := runInOrder(t.Context(), 4, conversion{
			read: func(b *textBlock) (bool, error) { return b.number < 40, nil },
			convert: func(b *textBlock) error {
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				switch {
				case b.number == failing:
					return failure
				case failing >= 0 && b.number > failing:
					return errors.New("a later failure")
				}
				b.out = append(b.out[:0], byte(b.number))
				return nil
			},
			write: func(_ context.Context, b *textBlock) error {
				got = append(got, b.out...)
				return nil
			},
		})
		want := make([]byte, 0, 40)
		for i := range byte(40) {
			if failing < 0 || int64(i) < failing {
				want = append(want, i)
			}
		}
		if !bytes.Equal(got, want) || failing < 0 && err != nil || failing >= 0 && !errors.Is(err, failure) {
			t.Errorf("failing %d: %v, %v", failing, got, err)
		}
	}
}

// TestRunInOrderEnds cancels a conversion whose input never ends.
func TestRunInOrderEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := runInOrder(ctx, 3, conversion{
		read:    func(*textBlock) (bool, error) { return true, nil },
		convert: func(*textBlock) error { return nil },
		write: func(_ context.Context, b *textBlock) error {
			if b.number == 100 {
				cancel()
			}
			return nil
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
