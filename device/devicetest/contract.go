package devicetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// testFull uses sources with more records than a chunk can hold.
func testFull(t *testing.T, d device.Device) {
	for _, units := range [][]int{nil, {1000, 1}} {
		recs := uniform(rec16, 50_000, random())
		opt := (&Case{Layout: rec16, Recs: recs}).options(keyer(t, rec16))
		opt.Records = 20_001
		chunk := open(t, d, opt)
		load(t, chunk, &Source{Recs: recs, Size: 16, Units: units}, opt.Records)
		compare(t, store(t, chunk, -1, 16), Sorted(rec16, recs[:opt.Records*16]), 16)
		if err := chunk.Close(); err != nil {
			t.Error(err)
		}
	}
}

// testBlocks asks for small blocks and checks that no block is larger.
func testBlocks(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{
		"u64":     u64,
		"rec16":   rec16,
		"gensort": records(100, "0:bytes10"),
	} {
		n := fewer(20_000)
		recs := uniform(l, n, random())
		for _, perBlock := range []int{1, 3, 1000, n - 1, n, 50_000} {
			t.Run(fmt.Sprintf(
				"%s/records=%d", name, perBlock,
			), func(t *testing.T) {
				c := Case{
					Layout: l,
					Recs:   recs,
					Block:  perBlock*l.RecordSize + l.RecordSize - 1,
				}
				chunk := open(t, d, c.options(keyer(t, l)))
				defer chunk.Close()
				load(t, chunk, &Source{
					Recs: recs,
					Size: l.RecordSize,
				}, int64(n))
				if err := chunk.Sort(context.Background()); err != nil {
					t.Fatal(err)
				}
				w := Collector{Size: l.RecordSize, Max: c.Block}
				if err := chunk.Store(context.Background(), -1, false, &w); err != nil {
					t.Fatal(err)
				}
				compare(t, w.Written(t), Sorted(l, recs), l.RecordSize)
			})
		}
	}
}

// testOrder uses a writer that waits for all blocks before the current one. Calls in any order
// but the specified one deadlock.
func testOrder(t *testing.T, d device.Device) {
	for _, dist := range []string{"uniform", "equal", "low"} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf(
				"%s/workers=%d", dist, workers,
			), func(t *testing.T) {
				n := fewer(200_000)
				recs := Distributions[dist](u64, n, random())
				c := Case{
					Layout:  u64,
					Recs:    recs,
					Block:   4096,
					Workers: workers,
				}
				chunk := open(t, d, c.options(keyer(t, u64)))
				defer chunk.Close()
				load(t, chunk, &Source{Recs: recs, Size: 8}, int64(n))
				if err := chunk.Sort(context.Background()); err != nil {
					t.Fatal(err)
				}
				w := newTurnstile(8)
				if err := chunk.Store(context.Background(), -1, false, w); err != nil {
					t.Fatal(err)
				}
				compare(t, w.Written(t), Sorted(u64, recs), 8)
			})
		}
	}
}

// testReuse loads one chunk repeatedly, with various numbers of records and distributions. It
// sorts the last records twice.
func testReuse(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{
		"u8":      records(1, "0:u8"),
		"i16desc": records(2, "0:i16be:desc"),
		"u32":     u32,
		"u64":     u64,
		"rec16":   rec16,
	} {
		t.Run(name, func(t *testing.T) {
			c := Case{
				Layout: l,
				Recs:   uniform(l, fewer(100_000), random()),
				Limit:  -1,
			}
			chunk := open(t, d, c.options(keyer(t, l)))
			defer chunk.Close()
			for _, n := range []int{fewer(100_000), 1, 0, fewer(77_000), fewer(100_000), 5000} {
				for _, dist := range []string{"uniform", "equal", "exponential"} {
					c.Recs = Distributions[dist](l, n, random())
					CheckOn(t, chunk, c)
					stats := chunk.Stats()
					if stats.Records != int64(n) {
						t.Errorf(
							"stats report %d records, want %d",
							stats.Records,
							n,
						)
					}
				}
			}
			again := store(t, chunk, -1, l.RecordSize)
			compare(t, again, Sorted(l, c.Recs), l.RecordSize)
		})
	}
}

