package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// table makes the table of workloads, on the disk of its workshop and in memory.
type table struct {
	shop     *workshop
	inMemory *workshop // nil: skip rows in tmpfs
	rows     []row
	peers    []peerProgram // for confined rows
	log      *tableLog
	runsMade int // number of completed runs
	toMake   int
}

// tableRun is one run of an entrant.
type tableRun struct {
	entrant
	number int
}

// makeTable makes the runs that the file lacks and prints the report of the file.
func (shop *workshop) makeTable(ctx context.Context, stdout io.Writer) error {
	t := &table{shop: shop}
	if shop.table.seed == 0 {
		shop.table.seed = uint64(time.Now().UnixNano())
	}
	s, err := t.begin(ctx)
	if t.inMemory != nil {
		defer t.inMemory.close()
	}
	if err != nil {
		return err
	}
	if t.log, err = openLog(shop.table.logFile, s); err != nil {
		return err
	}
	defer t.log.file.Close()
	if err := t.run(ctx); err != nil {
		return err
	}
	report := newTableReport(t.log)
	return errors.Join(report.write(stdout), report.verdict())
}

// begin selects the rows and returns a description of the runs.
func (t *table) begin(ctx context.Context) (start, error) {
	s := start{
		Started: time.Now().UTC().Truncate(time.Second),
		Machine: t.shop.machine,
		Size:    t.shop.bytes,
	}
	if err := t.identify(ctx); err != nil {
		return s, err
	}
	s.Versions = t.shop.table.versions
	all := t.allRows()
	if t.rows = matchingRows(all, t.shop.table.rows); len(t.rows) == 0 {
		return s, fmt.Errorf(
			"--rows %q matches no row: rows are %s and so on",
			t.shop.table.rows,
			all[0].name(),
		)
	}
	if slices.ContainsFunc(t.rows, row.inTmpfs) {
		if err := t.openTmpfs(); err != nil {
			t.shop.logf("skipped: rows in tmpfs: %v", err)
			s.Skipped = append(s.Skipped, fmt.Sprintf("tmpfs: %v", err))
			t.rows = slices.DeleteFunc(t.rows, row.inTmpfs)
		}
	}
	if t.shop.timedCgroup != nil {
		s.Limit = t.shop.table.limit
		s.Cgroup = t.shop.timedCgroup.version
		s.Skipped = append(s.Skipped, t.invitePeers(ctx)...)
		s.Peers = t.shop.peerVersions
	}
	return s, nil
}

// allRows returns all possible rows of the table.
func (t *table) allRows() []row {
	disk := t.shop.machine.FileSystem
	if disk == "" || disk == inTmpfs {
		disk = "work"
	}
	if t.shop.table.confined {
		return confinedRows(disk)
	}
	return allRows([]string{disk, inPipe, inTmpfs})
}

// identify identifies the versions.
func (t *table) identify(ctx context.Context) error {
	for i := range t.shop.table.versions {
		v := &t.shop.table.versions[i]
		var err error
		if v.Reported, err = t.shop.firstLine(ctx, v.tool(), "--version"); err != nil {
			return fmt.Errorf("%s --version: %w", v.path, err)
		}
		if err := v.identify(); err != nil {
			return err
		}
	}
	return nil
}

// tmpfsRoom is the space that a sort in tmpfs needs, in multiples of the data: input, output,
// spill files, and memory.
const tmpfsRoom = 6

// openTmpfs creates the directory for rows in tmpfs.
func (t *table) openTmpfs() error {
	dir := t.shop.table.tmpfs
	fs := describeMachine(dir).FileSystem
	if fs != inTmpfs {
		return fmt.Errorf("%s is not a tmpfs", dir)
	}
	free := freeMemory(dir)
	if free < tmpfsRoom*t.shop.bytes {
		return fmt.Errorf(
			"%s has %s of free space, but needs %s",
			dir,
			binarySize(free),
			binarySize(tmpfsRoom*t.shop.bytes),
		)
	}
	dir, err := os.MkdirTemp(dir, "extsort-compare-")
	if err != nil {
		return err
	}
	shop := *t.shop
	shop.dir = dir
	t.inMemory = &shop
	return nil
}

// run makes all runs, workload by workload.
func (t *table) run(ctx context.Context) error {
	t.forecast()
	for len(t.rows) > 0 {
		w := t.rows[0].workload
		end := slices.IndexFunc(t.rows, func(r row) bool {
			return r.workload.Name != w.Name
		})
		if end < 0 {
			end = len(t.rows)
		}
		if err := t.runWorkload(ctx, w, t.rows[:end]); err != nil {
			return err
		}
		t.rows = t.rows[end:]
	}
	return nil
}

// forecast logs how long the missing runs will take.
func (t *table) forecast() {
	for _, r := range t.rows {
		t.toMake += len(t.missing(r))
	}
	t.shop.logf(
		"%d runs in %d rows, about %s; the seed of their order is %d",
		t.toMake,
		len(t.rows),
		t.remaining(t.rows),
		t.shop.table.seed,
	)
}

