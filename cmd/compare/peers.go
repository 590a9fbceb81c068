package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
)

// peerProgram is another program that sorts, if it is installed.
type peerProgram struct {
	name string // as --peers takes it
	// find looks for the program, makes it known to the workshop, and says which version it is.
	find func(ctx context.Context, shop *workshop) (version string, err error)
	// contenders are the ways in which it sorts the workload; an error says why it does not.
	contenders func(shop *workshop, w workload) ([]contender, error)
}

var allPeers = []peerProgram{
	{"sort", findSort, sortContenders},
	{"stxxl", findSTXXL, stxxlContenders},
	vqsort.peer(),
	x86SIMDSort.peer(),
	ips2ra.peer(),
	{"duckdb", findDuckDB, duckDBContenders},
	{"numpy", findNumPy, numPyContenders},
	{"cupy", findCuPy, cuPyContenders},
	{"bsort", findBsort, bsortContenders},
}

func peerNames() []string {
	var names []string
	for _, p := range allPeers {
		names = append(names, p.name)
	}
	return names
}

// findPeers is the peers that were asked for and are there, and why others are not.
func (shop *workshop) findPeers(ctx context.Context) (found []peerProgram, missing []string) {
	for _, p := range allPeers {
		if shop.peers != nil && !slices.Contains(shop.peers, p.name) {
			continue
		}
		version, err := p.find(ctx, shop)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", p.name, err))
			continue
		}
		shop.say("found %s: %s", p.name, version)
		shop.peerVersions = append(shop.peerVersions, version)
		found = append(found, p)
	}
	return found, missing
}

func findSort(ctx context.Context, shop *workshop) (string, error) {
	version, err := shop.firstLine(ctx, "sort", "--version")
	if err != nil {
		return "", errors.New("no GNU sort is installed")
	}
	return version, nil
}

// sortContenders has GNU sort order lines of hexadecimal digits; records by the digits of their keys.
func sortContenders(shop *workshop, w workload) ([]contender, error) {
	if shop.bytes > shop.textLimit {
		return nil, fmt.Errorf("text takes long: --text-limit %s is less than the data", exactSize(shop.textLimit))
	}
	var all []contender
	for _, memory := range shop.memories {
		sort := command{"LC_ALL=C", "sort", "-S", exactSize(memory), "-T", ".",
			"--parallel=" + strconv.Itoa(runtime.NumCPU())}
		if !w.isNumber() {
			sort = append(sort, "-s", "-k", "1.1,1."+strconv.Itoa(2*w.keySize))
		}
		all = append(all, contender{name: "GNU sort, hex text", kind: peer, memory: memory, form: hexText,
			script: func(in, out string) script { return single("env", append(slices.Clone(sort), "-o", out, in)...) }})
	}
	return all, nil
}

func findBsort(_ context.Context, _ *workshop) (string, error) {
	if _, err := exec.LookPath("bsort"); err != nil {
		return "", errors.New("no bsort is installed")
	}
	return "bsort", nil
}

// bsortContenders has bsort order records by their bytes in the mapped file itself.
func bsortContenders(_ *workshop, w workload) ([]contender, error) {
	c := contender{name: "bsort, in place", kind: peer, inPlace: true,
		script: func(_, out string) script {
			return single("bsort", "-r", strconv.Itoa(w.recordSize), "-k", strconv.Itoa(w.keySize), out)
		}}
	if w.isNumber() {
		c.form = swapped
	}
	return []contender{c}, nil
}
