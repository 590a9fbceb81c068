package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// pythons lists Python commands to try. The first one that has the library is used.
var pythons = []string{"python3", "/usr/bin/python3", "python"}

// findPython finds the first Python that can run a line, and registers it in the workshop under a
// name. It returns the output of the line.
func (shop *workshop) findPython(
	ctx context.Context, name, line string,
) (string, error) {
	for _, python := range pythons {
		if printed, err := shop.firstLine(ctx, python, "-c", line); err == nil {
			shop.tools[name] = python
			return printed, nil
		}
	}
	return "", errors.New("no installed Python has it")
}

func findNumPy(ctx context.Context, shop *workshop) (string, error) {
	version, err := shop.findPython(
		ctx, "numpy", "import numpy; print(numpy.__version__)",
	)
	return "NumPy " + version, err
}

func findCuPy(ctx context.Context, shop *workshop) (string, error) {
	version, err := shop.findPython(
		ctx,
		"cupy",
		"import cupy; cupy.arange(1).get(); print(cupy.__version__)",
	)
	return "CuPy " + version, err
}

// numPyContenders makes NumPy read the file into an array, sort it, and write it.
func numPyContenders(shop *workshop, w workload) ([]contender, error) {
	sort := "a.sort(); a.tofile(%q)"
	if !w.isNumber() {
		sort = "a[a['k'].argsort(kind='stable')].tofile(%q)"
	}
	return []contender{{name: "NumPy", kind: peer, script: func(in, out string) script {
		return single(shop.tools["numpy"], "-c",
			fmt.Sprintf(
				"import numpy as np; a = np.fromfile(%q, %s); "+sort,
				in,
				numPyType(w),
				out,
			))
	}}}, nil
}

// numPyType returns the dtype of a record.
func numPyType(w workload) string {
	if w.isNumber() {
		return fmt.Sprintf("'<u%d'", w.recordSize)
	}
	return fmt.Sprintf(
		"[('k', 'S%d'), ('v', 'V%d')]", w.keySize, w.recordSize-w.keySize,
	)
}

// cuPyContenders makes CuPy sort the array on the GPU.
func cuPyContenders(shop *workshop, w workload) ([]contender, error) {
	if !w.isNumber() {
		return nil, errors.New("it sorts numbers only")
	}
	lines := []string{
		"import numpy as np, cupy",
		"a = cupy.asarray(np.fromfile(%q, %s))",
		"a.sort()",
		"a.get().tofile(%q)",
	}
	return []contender{{name: "CuPy", kind: peer, script: func(in, out string) script {
		return single(
			shop.tools["cupy"],
			"-c",
			fmt.Sprintf(strings.Join(lines, "; "), in, numPyType(w), out),
		)
	}}}, nil
}