// remaining returns how long the missing runs of rows will take.
func (t *table) remaining(rows []row) time.Duration {
	var sum time.Duration
	for _, r := range rows {
		sum += time.Duration(len(t.missing(r))) * t.log.expectedTime(r.name(), t.shop.bytes)
	}
	return sum.Round(time.Second)
}

// missing returns the runs of a row that the file lacks, in an order that depends only on the
// seed.
func (t *table) missing(r row) []tableRun {
	var runs []tableRun
	for _, e := range t.entrants(r) {
		for n := range e.runs {
			if !t.log.makesNeedless(r.name(), e, n+1) {
				runs = append(runs, tableRun{e, n + 1})
			}
		}
	}
	shuffle(runs, t.shop.table.seed, r.name())
	return runs
}

// entrants returns all entrants of a row.
func (t *table) entrants(r row) []entrant {
	if t.shop.table.confined {
		return append(r.confinedEntrants(t.shop.settings), t.peerEntrants(r)...)
	}
	return t.shop.entrants(r)
}

// shuffle orders the runs of a row by a seed.
func shuffle(runs []tableRun, seed uint64, row string) {
	sum := fnv.New64a()
	sum.Write([]byte(row))
	random := rand.New(rand.NewPCG(seed, sum.Sum64()))
	random.Shuffle(len(runs), func(i, j int) {
		runs[i], runs[j] = runs[j], runs[i]
	})
}

// runWorkload generates the data and makes the runs of the rows that sort it.
func (t *table) runWorkload(ctx context.Context, w workload, rows []row) error {
	if !slices.ContainsFunc(rows, func(r row) bool { return len(t.missing(r)) > 0 }) {
		return nil
	}
	t.shop.logf(
		"%s: %s; about %s left",
		w.Name,
		w.describeSize(t.shop.bytes),
		t.remaining(t.rows),
	)
	in, err := t.shop.newInputs(ctx, w)
	defer in.remove()
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.inTmpfs() && in.shop == t.shop { // rows in tmpfs come last
			in, err = in.copyInto(t.inMemory)
			defer in.remove()
			if err != nil {
				return err
			}
		}
		if err := t.runRow(ctx, r, in); err != nil {
			return err
		}
	}
	return nil
}

// runRow makes the runs of a row. If a run fails or shows that a forced strategy is impossible,
// it skips the other runs of that contender.
func (t *table) runRow(ctx context.Context, r row, in *inputs) error {
	checked := map[string]bool{}
	over := map[string]bool{}
	for _, run := range t.missing(r) {
		t.runsMade++
		if over[run.name] {
			continue
		}
		begin := time.Now()
		e := entry{
			Row:       r.name(),
			Contender: run.name,
			Run:       run.number,
			Seed:      t.shop.table.seed,
		}
		err := t.runEntrant(ctx, &e, run.entrant, in, !checked[run.name])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		checked[run.name] = true
		if err != nil {
			e.Failed = err.Error()
		}
		e.TotalSeconds = time.Since(begin).Seconds()
		over[run.name] = err != nil || !run.follows(e)
		t.shop.logf("  [%d/%d] %-26s %-16s %d: %8.3f s %s%s",
			t.runsMade, t.toMake, e.Row, e.Contender, e.Run, e.Seconds, e.RanStrategy, e.Failed)
		if err := t.log.add(e); err != nil {
			return err
		}
	}
	return nil
}

// runEntrant restores the state of the machine, runs the contender, and removes its output.
func (t *table) runEntrant(
	ctx context.Context, e *entry, run entrant, in *inputs, check bool,
) (err error) {
	defer func() { err = errors.Join(err, in.shop.removeOutputs()) }()
	prepare := in.prepareWarm
	if in.shop.table.confined {
		prepare = in.prepareCold
	}
	name, err := prepare(ctx, run.contender)
	if err != nil {
		return err
	}
	m, err := in.shop.execute(ctx, run.script(name, output))
	if err != nil {
		return err
	}
	e.setMeasurement(m)
	if check {
		return in.shop.check(ctx, in.w, run.contender, output, in.expected)
	}
	return nil
}

// prepareWarm settles memory, waits until no data is being written back, and reads the input into
// the page cache. It returns the name of the input.
func (in *inputs) prepareWarm(
	ctx context.Context, _ contender,
) (string, error) {
	if err := in.shop.settle(in.w.bytes(in.shop.bytes)); err != nil {
		return "", err
	}
	if err := in.shop.runUntimed(ctx, command{"sync"}, nil, nil); err != nil {
		return "", err
	}
	return in.rawName(), in.warmCache()
}

// follows reports whether a run used the strategy that was forced, or did not report its
// strategy.
func (e entrant) follows(run entry) bool {
	return e.strategy == "" || run.RanStrategy == "" || run.RanStrategy == e.strategy
}

// makesNeedless reports whether a run of an entrant is unnecessary, because the file contains it or
// a run which shows that its strategy is impossible. Failed runs are repeated.
func (l *tableLog) makesNeedless(row string, e entrant, number int) bool {
	return slices.ContainsFunc(l.runsOf(row, e.name), func(run entry) bool {
		return run.Failed == "" && (run.Run == number || !e.follows(run))
	})
}
