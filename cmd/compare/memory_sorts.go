package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"strconv"
)

// memorySortSource is a program that reads a file, sorts it in memory with the library it is
// compiled for, and writes it.
//
//go:embed testdata/memory_sort.cpp
var memorySortSource []byte

// A memoryLibrary is a library that sorts numbers in memory.
type memoryLibrary struct {
	name, title string
	flags       []string // compiler flags
	lacks       string   // component that is probably missing if compilation fails
}

var (
	vqsort = memoryLibrary{
		"vqsort",
		"vqsort of Highway",
		[]string{"-DVQSORT", "-lhwy_contrib", "-lhwy"},
		"is Highway (libhwy-dev) installed?",
	}
	x86SIMDSort = memoryLibrary{"x86-simd-sort", "x86-simd-sort", []string{"-DX86_SIMD_SORT"},
		"is the directory src of github.com/intel/x86-simd-sort in CPATH?"}
	ips2ra = memoryLibrary{"ips2ra", "IPS²Ra", []string{"-DIPS2RA", "-ltbb", "-latomic"},
		"is the directory include of github.com/ips4o/ips2ra in CPATH, and libtbb-dev installed?"}
)

// peer returns the program that uses the library.
func (l memoryLibrary) peer() peerProgram {
	return peerProgram{l.name, l.find, l.contenders}
}

func (l memoryLibrary) find(
	ctx context.Context, shop *workshop,
) (string, error) {
	if err := compile(
		ctx,
		shop,
		l.tool(),
		memorySortSource,
		append([]string{"-std=c++17"}, l.flags...)...,
	); err != nil {
		return "", fmt.Errorf("%w; %s", err, l.lacks)
	}
	return l.title, nil
}

func (l memoryLibrary) tool() string { return "memory_sort." + l.name }

// contenders returns the program with all processors, writing to the page cache or, like extsort,
// to disk.
func (l memoryLibrary) contenders(
	_ *workshop, w workload,
) ([]contender, error) {
	if !w.isNumber() {
		return nil, errors.New("it sorts numbers only")
	}
	sorter := func(name string, more ...string) contender {
		return contender{name: name, kind: peer, script: func(in, out string) script {
			line := []string{w.numberType(), in, out, strconv.Itoa(runtime.NumCPU())}
			return single(l.tool(), append(line, more...)...)
		}}
	}
	return []contender{sorter(l.title), sorter(
		l.title+", then sync", "sync",
	)}, nil
}
