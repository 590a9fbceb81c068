// Package dist sorts on many machines that share a file system, with tasks of an existing
// scheduler. It starts no processes and opens no ports. Each task is one call that ends and can
// be repeated.
//
//	CreatePlan writes DIR/plan.json: inputs, layout, R runs, P parts, destination
//	Run       R tasks    a slice of the inputs ─▶ sorted ─▶ DIR/runs/K and an index, DIR/runs/K.idx
//	Cut       tasks      find roughly, by indexes, where rank K·n/P is in each run
//	                     ─▶ DIR/cuts/K.json
//	Merge     P tasks    a range of each run, cut exactly ─▶ merged ─▶ part K, which is a file or
//	                     a piece of the single output file
//	Verify    1 task     combines the records of the parts, compares them with the input, and
//	                     names the output
//
// A task is a function of the plan and its number. It writes its files first and then its record,
// DIR/runs/K.json or DIR/parts/K.json, which describes the content of the file. A task is done if
// its record exists. A repeated task ends immediately if a record of the same plan describes its
// file; otherwise, it replaces the file. Two attempts at the same time write the same bytes.
//
// A part that is an object appears when its upload is completed, and never replaces an object. An
// attempt that finds an existing object compares it. Verify removes incomplete uploads of killed
// attempts.
//
// Records are ordered by (key, position in the inputs), which is a total order. So parts have equal
// sizes for all distributions of keys, and the output is identical to that of a single machine.
//
//	input   ├── slice 0 ──┼── slice 1 ──┼── slice 2 ──┤
//	             sort          sort          sort
//	runs    ├──┬───┬──────┤├───┬──┬─────┤├─┬────┬─────┤
//	             merge, part K of each
//	output  ├── part 0 ───┼── part 1 ───┼── part 2 ───┤
package dist
