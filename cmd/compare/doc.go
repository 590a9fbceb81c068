// Compare times extsort beside what its users could run instead, on the machine at hand, and checks every output.
//
//	go run ./cmd/compare                                             1 GiB of each kind of data, in memory and out of core
//	go run ./cmd/compare --workloads u64 --memory 256M --size 1G     one kind of data, one memory limit
//	go run ./cmd/compare --size 64M --runs 3 --svg bars.svg          a quick look, with a plot
//
// A workload is a file of test data, made by `extsort gen`. A contender is a program, or a pipeline of programs, that
// sorts that file into another: extsort with each memory limit, from file to file and through pipes; the yardsticks cp
// and cp twice, which are what reading and writing the data once or twice costs; and of the peers those that are
// installed (see peers.go for the list).
//
// All contenders of a workload run in turns, A B C A B C, so that whatever else the machine does disturbs all alike.
// The first turn warms the page cache and is not counted. An output is checked after each run: it must be in order, and
// the checksum of its records, whatever their order, must be that of the input. A peer that sorts another form of the
// data, for example lines of text, gets that form made before the clock starts, and its output is turned back to be
// checked. The report is Markdown on standard output; --json and --svg write the same figures to files.
//
// Nothing is left behind: the data stands in a folder of its own, which is removed at the end, also after Ctrl-C.
package main