// testConcurrent uses several chunks of one device at the same time.
func testConcurrent(t *testing.T, d device.Device) {
	var all sync.WaitGroup
	for name, l := range map[string]format.Layout{
		"u32":   u32,
		"u64":   u64,
		"rec16": rec16,
	} {
		all.Go(func() {
			for _, n := range []int{fewer(100_000), 1000, fewer(77_777)} {
				c := Case{
					Layout: l,
					Recs:   uniform(l, n, random()),
					Limit:  -1,
				}
				chunk, err := d.NewChunk(
					context.Background(), c.options(keyer(t, l)),
				)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if err := sortOnce(chunk, c); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				chunk.Close()
			}
		})
	}
	all.Wait()
}

// sortOnce sorts a case and returns an error if the result is wrong. Unlike checkOn, it can be
// used in goroutines.
func sortOnce(chunk device.Chunk, c Case) error {
	ctx := context.Background()
	size := c.Layout.RecordSize
	if _, err := chunk.Load(ctx, &Source{
		Recs: c.Recs,
		Size: size,
	}); err != nil {
		return err
	}
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	w := Collector{Size: size}
	if err := chunk.Store(ctx, -1, false, &w); err != nil {
		return err
	}
	got, err := w.Recs()
	if err == nil && string(got) != string(Sorted(c.Layout, c.Recs)) {
		err = errors.New("not in order")
	}
	return err
}

