package slicesort_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/slicesort"
)

// event is a struct of 56 bytes.
type event struct {
	host  string
	code  int32
	level uint8
	time  int64
	_     [3]uint64 // fields that are not keys
}

func randomEvents(n int) []event {
	random := rand.New(rand.NewPCG(7, 8))
	events := make([]event, n)
	for i := range events {
		events[i] = event{
			host:  fmt.Sprintf("host-%06d.example.org", random.IntN(n)),
			code:  int32(random.Uint32()),
			level: uint8(random.IntN(5)),
			time:  int64(random.Uint64()),
		}
	}
	return events
}

// BenchmarkSort compares Sort with slices.SortStableFunc.
func BenchmarkSort(b *testing.B) {
	host := slicesort.By(func(e event) string { return e.host })
	number := slicesort.By(func(e event) int64 { return e.time })
	level := slicesort.By(func(e event) uint8 { return e.level })
	code := slicesort.By(func(e event) int32 { return e.code })
	compareHosts := func(a, b event) int { return strings.Compare(a.host, b.host) }
	for _, c := range []struct {
		name    string
		keys    []slicesort.Key[event]
		compare func(a, b event) int
	}{
		{"string", []slicesort.Key[event]{host}, compareHosts},
		{"int", []slicesort.Key[event]{number}, func(a, b event) int { return cmp.Compare(a.time, b.time) }},
		{"several", []slicesort.Key[event]{level, code.Reversed(), host, number}, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(b.code, a.code), compareHosts(a, b),
				cmp.Compare(a.time, b.time))
		}},
		{"few", []slicesort.Key[event]{level, host}, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.level, b.level), compareHosts(a, b))
		}},
	} {
		for _, n := range []int{100, 10_000, 1_000_000} {
			events := randomEvents(n)
			work := make([]event, n)
			run := func(name string, sort func() error) {
				b.Run(fmt.Sprintf("%s/%d/%s", c.name, n, name), func(b *testing.B) {
					for b.Loop() {
						copy(work, events)
						if err := sort(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			run("extsort", func() error { return slicesort.Sort(b.Context(), work, c.keys) })
			run("slices", func() error {
				slices.SortStableFunc(work, c.compare)
				return nil
			})
		}
	}
}
