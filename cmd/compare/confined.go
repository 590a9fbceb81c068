package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// confinedWorkloads are the kinds of data of the confined table, in the order of the table of
// workloads.
var confinedWorkloads = []workload{
	{"u64", "64-bit keys, uniform", []string{"-t", "u64"}, 8, 8, "uniform"},
	{"u32", "32-bit keys, uniform", []string{"-t", "u32"}, 4, 4, "uniform"},
	{"zipf", "64-bit keys, zipf", []string{"-t", "u64"}, 8, 8, "zipf"},
	{"nearly-sorted", "64-bit keys, nearly sorted", []string{"-t", "u64"}, 8, 8, "nearly-sorted"},
	{"100-byte", "100-byte records, 10-byte keys", []string{"-f", "gensort"}, 100, 10, "uniform"},
	{
		"u64+u64",
		"16-byte records, two 64-bit keys",
		[]string{"-R", "16", "-k", "0:u64", "-k", "8:u64"},
		16,
		16,
		"uniform",
	},
	{"128-byte", "128-byte records, 16-byte keys", []string{"-R", "128", "-k", "0:bytes16"}, 128, 16, "uniform"},
}

// Some peers are slow on data that does not fit into memory. The peers that can sort such data
// run once each, and only on one kind of bare key and one kind of record.
var (
	confinedPeers = []string{"stxxl", "duckdb", "bsort"}
	peerWorkloads = []string{"u64", "100-byte"}
)

// twoSyncedCopies is the yardstick for a sort that reads and writes all data twice.
const twoSyncedCopies = "two cp+sync"

// confinedRows returns the rows on a disk.
func confinedRows(disk string) []row {
	var rows []row
	for _, w := range confinedWorkloads {
		rows = append(rows, row{w, share{name: "confined"}, disk})
	}
	return rows
}

// confinedEntrants returns the yardsticks, each version, and the last version with each strategy
// forced.
func (r row) confinedEntrants(s settings) []entrant {
	all := []entrant{
		{contender: copier(syncedCopy, true), runs: s.runs},
		{contender: twiceCopier(), runs: s.runs},
	}
	return append(all, r.ownEntrants(s, toFile)...)
}

// twiceCopier copies the data and syncs, twice.
func twiceCopier() contender {
	once := copier(syncedCopy, true).script
	return contender{name: twoSyncedCopies, kind: yardstick, copies: true, script: func(in, out string) script {
		return append(once(in, "copy"), once("copy", out)...)
	}}
}

// peerEntrants returns the peers that can sort the data of a row, one run each.
func (t *table) peerEntrants(r row) []entrant {
	var all []entrant
	if !slices.Contains(peerWorkloads, r.workload.Name) {
		return nil
	}
	for _, p := range t.peers {
		// invitePeers has reported why a peer is missing.
		found, _ := p.contenders(t.shop, r.workload)
		for _, c := range found {
			all = append(all, entrant{contender: withSync(c), runs: 1})
		}
	}
	return all
}

// withSync returns a contender that also syncs its output to disk.
func withSync(c contender) contender {
	plain := c.script
	c.script = func(in, out string) script {
		return append(plain(in, out), single("sync", out)...)
	}
	return c
}

// invitePeers finds the peers and returns which ones are skipped, with the reasons.
func (t *table) invitePeers(ctx context.Context) (skipped []string) {
	if !slices.ContainsFunc(t.rows, func(r row) bool { return slices.Contains(peerWorkloads, r.workload.Name) }) {
		return nil
	}
	t.peers, skipped = t.shop.findPeers(ctx)
	for _, r := range t.rows {
		if !slices.Contains(peerWorkloads, r.workload.Name) {
			continue
		}
		for _, p := range t.peers {
			if _, err := p.contenders(t.shop, r.workload); err != nil {
				skipped = append(
					skipped, fmt.Sprintf("%s in %s: %v", p.name, r.name(), err),
				)
			}
		}
	}
	return skipped
}

// makeConfined makes the confined table in a cgroup that it creates and removes.
func makeConfined(
	ctx context.Context, shop *workshop, stdout io.Writer,
) (err error) {
	if shop.machine.FileSystem == inTmpfs {
		return fmt.Errorf(
			"%s is in memory: name a directory on a disk with --work", shop.workFolder,
		)
	}
	if shop.timedCgroup, err = newCgroup(shop.table.limit); err != nil {
		return err
	}
	shop.logf(
		"timed runs are in a %s cgroup with %s of memory",
		shop.timedCgroup.version,
		binarySize(shop.table.limit),
	)
	defer func() { err = errors.Join(err, shop.timedCgroup.remove()) }()
	return shop.makeTable(ctx, stdout)
}

// prepareCold writes the input in the form that a contender needs to disk, drops it from the page
// cache, and waits until no other data is being written back. It returns the name of the input.
func (in *inputs) prepareCold(
	ctx context.Context, c contender,
) (string, error) {
	name, err := in.ensureForm(ctx, c.form)
	if err != nil {
		return "", err
	}
	cold := []string{name}
	if c.inPlace {
		if err := in.copyTo(name, output); err != nil {
			return "", err
		}
		cold = append(cold, output)
	}
	if err := in.shop.runUntimed(ctx, command{"sync"}, nil, nil); err != nil {
		return "", err
	}
	for _, file := range cold {
		err = errors.Join(err, dropPages(in.shop.path(file)))
	}
	return name, err
}
