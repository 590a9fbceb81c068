package session

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/extsort/extsort/format"
)

// failingInput is an input that ends with an error.
type failingInput struct{ err error }

func (r failingInput) Read([]byte) (int, error) { return 0, r.err }

// TestBlocksOfFailedSort sorts an input that fails, for example because it is compressed and cut short, which is not
// the end of the records.
func TestBlocksOfFailedSort(t *testing.T) {
	for _, failed := range []error{
		io.ErrUnexpectedEOF,
		fmt.Errorf("wrapped: %w", io.ErrUnexpectedEOF),
		fmt.Errorf("wrapped: %w", io.EOF),
		errors.New("other"),
	} {
		opt := Options{Record: format.Spec{Type: "u64"}, Stdin: failingInput{failed}, MemoryBytes: MinMemory}
		_, err := SortBlocks(t.Context(), opt, BlockWork[int]{
			RecordSize: 8,
			BlockBytes: 800,
			Memory:     800,
			Work:       func(recs []byte) (int, error) { return len(recs), nil },
			Yield:      func(int) bool { return true },
		})
		if !errors.Is(err, failed) {
			t.Errorf("%v instead of %v", err, failed)
		}
	}
}
