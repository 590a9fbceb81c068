// Package sorttest is the harness of the end-to-end tests. It reads tests from text files,
// generates their data, computes the expected output, and compares it with the output of the
// product.
//
// A row of testdata/sort describes a test in words:
//
//	# Two runs at a time: the merge needs several levels.
//	sort record=u64,f64 records=5000 order=random
//	     strategy=merge chunk=512 batch-size=2 show=strategy,levels
//	----
//	merge, 4 levels
//
// "sort" sorts once for every combination of the listed values. "pairs" sorts for only a few
// combinations, which together contain every pair of values. The text below ---- is the outcome;
// `go test -run TestRows ./internal/session -update` rewrites it. A wrong output, a wrong count in
// the report or a file left behind fails the test in any case and can't be recorded.
//
// The parts are:
//
//	rows.go       runs rows, compares and rewrites outcomes; parse.go reads them
//	summary.go    describes the outcomes of a row in a few lines
//	settings.go   the settings of one sort
//	pairs.go      a few combinations that cover every pair
//	data.go       records in any order
//	reference.go  the expected output, computed without the code of the product
//
// The package imports only format, so that the tests of every other package can use it. The
// function that sorts comes from the test: internal/session/rows_test.go.
package sorttest
