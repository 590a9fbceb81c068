// Compare times extsort on the machine at hand: beside what its users could run instead (the race), and beside itself
// (the table of workloads, by which changes are decided, and the table of what does not fit into memory).
//
//	go run ./cmd/compare                                         1 GiB of each kind of data, in memory and out of core
//	go run ./cmd/compare --workloads u64 --memory 256M           one kind of data, one memory limit
//	go run ./cmd/compare --size 64M --runs 3 --svg bars.svg      a quick look, with a plot
//	go run ./cmd/compare --table                                 the table; takes hours, and goes on where it was stopped
//	go run ./cmd/compare --table --rows zipf/*/pipe              the rows zipf/in-core/pipe, zipf/quarter/pipe, …
//	go run ./cmd/compare --table --versions old=a,new=b          two commands side by side, and where b is slower
//	go run ./cmd/compare --table --report                        print the file of the table once more
//	go run ./cmd/compare --confined                              8 GiB of each kind of data in 1 GiB, with page cache
//	go run ./cmd/compare --confined --rows u64 --versions a=a,b=b   one row of it, of two commands
//
// # The race
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
// # The table of workloads
//
// A row is a kind of data, a memory limit and a place, as in u64/quarter/ext4: the data fits (in-core) or is 4 or 16
// times the limit; input, output and spill are files on the disk of --work, or in a tmpfs, or input and output come
// and go through pipes. Contenders are cp, cp and sync, which is as durable as extsort -o, each version of extsort, the
// last version with each strategy forced, and in tmpfs the first version with its output redirected.
//
// All runs of a row, of all contenders, are made in one random order. Before each the outputs are gone, the memory and
// the disk have settled, and the input is in the page cache. The first output of each contender is checked. Each run is
// appended to the file --out as a line of JSON, with the seed of the order. Runs that stand there are not made again.
//
// The report has for each row the medians, their ratios, the strategy that was predicted and the one that ran,
// predicted over measured seconds, and the regret, which is the median over that of the best forced strategy. Below the
// table stand the rows that are beyond the bounds. A row is marked "slower" where the last version is slower than the
// first by more than 5 % and neither median lies within the spread of the other, and "slower?" where one does.
//
// # The table of what does not fit
//
// In the table of workloads the input is in the page cache, and much of spill and output stays there. --confined shows
// what is left when the data is larger than all memory: each run is in a memory cgroup (Linux, v1 or v2) of --limit,
// which counts the processes and the page cache of what they read and write; the input is on the disk alone, and the
// output is durable at the end. The data is 8 times the limit, extsort has half of it (-S). Contenders are cp and sync
// (cp+sync), the same twice in a row (two cp+sync, which is what a sort out of core has to read and write), each
// version, the last one with each strategy forced, and of the peers STXXL, DuckDB and bsort, once and only for u64 and
// 100-byte records. Order, checks, the file of the runs and how it is gone on with are those of the table of workloads.
//
// The report tells beside times and plan how many bytes went to and from the disk of the data (of all processes of the
// machine: let nothing else run) and how many a second, the same of cp+sync, what the processes themselves read and
// wrote, and processor seconds in the program and in the system. It complains of rows that take longer than 1.25 × two
// cp+sync (nearly sorted: 0.8 ×, 100-byte records: 1.2 ×), and of rows in which the disk moves less than 0.85 × what it
// does for cp though the processors are less than 90 % busy in the program.
//
// The cgroup is made below that of the process, or where it cannot be, further up; it is removed at the end. To make it
// takes root, or on systems with systemd: systemd-run --user --scope -p Delegate=yes go run ./cmd/compare --confined.
// With little memory the kernel drops what it has read ahead before it is used, so that cp, too, reads more than there
// is; the report has its bytes beside those of extsort.
//
// Nothing is left behind: the data stands in a folder of its own, which is removed at the end, also after Ctrl-C.
package main
