package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// stxxlSource is the few lines that make a program of stxxl::sort.
//
//go:embed testdata/stxxl_sort.cpp
var stxxlSource []byte

// findSTXXL compiles the program, with the parallel mode of the C++ library, which STXXL is fastest with.
func findSTXXL(ctx context.Context, shop *workshop) (string, error) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return "", errors.New("no g++ is installed to compile it")
	}
	source, program := filepath.Join(shop.dir, "stxxl_sort.cpp"), filepath.Join(shop.dir, "stxxl_sort")
	if err := os.WriteFile(source, stxxlSource, 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, compiler, "-O3", "-march=native", "-w", "-fopenmp", "-DSTXXL_PARALLEL_MODE_EXPLICIT",
		"-o", program, source, "-lstxxl", "-lpthread")
	if _, err := build.CombinedOutput(); err != nil {
		return "", errors.New("it does not compile; are STXXL's headers (libstxxl-dev) installed?")
	}
	shop.tools["stxxl_sort"] = program
	return "STXXL, parallel mode", nil
}

// stxxlContenders has stxxl::sort order a vector that is mapped to the file, within the memory.
func stxxlContenders(shop *workshop, w workload) ([]contender, error) {
	var all []contender
	for _, memory := range shop.memories {
		if least := int64(minimumSTXXL); memory < least {
			return nil, fmt.Errorf("it needs %s of memory", binarySize(least))
		}
		all = append(all, contender{name: "stxxl::sort, in place", kind: peer, memory: memory, inPlace: true,
			script: func(_, out string) script {
				return single("stxxl_sort", w.numberType(), out, strconv.FormatInt(memory, 10), "stxxl.tmp")
			}})
	}
	return all, nil
}

// minimumSTXXL is what a sort by blocks of 2 MiB can do with.
const minimumSTXXL = 16 << 20