// testCancel cancels before each step and in the middle of Load and Store.
func testCancel(t *testing.T, d device.Device) {
	n := fewer(200_000)
	recs := uniform(u64, n, random())
	c := Case{
		Layout: u64,
		Recs:   recs,
		Block:  8 << 10,
		Limit:  -1,
	}
	chunk := open(t, d, c.options(keyer(t, u64)))
	defer chunk.Close()
	before := runtime.NumGoroutine()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := chunk.Load(cancelled, &Source{
		Recs: recs,
		Size: 8,
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load with a cancelled context: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := chunk.Load(ctx, &Source{Recs: recs, Size: 8, Units: []int{1000}, Before: func(call int) {
		if call == 7 {
			cancel()
		}
	}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load cancelled in the middle: %v", err)
	}
	load(t, chunk, &Source{Recs: recs, Size: 8}, int64(n))
	// A device may defer the work of Sort to Store.
	if err := chunk.Sort(cancelled); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Sort with a cancelled context: %v", err)
	}
	load(t, chunk, &Source{Recs: recs, Size: 8}, int64(n))
	if err := chunk.Sort(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := chunk.Store(cancelled, -1, false, &Collector{Size: 8}); !errors.Is(err, context.Canceled) {
		t.Errorf("Store with a cancelled context: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	if err := chunk.Store(ctx, -1, false, &Collector{Size: 8, Before: func(call int) {
		if call == 3 {
			cancel()
		}
	}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Store cancelled in the middle: %v", err)
	}
	noLeak(t, before)
	CheckOn(t, chunk, c)
}

var errFault = errors.New("injected fault")

// testSourceFails makes the first call of a source fail, then the second, and so on.
func testSourceFails(t *testing.T, d device.Device) {
	count := fewer(100_000)
	recs := uniform(rec16, count, random())
	for _, units := range [][]int{nil, {count / 20}} {
		c := Case{
			Layout: rec16,
			Recs:   recs,
			Units:  units,
			Limit:  -1,
		}
		chunk := open(t, d, c.options(keyer(t, rec16)))
		before := runtime.NumGoroutine()
		for k := 1; ; k++ {
			n, err := chunk.Load(context.Background(), &Source{
				Recs:   recs,
				Size:   16,
				Units:  units,
				FailAt: k,
				Err:    errFault,
			})
			if err == nil {
				if n != int64(count) || k < 2 {
					t.Errorf(
						"%d records loaded without a fault at call %d", n, k,
					)
				}
				break
			}
			if !errors.Is(err, errFault) {
				t.Fatalf("fault at call %d gave %v", k, err)
			}
		}
		noLeak(t, before)
		CheckOn(t, chunk, c)
		if err := chunk.Close(); err != nil {
			t.Error(err)
		}
	}
}

// testWriterFails makes the first call of a writer fail, then the second, and so on.
func testWriterFails(t *testing.T, d device.Device) {
	n := fewer(100_000)
	recs := uniform(u64, n, random())
	c := Case{
		Layout: u64,
		Recs:   recs,
		Block:  64 << 10,
		Limit:  -1,
	}
	chunk := open(t, d, c.options(keyer(t, u64)))
	defer chunk.Close()
	before := runtime.NumGoroutine()
	for k := 1; ; k++ {
		load(t, chunk, &Source{Recs: recs, Size: 8}, int64(n))
		if err := chunk.Sort(context.Background()); err != nil {
			t.Fatal(err)
		}
		err := chunk.Store(context.Background(), -1, false, &Collector{
			Size:   8,
			FailAt: k,
			Err:    errFault,
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errFault) {
			t.Fatalf("fault at call %d gave %v", k, err)
		}
	}
	noLeak(t, before)
	CheckOn(t, chunk, c)
}

// noLeak waits until there are no more goroutines than before.
func noLeak(t *testing.T, before int) {
	t.Helper()
	for range 6000 { // a minute
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// testMemory fills chunks of exactly MaxRecords records with the data that needs the most memory.
func testMemory(t *testing.T, d device.Device) {
	limits := []int64{0, 1 << 10, 1 << 20, 4 << 20, 16 << 20}
	if testing.Short() {
		limits = limits[:3]
	}
	for name, l := range map[string]format.Layout{"u32": u32, "u64": u64, "rec16": rec16,
		"gensort": records(100, "0:bytes10")} {
		last := int64(0)
		for _, memory := range limits {
			opt := device.ChunkOptions{
				Keyer:       keyer(t, l),
				MemoryBytes: memory,
				BlockBytes:  32 << 10,
				Workers:     2,
			}
			n := d.MaxRecords(opt, memory)
			if n < last ||
				n > memory && memory > 0 && d.Info().MemoryBytes == 0 {
				t.Fatalf(
					"%s: %d records in %d bytes, %d in less",
					name,
					n,
					memory,
					last,
				)
			}
			if last = n; n == 0 || n > 3_000_000 {
				continue
			}
			opt.Records = n
			fill(t, d, l, opt)
		}
		if last == 0 {
			t.Errorf(
				"%s: no record fits in %d bytes", name, limits[len(limits)-1],
			)
		}
	}
}

func fill(
	t *testing.T,
	d device.Device,
	l format.Layout,
	opt device.ChunkOptions,
) {
	t.Helper()
	chunk := open(t, d, opt)
	defer chunk.Close()
	for _, dist := range []string{"uniform", "exponential"} {
		recs := Distributions[dist](l, int(opt.Records), random())
		load(t, chunk, &Source{Recs: recs, Size: l.RecordSize}, opt.Records)
		compare(
			t,
			store(t, chunk, -1, l.RecordSize),
			Sorted(l, recs),
			l.RecordSize,
		)
	}
}

func testOptions(t *testing.T, d device.Device) {
	opt := device.ChunkOptions{
		Keyer:      keyer(t, u64),
		Records:    1000,
		BlockBytes: 1 << 10,
		Algorithm:  "bogo",
	}
	if chunk, err := d.NewChunk(context.Background(), opt); err == nil {
		chunk.Close()
		t.Error("an unknown algorithm was accepted")
	}
	for _, opt.Algorithm = range d.Info().Algorithms {
		chunk := open(t, d, opt)
		CheckOn(t, chunk, Case{
			Layout: u64,
			Recs:   uniform(u64, 1000, random()),
			Limit:  -1,
		})
		stats := chunk.Stats()
		if stats.Algorithm != opt.Algorithm {
			t.Errorf(
				"stats name algorithm %q, want %q",
				stats.Algorithm,
				opt.Algorithm,
			)
		}
		chunk.Close()
	}
}
