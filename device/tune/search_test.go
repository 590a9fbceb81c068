package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
)

var (
	u32 = opencl.KeyKind{WordBytes: 4}
	u64 = opencl.KeyKind{WordBytes: 8}
)

// hill is a device whose rates are a function of the parameters.
type hill struct {
	rate   func(c bench.Case) float64 // 0: cannot be run
	failed func(c bench.Case) error
	cases  []bench.Case
}

func (h *hill) Info() device.Info {
	return device.Info{Name: "hill", Kind: device.GPU, Automatic: true, Units: 10, MemoryBytes: 1 << 30,
		Algorithms: []string{"count-scan-reorder", "onesweep", "selection", "selection-blocks"}}
}

func (h *hill) LinkRate() (float64, error) { return 1e10, nil }
func (h *hill) Close() error               { return nil }

func (h *hill) Time(_ context.Context, c bench.Case, runs int) (bench.Timing, error) {
	h.cases = append(h.cases, c)
	if h.failed != nil {
		if err := h.failed(c); err != nil {
			return bench.Timing{}, err
		}
	}
	rate := h.rate(c)
	if rate == 0 {
		return bench.Timing{}, bench.ErrCannot
	}
	return bench.Timing{Seconds: slices.Repeat([]float64{float64(c.Records) / rate}, runs)}, nil
}

// rates makes onesweep fastest with 512 × 11, where 512 is possible only with fewer than 12
// items. The other sort is fastest by default. The selection sorts win up to 1024 keys.
func rates(c bench.Case) float64 {
	group, items := float64(cmp.Or(c.Params.GroupSize, 256)), float64(cmp.Or(c.Params.Items, 8))
	switch {
	case c.Algorithm == "onesweep" && group*items >= 512*12:
		return 0
	case c.Algorithm == "onesweep":
		return (1e9 - 1e7*(group-512)*(group-512)/1e4 - 1e6*(items-11)*(items-11)) / (1 + 1e3/float64(c.Records))
	case c.Algorithm == "count-scan-reorder" && c.Params == (algo.Params{}):
		return 0.9e9
	case c.Algorithm == "count-scan-reorder":
		return 0.5e9
	case c.Algorithm == "selection-blocks" && c.Params.BlockFactor == 4:
		return 6e11 / float64(c.Records)
	}
	return 3e11 / float64(c.Records)
}

