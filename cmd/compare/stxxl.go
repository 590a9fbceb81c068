package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
)

// stxxlSource is a small program that calls stxxl::sort.
//
//go:embed testdata/stxxl_sort.cpp
var stxxlSource []byte

// findSTXXL compiles the program with the parallel mode of the C++ library, with which STXXL is
// fastest.
func findSTXXL(ctx context.Context, shop *workshop) (string, error) {
	err := compile(
		ctx,
		shop,
		"stxxl_sort",
		stxxlSource,
		"-fopenmp",
		"-DSTXXL_PARALLEL_MODE_EXPLICIT",
		"-lstxxl",
	)
	if err != nil {
		return "", fmt.Errorf(
			"%w; are STXXL's headers (libstxxl-dev) installed?", err,
		)
	}
	return "STXXL, parallel mode", nil
}

// stxxlContenders makes stxxl::sort sort a vector that is mapped to the file, within the memory
// limit.
func stxxlContenders(shop *workshop, w workload) ([]contender, error) {
	var all []contender
	for _, memory := range shop.memories {
		if least := int64(minimumSTXXL); memory < least {
			return nil, fmt.Errorf("it needs %s of memory", binarySize(least))
		}
		all = append(
			all,
			contender{name: "stxxl::sort, in place", kind: peer, memory: memory, inPlace: true,
				script: func(_, out string) script {
					return single(
						"stxxl_sort",
						w.numberType(),
						out,
						strconv.FormatInt(memory, 10),
						"stxxl.tmp",
					)
				}},
		)
	}
	return all, nil
}

// minimumSTXXL is the minimum memory for a sort with blocks of 2 MiB.
const minimumSTXXL = 16 << 20
