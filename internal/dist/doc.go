// Package dist sorts over many machines that share a file system, by the tasks of a scheduler that they have already.
// It starts nothing and listens nowhere: each task is one call that ends, and may be made again.
//
//	Make      writes DIR/plan.json: inputs, layout, R runs, P parts, where the output goes
//	Run       R tasks    a slice of the inputs ─▶ sorted ─▶ DIR/runs/K and its index, DIR/runs/K.idx
//	Cut       tasks      find by indexes where, about, rank K·n/P is in each run ─▶ DIR/cuts/K.json
//	Merge     P tasks    a range of each run, cut exactly ─▶ merged ─▶ part K, a file or a piece of the one output file
//	Verify    1 task     joins what is known of the parts, compares it with what went in, names the output
//
// A task is a function of the plan and of its number. It writes its files first and then its record, DIR/runs/K.json or
// DIR/parts/K.json, which says what the file has to be: the record is what makes the task done. A task that is run
// again ends at once where a record of the same plan fits its file, and replaces what is there otherwise. Two attempts
// at once write the same bytes. A part that is an object appears when its upload is completed, and replaces nothing: an
// attempt that finds one compares it. What attempts that were killed have sent is given up by Verify.
//
// The order is that of (key, position in the inputs), which is total, so parts are equally large whatever the keys are,
// and the output is that of one machine, byte for byte.
//
//	input   ├── slice 0 ──┼── slice 1 ──┼── slice 2 ──┤
//	             sort          sort          sort
//	runs    ├──┬───┬──────┤├───┬──┬─────┤├─┬────┬─────┤
//	             merge, part K of each
//	output  ├── part 0 ───┼── part 1 ───┼── part 2 ───┤
package dist
