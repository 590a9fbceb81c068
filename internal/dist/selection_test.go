package dist

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCutsAreExact compares cuts with those of a sorted list of all places, and holds how many records they read.
func TestCutsAreExact(t *testing.T) {
	for _, runs := range []int{1, 2, 8, 64} {
		for name, keys := range map[string]uint64{"uniform": 1 << 60, "few": 5, "equal": 1} {
			t.Run(fmt.Sprintf("%d runs, %s", runs, name), func(t *testing.T) { checkCuts(t, runs, keys) })
		}
	}
}

func checkCuts(t *testing.T, runs int, keys uint64) {
	random := rand.New(rand.NewPCG(3, uint64(runs)))
	data, all := make([][]uint64, runs), [][3]uint64{}
	s := &selection{}
	for r := range data {
		data[r] = make([]uint64, random.IntN(3000))
		for i := range data[r] {
			data[r][i] = random.Uint64N(keys)
		}
		slices.Sort(data[r])
		for i, key := range data[r] {
			all = append(all, [3]uint64{key, uint64(r), uint64(i)})
		}
		s.runs = append(s.runs, &sortedRun{records: int64(len(data[r]))})
	}
	slices.SortFunc(all, func(a, b [3]uint64) int { return slices.Compare(a[:], b[:]) })
	s.read = func(run int, index int64) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, data[run][index]), nil
	}
	for k := range 33 {
		rank := len(all) * k / 32
		want := make([]int64, runs)
		for _, place := range all[:rank] {
			want[place[1]]++
		}
		got, err := s.cut(t.Context(), int64(rank))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("rank %d of %d: cuts %v, %v, and not %v", rank, len(all), got, err, want)
		}
		if most := 64 * runs; len(s.known) > most {
			t.Errorf("rank %d of %d: %d records were read, and at most %d should be", rank, len(all), len(s.known), most)
		}
	}
}
