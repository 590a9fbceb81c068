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

// A peerProgram is another sort program, if it is installed.
type peerProgram struct {
	name string // name for --peers
	// find looks for the program, registers it in the workshop, and returns its version.
	find func(ctx context.Context, shop *workshop) (version string, err error)
	// contenders returns the ways in which it can sort the workload, or an error that says why it
	// cannot.
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

// findPeers returns the requested peers that are installed, and for each of the others the reason
// why it is missing.
func (shop *workshop) findPeers(
	ctx context.Context,
) (found []peerProgram, missing []string) {
	for _, p := range allPeers {
		if shop.peers != nil && !slices.Contains(shop.peers, p.name) {
			continue
		}
		version, err := p.find(ctx, shop)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", p.name, err))
			continue
		}
		shop.logf("found %s: %s", p.name, version)
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

// sortContenders makes GNU sort sort lines of hexadecimal digits. It sorts records by the digits of
// their keys.
func sortContenders(shop *workshop, w workload) ([]contender, error) {
	if shop.bytes > shop.textLimit {
		return nil, fmt.Errorf(
			"sorting text takes long, and the data exceeds --text-limit %s",
			exactSize(shop.textLimit),
		)
	}
	var all []contender
	for _, memory := range shop.memories {
		sort := command{"LC_ALL=C", "sort", "-S", exactSize(memory), "-T", ".",
			"--parallel=" + strconv.Itoa(runtime.NumCPU())}
		if !w.isNumber() {
			sort = append(sort, "-s", "-k", "1.1,1."+strconv.Itoa(2*w.keySize))
		}
		all = append(
			all,
			contender{name: "GNU sort, hex text", kind: peer, memory: memory, form: hexText,
				script: func(in, out string) script {
					return single(
						"env", append(slices.Clone(sort), "-o", out, in)...,
					)
				}},
		)
	}
	return all, nil
}

func findBsort(_ context.Context, _ *workshop) (string, error) {
	if _, err := exec.LookPath("bsort"); err != nil {
		return "", errors.New("no bsort is installed")
	}
	return "bsort", nil
}

// bsortContenders makes bsort sort the records of a mapped file in place, by their bytes.
func bsortContenders(_ *workshop, w workload) ([]contender, error) {
	c := contender{name: "bsort, in place", kind: peer, inPlace: true,
		script: func(_, out string) script {
			return single(
				"bsort",
				"-r",
				strconv.Itoa(w.recordSize),
				"-k",
				strconv.Itoa(w.keySize),
				out,
			)
		}}
	if w.isNumber() {
		c.form = bigEndianForm
	}
	return []contender{c}, nil
}
