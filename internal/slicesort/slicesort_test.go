package slicesort_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/slicesort"
)

// row has fields of several widths, so that keys in any order fill words in many ways.
type row struct {
	id    int
	small int8
	half  int16
	real  float32
	wide  uint64
	text  string
	other string
	array [11]byte `extsort:"1"`
}

// field is a key of row with its comparison.
type field struct {
	key     slicesort.Key[row]
	compare func(a, b row) int
}

func by[V cmp.Ordered](get func(row) V) field {
	return field{slicesort.By(get), func(a, b row) int { return cmp.Compare(get(a), get(b)) }}
}

// TestSort compares Sort with slices.SortStableFunc, with keys in random orders and directions. Few
// values make many ties at every depth.
func TestSort(t *testing.T) {
	arrays, err := slicesort.KeysOf[row]()
	if err != nil {
		t.Fatal(err)
	}
	fields := []field{
		by(func(r row) int8 { return r.small }),
		by(func(r row) int16 { return r.half }),
		by(func(r row) float32 { return r.real }),
		by(func(r row) uint64 { return r.wide }),
		by(func(r row) string { return r.text }),
		by(func(r row) string { return r.other }),
		{arrays[0], func(a, b row) int { return slices.Compare(a.array[:], b.array[:]) }},
	}
	random := rand.New(rand.NewPCG(1, 1))
	sizes := []int{0, 1, 2, 64, 65, 1000, 70_000}
	rounds := 40
	if testing.Short() {
		rounds = 7
	}
	for round := range rounds {
		rows := make([]row, sizes[round%len(sizes)])
		for i := range rows {
			rows[i] = randomRow(random, i)
		}
		used := random.Perm(len(fields))[:1+random.IntN(len(fields))]
		var keys []slicesort.Key[row]
		descending := make([]bool, len(fields))
		for _, f := range used {
			key := fields[f].key
			if descending[f] = random.IntN(2) == 0; descending[f] {
				key = key.Reversed()
			}
			keys = append(keys, key)
		}

		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b row) int {
			for _, f := range used {
				result := fields[f].compare(a, b)
				if descending[f] {
					result = -result
				}
				if result != 0 {
					return result
				}
			}
			return 0
		})
		if err := slicesort.Sort(t.Context(), rows, keys); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rows, want) {
			t.Fatalf("round %d: %d rows with the keys %v, descending %v, are in another order", round, len(rows), used,
				descending)
		}
	}
}

func randomRow(random *rand.Rand, id int) row {
	r := row{
		id:    id,
		small: int8(random.IntN(3) - 1),
		half:  int16(random.IntN(3) - 1),
		real:  float32(random.IntN(5)) - 2.5,
		wide:  uint64(random.IntN(2)) << 40,
		text:  strings.Repeat("a long prefix", random.IntN(4)),
	}
	for range random.IntN(10) {
		r.text += string("\x00ab\xff"[random.IntN(4)])
		r.other += string("\x00\x07\x08a"[random.IntN(4)])
	}
	r.array[random.IntN(11)] = byte(random.IntN(3))
	return r
}

// TestUnsteadyKeys checks that a sort does not fail if a key function returns a different value
// each time.
func TestUnsteadyKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	rows := make([]row, 3000)
	key := slicesort.By(func(row) string { return strings.Repeat("x", random.IntN(30)) })
	if err := slicesort.Sort(t.Context(), rows, []slicesort.Key[row]{key}); err != nil {
		t.Error(err)
	}
}

// TestCancelledInTies cancels a sort after it has loaded the first words.
func TestCancelledInTies(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	rows := make([]row, 60_000)
	for i := range rows {
		rows[i].text = strings.Repeat("x", i%1000)
	}
	key := slicesort.By(func(r row) string {
		if len(r.text) == 999 {
			cancel(enough)
		}
		return r.text
	})
	if err := slicesort.Sort(ctx, rows, []slicesort.Key[row]{key}); !errors.Is(err, enough) {
		t.Errorf("the error of a cancelled sort is %v", err)
	}
	if rows[1].text != "x" {
		t.Error("a cancelled sort has changed the slice")
	}
}
