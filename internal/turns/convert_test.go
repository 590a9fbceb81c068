package turns

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// A block is a number that becomes a byte.
type block struct {
	number int64
	out    byte
}

// TestConversion converts blocks that take random times. The output is in order, and the error is
// that of the first block that fails, whichever worker meets an error first.
func TestConversion(t *testing.T) {
	failure := errors.New("the first failure")
	for _, failing := range []int64{-1, 0, 7, 39} {
		var got []byte
		err := Conversion[block]{
			Read: func(b *block, number int64) (bool, error) {
				b.number = number
				return number < 40, nil
			},
			Convert: func(b *block) error {
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				switch {
				case b.number == failing:
					return failure
				case failing >= 0 && b.number > failing:
					return errors.New("a later failure")
				}
				b.out = byte(b.number)
				return nil
			},
			Write: func(_ context.Context, b *block) error {
				got = append(got, b.out)
				return nil
			},
		}.Run(t.Context(), 4)
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

// TestConversionEnds cancels a conversion whose input never ends.
func TestConversionEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Conversion[block]{
		Read: func(b *block, number int64) (bool, error) {
			b.number = number
			return true, nil
		},
		Convert: func(*block) error { return nil },
		Write: func(_ context.Context, b *block) error {
			if b.number == 100 {
				cancel()
			}
			return nil
		},
	}.Run(ctx, 3)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