func mustSearch(t *testing.T, h *hill, opt Options) opencl.Tuning {
	t.Helper()
	found, err := Search(context.Background(), h, opt)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSearchFindsTheTop(t *testing.T) {
	h := &hill{rate: rates}
	found := mustSearch(t, h, Options{Records: 1 << 20, Keys: []opencl.KeyKind{u64}})
	if len(found.Sorts) != 2 {
		t.Fatalf("found %+v", found)
	}
	one, csr := found.Sorts[0], found.Sorts[1]
	if one.Params != (algo.Params{GroupSize: 512, Items: 11}) || one.Rate <= one.Default {
		t.Errorf("onesweep: %+v", one)
	}
	if csr.Params != (algo.Params{}) || csr.Rate != csr.Default {
		t.Errorf("count-scan-reorder, which nothing makes faster: %+v", csr)
	}
	if found.LinkRate != 1e10 || found.SortRate != 8*one.Rate {
		t.Errorf("link %g, sort %g, onesweep %g", found.LinkRate, found.SortRate, one.Rate)
	}
	for _, c := range h.cases {
		if c.Key != u64 {
			t.Errorf("%+v was tried", c)
		}
	}
	if len(found.Tiny) != 1 || found.Tiny[0].Algorithm != "selection-blocks" ||
		found.Tiny[0].Params.BlockFactor != 4 || found.Tiny[0].Records != 1024 {
		t.Errorf("tiny: %+v", found.Tiny)
	}
}

// If nothing can be timed, there is no result, and the error says why.
func TestSearchOfTooManyKeys(t *testing.T) {
	h := &hill{rate: rates, failed: func(c bench.Case) error {
		if c.Records > 1<<30 {
			return fmt.Errorf("%w: too many", bench.ErrCannot)
		}
		return nil
	}}
	found, err := Search(context.Background(), h, Options{Records: 1 << 31, Budget: time.Second})
	if err == nil || !strings.Contains(err.Error(), "with 2147483648 keys: not on this device: too many") {
		t.Errorf("found %+v, error %v", found, err)
	}
}

// No candidate is timed twice, except to confirm the winner.
func TestSearchTriesNothingTwice(t *testing.T) {
	h := &hill{rate: rates}
	mustSearch(t, h, Options{Records: 1 << 20, Keys: []opencl.KeyKind{u32}})
	times := map[bench.Case]int{}
	for _, c := range h.cases {
		if times[c]++; times[c] > 2 {
			t.Errorf("%+v was tried %d times", c, times[c])
		}
	}
}

// TestSearchWithoutTime leaves no time to search. The search then times the default parameters
// twice and reports their rates.
func TestSearchWithoutTime(t *testing.T) {
	h := &hill{rate: rates}
	found := mustSearch(t, h, Options{Budget: time.Nanosecond})
	if len(found.Sorts) != 2*len(opencl.KeyKinds) || len(found.Tiny) != 0 || len(h.cases) != 2*len(found.Sorts) {
		t.Errorf("%d cases for %+v", len(h.cases), found)
	}
	for _, s := range found.Sorts {
		if s.Params != (algo.Params{}) || s.Rate <= 0 {
			t.Errorf("%+v", s)
		}
	}
}

// Algorithms that are much too slow are not searched, but their rate is measured and confirmed.
func TestSearchSkipsHopelessAlgorithms(t *testing.T) {
	h := &hill{rate: func(c bench.Case) float64 {
		if c.Algorithm == "onesweep" {
			return 1e8
		}
		return rates(c)
	}}
	found := mustSearch(t, h, Options{Records: 1 << 20, Keys: []opencl.KeyKind{u32}})
	tried := 0
	for _, c := range h.cases {
		if c.Algorithm == "onesweep" {
			tried++
		}
	}
	if tried != 2 || len(found.Sorts) != 2 || found.Sorts[1].Algorithm != "onesweep" || found.Sorts[1].Rate == 0 {
		t.Errorf("onesweep was tried %d times, found %+v", tried, found.Sorts)
	}
}

// A lucky measurement does not win.
func TestSearchConfirms(t *testing.T) {
	seen := map[bench.Case]bool{}
	h := &hill{rate: func(c bench.Case) float64 {
		if c.Params.Items == 9 && !seen[c] {
			seen[c] = true
			return 2e9
		}
		return 1e9
	}}
	for _, s := range mustSearch(t, h, Options{Records: 1 << 16, Keys: []opencl.KeyKind{u32}}).Sorts {
		if s.Params != (algo.Params{}) {
			t.Errorf("%+v was kept", s)
		}
	}
}

// Parameters that fail are skipped. A default that sorts incorrectly ends the search.
func TestSearchOnADeviceThatFails(t *testing.T) {
	h := &hill{rate: rates, failed: func(c bench.Case) error {
		if c.Params.Items > 0 {
			return bench.ErrWrong
		}
		return nil
	}}
	if s := mustSearch(t, h, Options{Records: 1 << 20,
		Keys: []opencl.KeyKind{u32}}).Sorts[0]; s.Params.Items != 0 || s.Params.GroupSize != 512 {
		t.Errorf("%+v", s)
	}
	h.failed = func(bench.Case) error { return bench.ErrWrong }
	if _, err := Search(context.Background(), h, Options{}); err == nil {
		t.Error("a device that sorts wrongly was tuned")
	}
}

func TestSearchEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Search(ctx, &hill{rate: rates}, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
